#include "physics/scene/mesh_files/reader/assimp_surface.h"

#include <algorithm>
#include <array>
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

// The plain colour of a material; nothing for the one that the library makes up.
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
  if (rgba.w() == 0) rgba.w() = 1;  // writers disagree on what 0 means; invisible it is not
  return rgba;
}

// Whether meshes have the vertices that their faces name, and nodes the meshes: later steps of the
// library take it for granted.
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

SurfaceReading Refuse(std::string why) {
  return {{}, std::move(why)};
}

SurfaceReading ReadScene(const aiScene& scene) {
  SurfaceMeshFile file;
  std::vector<int> color_of_material(std::max(scene.mNumMaterials, 1u), -1);
  for (unsigned m = 0; m < scene.mNumMaterials; ++m) {
    const std::optional<Eigen::Vector4d> color = ColorOf(*scene.mMaterials[m]);
    if (!color.has_value()) continue;
    color_of_material[m] = static_cast<int>(file.colors.size());
    file.colors.push_back(*color);
  }
  for (unsigned m = 0; m < scene.mNumMeshes; ++m) {
    const aiMesh& part = *scene.mMeshes[m];
    if (part.mMaterialIndex >= color_of_material.size())
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
      file.color_of.push_back(color_of_material[part.mMaterialIndex]);
    }
  }
  if (file.colors.empty()) file.color_of.clear();
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
  if (scene != nullptr) return ReadScene(*scene);
  const std::string why = importer.GetErrorString();
  const bool is_scattered = why.find("referenced file") != std::string::npos && !refusal.empty();
  return Refuse(is_scattered ? refusal : why);
}

}  // namespace pliant::physics
