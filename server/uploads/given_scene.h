#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/scene/scene.h"
#include "pliant/v1/world.pb.h"
#include "server/uploads/object_store.h"

namespace pliant::server {

// Loads the scene that a client sends. It reads no files of this machine except those uploaded for
// the scene, which are in `objects` (null: none). Paths in messages are those of the
// request. INVALID_ARGUMENT or NOT_FOUND if its files are missing; errors in the scene itself are
// in the result. `progress` is that of SceneOptions.
absl::StatusOr<physics::SceneResult> LoadGivenScene(const v1::CreateWorldRequest& request,
                                                    ObjectStore* objects,
                                                    physics::SceneProgress progress);

struct Import {
  std::vector<physics::SceneMessage> faults;  // empty: the request now has a scene
  std::map<std::string, std::string> files;   // of physics::ReferToFiles, as named by the client
};

// Replaces `imported` in a request by the scene that is made of the files, so that the request is
// sufficient to load it again. INVALID_ARGUMENT or NOT_FOUND if files are missing.
absl::StatusOr<Import> ImportFiles(ObjectStore* objects, v1::CreateWorldRequest* request);

// As LoadGivenScene with the files in a folder. It reads nothing outside it.
physics::SceneResult LoadSceneWithFiles(const v1::CreateWorldRequest& request,
                                        const std::string& folder,
                                        physics::SceneProgress progress = nullptr);

}  // namespace pliant::server
