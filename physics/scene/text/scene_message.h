#pragma once

#include <string>

namespace pliant::physics {

// An error or warning about a scene.
struct SceneMessage {
  std::string file;
  int line = 0;         // from 1; 0 when the scene came as a message
  int column = 0;       // from 1; 0 when only the line is known
  std::string path;     // bodies[1].deformable.material.poissons_ratio
  std::string message;  // the fault, the value, the expectation, the remedy
  bool error = true;    // false: a warning
};

// FILE:LINE:COL: field.path: message
std::string Format(const SceneMessage& message);

}  // namespace pliant::physics
