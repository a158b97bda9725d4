#pragma once

#include <string>

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

// The same with the files in a folder. It reads nothing outside it.
physics::SceneResult LoadSceneWithFiles(const v1::CreateWorldRequest& request,
                                        const std::string& folder,
                                        physics::SceneProgress progress = nullptr);

}  // namespace pliant::server
