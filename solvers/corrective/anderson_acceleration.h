#pragma once

#include <span>
#include <vector>

namespace pliant::solvers {

// Anderson's acceleration of a fixed-point iteration x ← g(x): the next point combines the last
// images g(x) so that the same combination of their residuals g(x) − x is smallest. It converges
// where the plain iteration cycles or is repelled. Keeps its memory.
class AndersonAcceleration {
 public:
  void Restart() { count_ = 0; }

  // Records a point's image and replaces it by the next point. `residual` is g(x) − x and `dual` is
  // M (g(x) − x), for the metric M in which residuals are measured, of any common size.
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
