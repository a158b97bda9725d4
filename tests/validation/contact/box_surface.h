#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include <Eigen/Core>

namespace pliant::physics {

// An OBJ file of a box between two corners [m], a surface of twelve triangles.
inline std::string MakeBoxObj(const Eigen::Vector3d& lower, const Eigen::Vector3d& upper) {
  std::string text;
  for (const double z : {lower.z(), upper.z()}) {
    absl::StrAppend(&text, "v ", lower.x(), " ", lower.y(), " ", z, "\n");
    absl::StrAppend(&text, "v ", upper.x(), " ", lower.y(), " ", z, "\n");
    absl::StrAppend(&text, "v ", upper.x(), " ", upper.y(), " ", z, "\n");
    absl::StrAppend(&text, "v ", lower.x(), " ", upper.y(), " ", z, "\n");
  }
  return text +
         "f 1 3 2\nf 1 4 3\nf 5 6 7\nf 5 7 8\nf 1 2 6\nf 1 6 5\n"
         "f 2 3 7\nf 2 7 6\nf 3 4 8\nf 3 8 7\nf 4 1 5\nf 4 5 8\n";
}

}  // namespace pliant::physics
