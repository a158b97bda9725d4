// STL and OBJ.

#include "physics/scene/mesh_files/surface_mesh_formats.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "physics/geometry/meshing/polygon_triangles.h"
#include "physics/scene/mesh_files/contained/part_builder.h"
#include "physics/scene/mesh_files/mesh_cursor.h"

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
  // Rest of the line, without surrounding white space.
  std::string Rest() { return std::string(absl::StripAsciiWhitespace(text_.substr(at_))); }
  std::size_t place() const { return place_; }

 private:
  std::string text_;
  std::size_t at_ = 0;
  std::size_t place_ = 0;
};

bool ReadReal(std::string_view word, double* value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *value);
  return error == std::errc() && end == word.data() + word.size() && std::isfinite(*value);
}

// Index among `count` of a number in an OBJ file, which is from 1 or back from the end; −1: none.
int ReadNumberOf(std::string_view word, std::size_t count) {
  const auto all = static_cast<std::int64_t>(count);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return -1;
  if (number == 0 || number > all || number < -all) return -1;
  return static_cast<int>(number > 0 ? number - 1 : all + number);
}

// Colour and image of a material in an MTL file.
struct ObjMaterial {
  Eigen::Vector4d color{1, 1, 1, 1};
  bool has_color = false;
  std::string image;
};

// The name of the image after the options of a map_Kd line.
std::string ReadMapName(ObjLine* line) {
  const auto options = [](std::string_view option) {
    if (option == "-mm") return 2;
    return option == "-o" || option == "-s" || option == "-t" ? 3 : 1;
  };
  std::string rest = line->Rest();
  while (rest.starts_with('-')) {
    const std::string_view option = line->Word();
    int arguments = options(option);
    // up to three numbers
    for (; arguments > 0; --arguments) {
      rest = line->Rest();
      double number = 0;
      const std::string_view next = std::string_view(rest).substr(0, rest.find_first_of(" \t"));
      if (options(option) == 3 && !ReadReal(next, &number)) break;
      line->Word();
    }
    rest = line->Rest();
  }
  return rest;
}

std::map<std::string, ObjMaterial> ReadMtl(std::string_view bytes, const std::string& name) {
  std::map<std::string, ObjMaterial> materials;
  ObjMaterial* material = nullptr;
  MeshCursor cursor(bytes, name);
  while (cursor.ok() && cursor.remaining() > 0) {
    ObjLine line(&cursor);
    const std::string_view keyword = line.Word();
    double value = 0;
    if (keyword == "newmtl") {
      material = &materials[line.Rest()];
    } else if (material == nullptr) {
      continue;
    } else if (keyword == "Kd") {
      Eigen::Vector3d rgb;
      material->has_color = true;
      for (int i = 0; i < 3; ++i) material->has_color &= ReadReal(line.Word(), &rgb[i]);
      if (material->has_color) material->color.head<3>() = rgb.cwiseMax(0).cwiseMin(1);
    } else if ((keyword == "d" || keyword == "Tr") && ReadReal(line.Word(), &value)) {
      // writers disagree on the meaning of 0, but it does not mean invisible
      const double alpha = std::clamp(keyword == "d" ? value : 1 - value, 0.0, 1.0);
      material->color.w() = alpha > 0 ? alpha : 1;
    } else if (keyword == "map_Kd") {
      material->image = ReadMapName(&line);
    }
  }
  return materials;
}

// Colours and textures of an OBJ file: those of its materials, and of its vertices if three more
// numbers follow their coordinates.
class ObjLook {
 public:
  ObjLook(const std::string& name, const CompanionFiles& companions)
      : name_(name), companions_(companions) {}

  void AddVertexColor(ObjLine* line, std::size_t vertices) {
    double rgb[3];
    for (double& value : rgb)
      if (!ReadReal(line->Word(), &value)) return;
    colors_.resize(vertices, {1, 1, 1});
    colors_.back() = {rgb[0], rgb[1], rgb[2]};
  }

  // Index of the texture coordinates of a corner v/vt/vn; −1: none.
  int ReadTextureCorner(std::string_view corner) const {
    const std::size_t slash = corner.find('/');
    if (slash == corner.npos) return -1;
    const std::string_view rest = corner.substr(slash + 1);
    return ReadNumberOf(rest.substr(0, rest.find('/')), texture_coordinates_.size());
  }

  void AddTriangle(const std::array<int, 3>& texture_corners) {
    texture_corners_.push_back(texture_corners);
    material_of_.push_back(material_);
  }

  void ReadLine(std::string_view keyword, ObjLine* line) {
    if (keyword == "vt") {
      double u = 0, v = 0;
      ReadReal(line->Word(), &u);
      ReadReal(line->Word(), &v);
      texture_coordinates_.push_back({static_cast<float>(u), static_cast<float>(v)});
    } else if (keyword == "usemtl") {
      const auto [known, fresh] = numbers_.emplace(line->Rest(), static_cast<int>(numbers_.size()));
      material_ = known->second;
    } else if (keyword == "mtllib") {
      ReadLibrary(line->Rest());
    }
  }

  // Adds parts, made of the triangles added before, to a file; none if no colour was given.
  void MakeParts(SurfaceMeshFile* file) {
    file->visual_warnings = std::move(warnings_);
    std::vector<ObjMaterial> materials(numbers_.size() + 1);  // the last: none
    bool is_plain = colors_.empty();
    for (const auto& [material, number] : numbers_) {
      const auto found = materials_.find(material);
      if (found != materials_.end()) materials[number] = found->second;
      is_plain &= !materials[number].has_color && materials[number].image.empty();
    }
    if (is_plain) return;
    ScaleColors(file->mesh.vertices.size());
    std::vector<PartBuilder> builders;
    for (const ObjMaterial& material : materials)
      builders.emplace_back(!material.image.empty(), !colors_.empty());
    std::vector<int> order;  // of first use
    std::vector<char> is_used(materials.size(), 0);
    for (std::size_t i = 0; i < file->mesh.triangles.size(); ++i) {
      const int number = material_of_[i] < 0 ? static_cast<int>(numbers_.size()) : material_of_[i];
      if (!is_used[number]) order.push_back(number);
      is_used[number] = 1;
      std::array<PartBuilder::Corner, 3> corners;
      for (int k = 0; k < 3; ++k) {
        const int vertex = file->mesh.triangles[i][k], at = texture_corners_[i][k];
        corners[k].place = file->mesh.vertices[vertex];
        if (at >= 0) corners[k].texture_coordinates = texture_coordinates_[at];
        if (!colors_.empty()) corners[k].color = Encode(colors_[vertex]);
      }
      builders[number].AddTriangle(corners);
    }
    std::map<std::string, int> textures;
    for (const int number : order) {
      if (builders[number].empty()) continue;
      const ObjMaterial& material = materials[number];
      VisualPart& part = file->parts.emplace_back(builders[number].Take());
      // images and vertex colours replace the material's colour
      const bool is_own = material.image.empty() && colors_.empty();
      if (material.has_color && is_own) part.color = material.color;
      if (!is_own) part.color = Eigen::Vector4d(1, 1, 1, material.color.w());
      if (material.image.empty()) continue;
      const auto [known, fresh] =
          textures.emplace(material.image, static_cast<int>(textures.size()));
      if (fresh) file->textures.push_back({material.image});
      part.texture = known->second;
    }
  }

 private:
  void ReadLibrary(const std::string& library) {
    const absl::StatusOr<std::string> bytes = companions_(library);
    if (!bytes.ok()) {
      warnings_.push_back(absl::StrCat(name_,
                                       ": its materials are not shown: ", bytes.status().message(),
                                       ". Put the file there, or remove the line mtllib"));
      return;
    }
    for (auto& [name, material] : ReadMtl(*bytes, library)) materials_.emplace(name, material);
  }

  // Scales colours to 0 … 1, as some writers give 0 … 255.
  void ScaleColors(std::size_t vertices) {
    if (colors_.empty()) return;
    colors_.resize(vertices, {1, 1, 1});
    double largest = 0;
    for (const Eigen::Vector3d& color : colors_) largest = std::max(largest, color.maxCoeff());
    if (largest > 1) {
      for (Eigen::Vector3d& color : colors_) color /= 255;
    }
  }
  static std::array<std::uint8_t, 4> Encode(const Eigen::Vector3d& color) {
    std::array<std::uint8_t, 4> result{0, 0, 0, 255};
    for (int i = 0; i < 3; ++i)
      result[i] = static_cast<std::uint8_t>(std::lround(255 * std::clamp(color[i], 0.0, 1.0)));
    return result;
  }

  const std::string& name_;
  const CompanionFiles& companions_;
  std::vector<std::array<float, 2>> texture_coordinates_;
  std::vector<Eigen::Vector3d> colors_;  // of vertices; empty: none has any
  std::map<std::string, int> numbers_;   // of materials that are used, by name
  std::map<std::string, ObjMaterial> materials_;
  int material_ = -1;
  std::vector<std::array<int, 3>> texture_corners_;  // of each triangle
  std::vector<int> material_of_;                     // likewise
  std::vector<std::string> warnings_;
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

absl::StatusOr<SurfaceMeshFile> ReadObj(std::string_view bytes, const std::string& name,
                                        const CompanionFiles& companions) {
  SurfaceMeshFile file;
  TriangleMesh& mesh = file.mesh;
  MeshCursor cursor(bytes, name);
  int short_faces = 0;
  ObjLook look(name, companions);
  std::vector<int> face, texture_corners;
  std::vector<Eigen::Vector3d> corners;
  std::vector<std::array<int, 3>> triangles;  // of one face
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
      if (companions) look.AddVertexColor(&line, mesh.vertices.size());
    } else if (keyword == "f") {
      face.clear();
      texture_corners.clear();
      for (std::string_view word = line.Word(); !word.empty(); word = line.Word()) {
        // corner/texture/normal; negative numbers count back from the last vertex
        const std::string_view corner = word.substr(0, word.find('/'));
        const int vertex = ReadNumberOf(corner, mesh.vertices.size());
        if (vertex < 0) {
          cursor.FailAt(line.place(), absl::StrCat("expected a vertex number from 1 to ",
                                                   mesh.vertices.size(), ", found ", Quote(word)));
          break;
        }
        face.push_back(vertex);
        texture_corners.push_back(look.ReadTextureCorner(word));
      }
      if (face.size() < 3) ++short_faces;
      corners.clear();
      for (const int vertex : face) corners.push_back(mesh.vertices[vertex]);
      file.concave_polygons += !CutPolygon(corners, &triangles);
      for (const auto& [a, b, c] : triangles) {
        mesh.triangles.push_back({face[a], face[b], face[c]});
        if (companions)
          look.AddTriangle({texture_corners[a], texture_corners[b], texture_corners[c]});
      }
    } else if (companions) {
      look.ReadLine(keyword, &line);
    }
  }
  if (!cursor.ok()) return cursor.status();
  if (short_faces > 0)
    file.warnings.push_back(
        absl::StrCat(name, ": ignored ", short_faces, " faces of less than three corners"));
  look.MakeParts(&file);
  return file;
}

}  // namespace pliant::physics
