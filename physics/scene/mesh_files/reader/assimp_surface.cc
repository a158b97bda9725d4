#include "physics/scene/mesh_files/reader/assimp_surface.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <assimp/IOSystem.hpp>
#include <assimp/Importer.hpp>
#include <assimp/MemoryIOWrapper.h>
#include <assimp/material.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>

#include "physics/scene/mesh_files/contained/part_builder.h"

namespace pliant::physics {
namespace {

// Serves a mesh only the files that `companions` provides, whatever files it names.
class GivenFiles final : public Assimp::IOSystem {
 public:
  GivenFiles(const CompanionFiles& companions, std::string* refusal)
      : companions_(companions), refusal_(refusal) {}

  bool Exists(const char* name) const override { return Find(name) != nullptr; }
  char getOsSeparator() const override { return '/'; }
  Assimp::IOStream* Open(const char* name, const char*) override {
    const std::string* bytes = Find(name);
    if (bytes == nullptr) return nullptr;
    return new Assimp::MemoryIOStream(reinterpret_cast<const std::uint8_t*>(bytes->data()),
                                      bytes->size());
  }
  void Close(Assimp::IOStream* stream) override { delete stream; }

 private:
  const std::string* Find(const std::string& name) const {
    const auto known = files_.find(name);
    if (known != files_.end()) return known->second.get();
    absl::StatusOr<std::string> bytes = companions_(name);
    // keep the first error: it is about the name in the file, later ones are about variants of it
    if (!bytes.ok() && refusal_->empty()) *refusal_ = std::string(bytes.status().message());
    auto& kept = files_[name];
    if (bytes.ok()) kept = std::make_unique<std::string>(*std::move(bytes));
    return kept.get();
  }

  const CompanionFiles& companions_;
  std::string* refusal_;
  mutable std::map<std::string, std::unique_ptr<std::string>> files_;
};

// Colour of a material; nothing for the library's default material.
std::optional<Eigen::Vector4d> ColorOf(const aiMaterial& material) {
  aiString name;
  aiColor4D color;
  if (material.Get(AI_MATKEY_NAME, name) == aiReturn_SUCCESS &&
      std::string_view(name.C_Str()) == AI_DEFAULT_MATERIAL_NAME) {
    return std::nullopt;
  }
  if (material.Get(AI_MATKEY_COLOR_DIFFUSE, color) != aiReturn_SUCCESS) return std::nullopt;
  Eigen::Vector4d rgba(color.r, color.g, color.b, color.a);
  if (!rgba.allFinite()) return std::nullopt;
  rgba = rgba.cwiseMax(0).cwiseMin(1);
  // writers disagree on the meaning of 0, but it does not mean invisible
  if (rgba.w() == 0) rgba.w() = 1;
  return rgba;
}

// Whether all vertices of faces and all meshes of nodes exist; the library's later steps assume it.
bool IsConsistent(const aiScene& scene) {
  if (scene.mRootNode == nullptr) return false;
  for (unsigned m = 0; m < scene.mNumMeshes; ++m) {
    const aiMesh& mesh = *scene.mMeshes[m];
    if (mesh.mNumVertices > 0 && mesh.mVertices == nullptr) return false;
    for (unsigned i = 0; i < mesh.mNumFaces; ++i) {
      const aiFace& face = mesh.mFaces[i];
      for (unsigned k = 0; k < face.mNumIndices; ++k)
        if (face.mIndices[k] >= mesh.mNumVertices) return false;
    }
  }
  std::vector<const aiNode*> nodes{scene.mRootNode};
  while (!nodes.empty()) {
    const aiNode& node = *nodes.back();
    nodes.pop_back();
    for (unsigned k = 0; k < node.mNumMeshes; ++k)
      if (node.mMeshes[k] >= scene.mNumMeshes) return false;
    nodes.insert(nodes.end(), node.mChildren, node.mChildren + node.mNumChildren);
  }
  return true;
}

// Encodes a number in 0 … 1 as a byte; linear light is converted to sRGB.
std::uint8_t EncodeColor(float value, bool is_linear) {
  double x = std::isfinite(value) ? std::clamp(static_cast<double>(value), 0.0, 1.0) : 1;
  if (is_linear) x = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255 * x));
}

// KHR_texture_transform of glTF, offset + R(rotation) · scale · (u, v), for texture coordinates
// with their origin in the upper left corner.
struct TextureTransform {
  double offset[2], scale[2], cos, sin;

  // For coordinates with their origin in the lower left corner.
  std::array<float, 2> Apply(const aiVector3D& given) const {
    const double u = scale[0] * given.x, v = scale[1] * (1 - given.y);
    return {static_cast<float>(offset[0] + cos * u + sin * v),
            static_cast<float>(1 - (offset[1] - sin * u + cos * v))};
  }
};
std::optional<TextureTransform> TransformOf(const aiMaterial& material, aiTextureType type) {
  aiUVTransform given;
  if (material.Get(AI_MATKEY_UVTRANSFORM(type, 0), given) != aiReturn_SUCCESS) return std::nullopt;
  // the library's transform is about the image centre: convert its offset back to the file's
  const double c = std::cos(given.mRotation), s = -std::sin(given.mRotation);
  const double sx = given.mScaling.x, sy = given.mScaling.y;
  const TextureTransform transform{{given.mTranslation.x - 0.5 * sx * (1 - c + s),
                                    1 - sy + 0.5 * sy * (s + c - 1) - given.mTranslation.y},
                                   {sx, sy},
                                   c,
                                   s};
  const bool is_finite = std::isfinite(transform.offset[0]) && std::isfinite(transform.offset[1]) &&
                         std::isfinite(sx) && std::isfinite(sy);
  return is_finite ? std::optional(transform) : std::nullopt;
}

// The image of a material, and which texture coordinates it uses.
struct Texture {
  std::string name;
  unsigned channel = 0;
  std::optional<TextureTransform> transform = std::nullopt;
};
std::optional<Texture> TextureOf(const aiMaterial& material, bool is_gltf) {
  for (const aiTextureType type : {aiTextureType_DIFFUSE, aiTextureType_BASE_COLOR}) {
    aiString name;
    if (material.Get(AI_MATKEY_TEXTURE(type, 0), name) != aiReturn_SUCCESS || name.length == 0)
      continue;
    int channel = 0;
    material.Get(AI_MATKEY_UVWSRC(type, 0), channel);
    if (channel < 0 || channel >= AI_MAX_NUMBER_OF_TEXTURECOORDS) channel = 0;
    return Texture{std::string(name.data, name.length), static_cast<unsigned>(channel),
                   is_gltf ? TransformOf(material, type) : std::nullopt};
  }
  return std::nullopt;
}

// Bytes of an image embedded in the file, which is called *0, *1 …; empty: it is a separate file.
std::string BytesOf(const aiScene& scene, const std::string& name) {
  unsigned number = 0;
  const char* end = name.data() + name.size();
  if (!name.starts_with('*') || std::from_chars(name.data() + 1, end, number).ptr != end) return "";
  if (number >= scene.mNumTextures || scene.mTextures[number] == nullptr) return "";
  const aiTexture& texture = *scene.mTextures[number];
  // with a height it is an array of pixels
  if (texture.mHeight != 0 || texture.pcData == nullptr) return "";
  return std::string(reinterpret_cast<const char*>(texture.pcData), texture.mWidth);
}

// Adds a part for each mesh, if any has a colour. `is_gltf`: vertex colours are linear and
// multiply those of materials; otherwise they replace them.
void AddParts(const aiScene& scene, bool is_gltf, SurfaceMeshFile* file) {
  std::map<std::string, int> textures;
  std::vector<VisualPart> parts;
  bool is_plain = true;
  for (unsigned m = 0; m < scene.mNumMeshes; ++m) {
    const aiMesh& mesh = *scene.mMeshes[m];
    std::optional<Eigen::Vector4d> color;
    std::optional<Texture> texture;
    if (mesh.mMaterialIndex < scene.mNumMaterials) {
      color = ColorOf(*scene.mMaterials[mesh.mMaterialIndex]);
      texture = TextureOf(*scene.mMaterials[mesh.mMaterialIndex], is_gltf);
    }
    const aiVector3D* uvs = texture.has_value() ? mesh.mTextureCoords[texture->channel] : nullptr;
    if (texture.has_value() && uvs == nullptr) texture.reset();
    const aiColor4D* colors = mesh.mColors[0];

    PartBuilder builder(texture.has_value(), colors != nullptr);
    for (unsigned i = 0; i < mesh.mNumFaces; ++i) {
      if (mesh.mFaces[i].mNumIndices != 3) continue;
      std::array<PartBuilder::Corner, 3> corners;
      for (int k = 0; k < 3; ++k) {
        const unsigned v = mesh.mFaces[i].mIndices[k];
        PartBuilder::Corner& corner = corners[k];
        corner.place = {mesh.mVertices[v].x, mesh.mVertices[v].y, mesh.mVertices[v].z};
        if (uvs != nullptr && std::isfinite(uvs[v].x) && std::isfinite(uvs[v].y))
          corner.texture_coordinates = texture->transform.has_value()
                                           ? texture->transform->Apply(uvs[v])
                                           : std::array<float, 2>{uvs[v].x, uvs[v].y};
        for (int c = 0; colors != nullptr && c < 4; ++c)
          corner.color[c] = EncodeColor((&colors[v].r)[c], is_gltf && c < 3);
      }
      builder.AddTriangle(corners);
    }
    if (builder.empty()) continue;
    VisualPart& part = parts.emplace_back(builder.Take());
    part.color = color;
    const bool is_coated = texture.has_value() || colors != nullptr;
    if (is_coated && (!is_gltf || !color.has_value()))
      part.color = Eigen::Vector4d(1, 1, 1, color.has_value() ? color->w() : 1);
    is_plain &= !part.color.has_value();
    if (!texture.has_value()) continue;
    const auto [known, fresh] = textures.emplace(texture->name, static_cast<int>(textures.size()));
    if (fresh) file->textures.push_back({texture->name, BytesOf(scene, texture->name)});
    part.texture = known->second;
  }
  if (!is_plain) file->parts = std::move(parts);
}

SurfaceReading Refuse(std::string why) {
  return {{}, std::move(why)};
}

// `is_gltf`: see AddParts.
SurfaceReading ReadScene(const aiScene& scene, bool is_gltf) {
  SurfaceMeshFile file;
  for (unsigned m = 0; m < scene.mNumMeshes; ++m) {
    const aiMesh& part = *scene.mMeshes[m];
    if (part.mMaterialIndex >= std::max(scene.mNumMaterials, 1u))
      return Refuse("a mesh names a material that does not exist");
    const int first = static_cast<int>(file.mesh.vertices.size());
    for (unsigned i = 0; i < part.mNumVertices; ++i) {
      const aiVector3D& p = part.mVertices[i];
      file.mesh.vertices.emplace_back(p.x, p.y, p.z);
      if (!file.mesh.vertices.back().allFinite())
        return Refuse(absl::StrCat("vertex ", first + static_cast<int>(i), " is not finite"));
    }
    for (unsigned i = 0; i < part.mNumFaces; ++i) {
      const aiFace& face = part.mFaces[i];
      if (face.mNumIndices != 3) continue;  // points and lines
      std::array<int, 3> triangle;
      for (int j = 0; j < 3; ++j) {
        if (face.mIndices[j] >= part.mNumVertices)
          return Refuse("a triangle names a vertex that does not exist");
        triangle[j] = first + static_cast<int>(face.mIndices[j]);
      }
      file.mesh.triangles.push_back(triangle);
    }
  }
  AddParts(scene, is_gltf, &file);
  return {std::move(file), ""};
}

}  // namespace

SurfaceReading ReadWithAssimp(std::string_view bytes, const std::string& format,
                              const CompanionFiles& companions) {
  std::string refusal;  // of a companion file
  Assimp::Importer importer;
  importer.SetIOHandler(new GivenFiles(companions, &refusal));
  const aiScene* scene = importer.ReadFileFromMemory(bytes.data(), bytes.size(), 0, format.c_str());
  if (scene != nullptr) {
    if (!IsConsistent(*scene)) return Refuse("a face or node names something that does not exist");
    scene = importer.ApplyPostProcessing(aiProcess_Triangulate | aiProcess_PreTransformVertices);
  }
  if (scene != nullptr) return ReadScene(*scene, format == "gltf" || format == "glb");
  const std::string why = importer.GetErrorString();
  const bool is_scattered = why.find("referenced file") != std::string::npos && !refusal.empty();
  return Refuse(is_scattered ? refusal : why);
}

}  // namespace pliant::physics
