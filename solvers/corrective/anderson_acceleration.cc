#include "solvers/corrective/anderson_acceleration.h"

#include <algorithm>

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace pliant::solvers {
namespace {

constexpr int kMaxPoints = 5;
constexpr double kRegularisation = 1e-12;  // of the normal equations, relative to their trace

}  // namespace

void AndersonAcceleration::Accelerate(std::span<const double> residual,
                                      std::span<const double> dual, std::span<double> image) {
  points_.resize(kMaxPoints);
  if (count_ == kMaxPoints) {
    std::rotate(points_.begin(), points_.begin() + 1, points_.end());
    --count_;
  }
  Point& last = points_[count_];
  last.image.assign(image.begin(), image.end());
  last.residual.assign(residual.begin(), residual.end());
  last.dual.assign(dual.begin(), dual.end());
  const int n = count_++;
  if (n == 0) return;

  // minimise ‖r_n − Σ c_j (r_n − r_j)‖
  Eigen::MatrixXd normal(n, n);
  Eigen::VectorXd right(n);
  const auto product = [&](const Point& a, const Point& b) {
    double sum = 0;
    for (std::size_t i = 0; i < residual.size(); ++i)
      sum += (last.residual[i] - a.residual[i]) * (last.dual[i] - b.dual[i]);
    return sum;
  };
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) normal(i, j) = product(points_[i], points_[j]);
    right[i] = 0;
    for (std::size_t k = 0; k < residual.size(); ++k)
      right[i] += (last.residual[k] - points_[i].residual[k]) * last.dual[k];
  }
  normal.diagonal().array() += kRegularisation * normal.trace();
  const Eigen::VectorXd c = normal.ldlt().solve(right);
  if (!c.allFinite()) return;
  for (int j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < image.size(); ++i)
      image[i] -= c[j] * (last.image[i] - points_[j].image[i]);
  }
}

}  // namespace pliant::solvers
