#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "physics/scene/mesh_files/mesh_cursor.h"
#include "physics/scene/mesh_files/surface_mesh_formats.h"

namespace pliant::physics {
namespace {

bool EqualsLower(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(text[i])) != lower[i]) return false;
  }
  return true;
}

void ExpectKeyword(MeshCursor* cursor, std::string_view keyword) {
  const std::string_view word = cursor->Word();
  if (cursor->ok() && !EqualsLower(word, keyword)) cursor->FailExpected(keyword, word);
}

void ReadVertex(MeshCursor* cursor, TriangleMesh* mesh) {
  const double x = cursor->Coordinate(4);
  const double y = cursor->Coordinate(4);
  const double z = cursor->Coordinate(4);
  mesh->vertices.emplace_back(x, y, z);
}

// Adds a triangle of the last three vertices.
void AddLastTriangle(TriangleMesh* mesh) {
  const int end = static_cast<int>(mesh->vertices.size());
  mesh->triangles.push_back({end - 3, end - 2, end - 1});
}

// One line of an OBJ file, split at white space; a trailing backslash continues it on the next
// line.
class ObjLine {
 public:
  explicit ObjLine(MeshCursor* cursor) : text_(cursor->Line()) {
    place_ = cursor->last_position();
    while (text_.ends_with('\\')) {
      text_.pop_back();
      text_ += ' ';
      text_ += cursor->Line();
    }
    text_ = text_.substr(0, text_.find('#'));
  }
  std::string_view Word() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    const std::size_t begin = at_;
    while (at_ < text_.size() && !std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return std::string_view(text_).substr(begin, at_ - begin);
  }
  std::size_t place() const { return place_; }

 private:
  std::string text_;
  std::size_t at_ = 0;
  std::size_t place_ = 0;
};

}  // namespace

absl::StatusOr<SurfaceMeshFile> ReadTextStl(std::string_view bytes, const std::string& name) {
  SurfaceMeshFile file;
  MeshCursor cursor(bytes, name);
  while (cursor.ok() && !cursor.PeekWord().empty()) {
    ExpectKeyword(&cursor, "solid");
    cursor.Line();
    while (cursor.ok() && !EqualsLower(cursor.PeekWord(), "endsolid")) {
      ExpectKeyword(&cursor, "facet");
      ExpectKeyword(&cursor, "normal");
      cursor.Skip(3, 0, "a normal");
      ExpectKeyword(&cursor, "outer");
      ExpectKeyword(&cursor, "loop");
      for (int i = 0; i < 3; ++i) {
        ExpectKeyword(&cursor, "vertex");
        ReadVertex(&cursor, &file.mesh);
      }
      AddLastTriangle(&file.mesh);
      ExpectKeyword(&cursor, "endloop");
      ExpectKeyword(&cursor, "endfacet");
    }
    cursor.Word();
    cursor.Line();
  }
  if (!cursor.ok()) return cursor.status();
  return file;
}

absl::StatusOr<SurfaceMeshFile> ReadBinaryStl(std::string_view bytes, const std::string& name) {
  SurfaceMeshFile file;
  MeshCursor cursor(bytes, name);
  cursor.SetBinary(false);
  cursor.Skip(80, 1, "a header of 80 bytes");
  const std::int64_t count = cursor.CheckCount(
      static_cast<std::uint32_t>(cursor.Integer(4, "the number of triangles")), 50, "triangles");
  for (std::int64_t i = 0; i < count && cursor.ok(); ++i) {
    cursor.Skip(3, 4, "a normal");
    for (int j = 0; j < 3; ++j) ReadVertex(&cursor, &file.mesh);
    AddLastTriangle(&file.mesh);
    cursor.Skip(2, 1, "attributes");
  }
  if (!cursor.ok()) return cursor.status();
  return file;
}

absl::StatusOr<SurfaceMeshFile> ReadObj(std::string_view bytes, const std::string& name) {
  SurfaceMeshFile file;
  TriangleMesh& mesh = file.mesh;
  MeshCursor cursor(bytes, name);
  int short_faces = 0;
  std::vector<int> face;
  while (cursor.ok() && cursor.remaining() > 0) {
    ObjLine line(&cursor);
    const std::string_view keyword = line.Word();
    if (keyword == "v") {
      Eigen::Vector3d p;
      for (int i = 0; i < 3; ++i) {
        const std::string_view word = line.Word();
        MeshCursor number(word, name);
        p[i] = number.Coordinate(8);
        if (!number.ok() || number.remaining() > 0) {
          cursor.FailAt(line.place(),
                        absl::StrCat("expected three finite coordinates after v, found ",
                                     word.empty() ? "the end of the line" : Quote(word)));
          break;
        }
      }
      mesh.vertices.push_back(p);
    } else if (keyword == "f") {
      face.clear();
      for (std::string_view word = line.Word(); !word.empty(); word = line.Word()) {
        // corner/texture/normal; negative numbers count back from the last vertex
        const std::string_view corner = word.substr(0, word.find('/'));
        const auto vertices = static_cast<std::int64_t>(mesh.vertices.size());
        std::int64_t index = 0;
        const auto [end, error] =
            std::from_chars(corner.data(), corner.data() + corner.size(), index);
        if (error != std::errc() || end != corner.data() + corner.size() || index == 0 ||
            index > vertices || index < -vertices) {
          cursor.FailAt(line.place(), absl::StrCat("expected a vertex number from 1 to ", vertices,
                                                   ", found ", Quote(word)));
          break;
        }
        face.push_back(static_cast<int>(index > 0 ? index - 1 : vertices + index));
      }
      if (face.size() < 3) ++short_faces;
      for (std::size_t i = 2; i < face.size(); ++i)
        mesh.triangles.push_back({face[0], face[i - 1], face[i]});
    }
  }
  if (!cursor.ok()) return cursor.status();
  if (short_faces > 0)
    file.warnings.push_back(
        absl::StrCat(name, ": ignored ", short_faces, " faces of less than three corners"));
  return file;
}

}  // namespace pliant::physics
