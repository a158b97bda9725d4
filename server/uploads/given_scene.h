#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/scene/scene.h"
#include "pliant/v1/world.pb.h"
#include "server/uploads/object_store.h"

namespace pliant::server {

// Loads the scene that a client sends. It reads nothing on this machine but the files that were
// uploaded for it, which `objects` has (null: there are none). Paths in messages are those of the
// request. INVALID_ARGUMENT or NOT_FOUND if its files are not there; errors in the scene itself are
// in the result. `progress` is that of SceneOptions.
absl::StatusOr<physics::SceneResult> LoadGivenScene(const v1::CreateWorldRequest& request,
                                                    ObjectStore* objects,
                                                    physics::SceneProgress progress);

struct Import {
  std::vector<physics::SceneMessage> faults;  // none: the request has a scene
  std::map<std::string, std::string> files;   // of physics::ReferToFiles, as the client names them
};

// Puts the scene that a request asks for with `imported` in its place, so that it has all that is
// needed to load it again. INVALID_ARGUMENT or NOT_FOUND if files are not there.
absl::StatusOr<Import> ImportFiles(ObjectStore* objects, v1::CreateWorldRequest* request);

// As LoadGivenScene with the files in a folder. It reads nothing outside it.
physics::SceneResult LoadSceneWithFiles(const v1::CreateWorldRequest& request,
                                        const std::string& folder,
                                        physics::SceneProgress progress = nullptr);

}  // namespace pliant::server
