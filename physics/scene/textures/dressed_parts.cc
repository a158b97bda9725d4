#include "physics/scene/textures/dressed_parts.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "physics/scene/mesh_files/contained/uri.h"
#include "physics/scene/textures/image_file.h"

namespace pliant::physics {
namespace {

constexpr std::size_t kMaxParts = 256;  // of a surface; with more, it has one colour
constexpr std::size_t kMaxName = 120;   // of a file, in messages [B]

// Quotes a name, or only its end if it is long.
std::string InQuotes(const std::string& name) {
  const bool is_long = name.size() > kMaxName;
  const std::string end = is_long ? name.substr(name.size() - kMaxName) : name;
  return absl::StrCat(is_long ? "\"…" : "\"", absl::Utf8SafeCHexEscape(end), "\"");
}

// Reads a file by its name in a surface, or else the file of the same name beside the surface: many
// surfaces contain paths of the computer on which they were made.
absl::StatusOr<std::string> ReadByName(std::string name, const CompanionFiles& read) {
  std::replace(name.begin(), name.end(), '\\', '/');
  const bool is_elsewhere =
      name.starts_with('/') || name.starts_with("file:") || name.substr(1, 1) == ":";
  absl::Status first = absl::NotFoundError(absl::StrCat(
      InQuotes(name), " is a path of another folder; expected one relative to its own"));
  if (!is_elsewhere) {
    absl::StatusOr<std::string> bytes = read(name);
    if (bytes.ok()) return bytes;
    first = bytes.status();
    bytes = read(DecodeUri(name));
    if (bytes.ok()) return bytes;
  }
  const std::string beside = DecodeUri(name.substr(name.rfind('/') + 1));
  if (beside.empty() || beside == name) return first;
  absl::StatusOr<std::string> bytes = read(beside);
  return bytes.ok() ? bytes : first;
}

std::shared_ptr<const Image> ReadTexture(const TextureSource& source, const std::string& name,
                                         const CompanionFiles& read,
                                         std::vector<std::string>* warnings) {
  const bool is_within = !source.bytes.empty();
  const std::string what = is_within
                               ? "an image within the file is not shown: it "
                               : absl::StrCat("texture ", InQuotes(source.name), " is not shown: ");
  absl::StatusOr<std::string> bytes =
      is_within ? absl::StatusOr<std::string>(source.bytes) : ReadByName(source.name, read);
  if (!bytes.ok()) {
    warnings->push_back(absl::StrCat(name, ": ", what, bytes.status().message(),
                                     ". Put it there, or correct its name in the file"));
    return nullptr;
  }
  absl::StatusOr<Image> image = ReadImage(*std::move(bytes));
  if (!image.ok()) {
    warnings->push_back(
        absl::StrCat(name, ": ", what, is_within ? "" : "it ", image.status().message()));
    return nullptr;
  }
  return std::make_shared<const Image>(*std::move(image));
}

}  // namespace

std::vector<DressedPart> DressParts(const SurfaceMeshFile& file, const std::string& name,
                                    const CompanionFiles& read,
                                    std::vector<std::string>* warnings) {
  if (file.parts.empty() || file.parts.size() > kMaxParts)
    return {{std::make_shared<const TriangleMesh>(file.mesh), std::nullopt, nullptr}};
  warnings->insert(warnings->end(), file.visual_warnings.begin(), file.visual_warnings.end());
  std::vector<std::shared_ptr<const Image>> images;
  for (const TextureSource& source : file.textures)
    images.push_back(ReadTexture(source, name, read, warnings));

  std::vector<DressedPart> dressed;
  for (const VisualPart& part : file.parts) {
    DressedPart& made = dressed.emplace_back();
    made.mesh = std::make_shared<const TriangleMesh>(part.mesh);
    made.color = part.color;
    auto appearance = std::make_shared<Appearance>(part.appearance);
    if (part.texture >= 0) appearance->image = images[part.texture];
    if (appearance->image == nullptr) appearance->texture_coordinates.clear();
    if (appearance->image != nullptr || !appearance->vertex_colors.empty())
      made.appearance = std::move(appearance);
  }
  return dressed;
}

}  // namespace pliant::physics
