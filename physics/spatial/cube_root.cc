#include "physics/spatial/cube_root.h"

#include <algorithm>

namespace pliant::physics {

double CalcCubeRoot(double x) {
  // Newton's method descends monotonically to the root until rounding stops it
  double root = std::max(1.0, x);
  while (true) {
    const double next = root - (root - x / (root * root)) / 3;
    if (!(next < root)) return root;
    root = next;
  }
}

}  // namespace pliant::physics
