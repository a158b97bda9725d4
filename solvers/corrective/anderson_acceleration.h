#pragma once

#include <span>
#include <vector>

namespace pliant::solvers {

// Anderson acceleration of a fixed-point iteration x ← g(x): the next point is the combination of
// the last images g(x) for which the same combination of their residuals g(x) − x is smallest. It
// may converge where the plain iteration cycles or diverges. Reuses its memory.
class AndersonAcceleration {
 public:
  void Restart() { count_ = 0; }

  // Records a point's image and replaces it by the next point. `residual` is g(x) − x and `dual` is
  // M (g(x) − x), with the metric M of residuals; both may have another size than `image`.
  void Accelerate(std::span<const double> residual, std::span<const double> dual,
                  std::span<double> image);

 private:
  struct Point {
    std::vector<double> image, residual, dual;
  };
  std::vector<Point> points_;  // the first count_ are in use, oldest first
  int count_ = 0;
};

}  // namespace pliant::solvers
