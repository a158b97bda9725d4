#include <array>
#include <exception>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include <assimp/IOSystem.hpp>
#include <assimp/Importer.hpp>
#include <assimp/postprocess.h>
#include <assimp/scene.h>

#include "physics/scene/mesh_files/surface_mesh_formats.h"

namespace pliant::physics {
namespace {

// A mesh that names other files gets none: what it may read is not for it to say.
class NoFiles final : public Assimp::IOSystem {
 public:
  bool Exists(const char*) const override { return false; }
  char getOsSeparator() const override { return '/'; }
  Assimp::IOStream* Open(const char*, const char*) override { return nullptr; }
  void Close(Assimp::IOStream*) override {}
};

}  // namespace

absl::StatusOr<SurfaceMeshFile> ReadWithAssimp(std::string_view bytes, const std::string& name,
                                               const std::string& extension) {
  const auto refuse = [&](const std::string& why) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": cannot be read as ", extension, ": ", why));
  };
  try {
    Assimp::Importer importer;
    importer.SetIOHandler(new NoFiles);
    const aiScene* scene = importer.ReadFileFromMemory(
        bytes.data(), bytes.size(), aiProcess_Triangulate | aiProcess_PreTransformVertices,
        extension.c_str());
    if (scene == nullptr) {
      const std::string why = importer.GetErrorString();
      const bool scattered = why.find("referenced file") != std::string::npos;
      return refuse(why + (scattered ? ". Other files are not opened: save it as one (.glb)" : ""));
    }
    SurfaceMeshFile file;
    for (unsigned m = 0; m < scene->mNumMeshes; ++m) {
      const aiMesh& part = *scene->mMeshes[m];
      const int first = static_cast<int>(file.mesh.vertices.size());
      for (unsigned i = 0; i < part.mNumVertices; ++i) {
        const aiVector3D& p = part.mVertices[i];
        file.mesh.vertices.emplace_back(p.x, p.y, p.z);
        if (!file.mesh.vertices.back().allFinite())
          return refuse(absl::StrCat("vertex ", first + static_cast<int>(i), " is not finite"));
      }
      for (unsigned i = 0; i < part.mNumFaces; ++i) {
        const aiFace& face = part.mFaces[i];
        if (face.mNumIndices != 3) continue;  // points and lines
        std::array<int, 3> triangle;
        for (int j = 0; j < 3; ++j) {
          if (face.mIndices[j] >= part.mNumVertices)
            return refuse("a triangle names a vertex that is not there");
          triangle[j] = first + static_cast<int>(face.mIndices[j]);
        }
        file.mesh.triangles.push_back(triangle);
      }
    }
    return file;
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
}

}  // namespace pliant::physics
