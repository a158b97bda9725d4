#pragma once

#include <string>

#include "physics/scene/text/scene_log.h"

namespace google::protobuf {
class Message;
}

namespace pliant::physics {

// Sets one field of `message` from `field.path=value`, the value in YAML. An entry of a list is
// named by its number or by its name: bodies[1].rigid.density=500,
// bodies.ball.deformable.material.poissons_ratio=0.3. Only the last part of a path may switch to
// another member of a oneof. Errors go to `log`.
void ApplyOverride(const std::string& assignment, google::protobuf::Message* message,
                   SceneLog* log);

}  // namespace pliant::physics
