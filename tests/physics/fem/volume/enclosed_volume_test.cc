#include "physics/fem/volume/enclosed_volume.h"

#include <cmath>
#include <random>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A cube whose faces are cut along diagonals, with vertices moved at random, far from the origin.
class Cube : public testing::Test {
 protected:
  Cube() {
    std::mt19937 random(11);
    std::uniform_real_distribution<double> uniform(-0.2, 0.2);
    for (int v = 0; v < 8; ++v)
      for (int r = 0; r < 3; ++r) q_.push_back((v >> r & 1) + uniform(random) + 10 * r);
    std::vector<std::array<int, 4>> all;
    for (int a = 0; a < 8; ++a)
      for (int b = 0; b < a; ++b) all.push_back({a, b, a, b});
    pattern_ = solvers::MakeBlockPattern(8, all);
    constexpr int kFaces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                  {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    for (const int(&f)[4] : kFaces) {
      triangles_.push_back({f[0], f[1], f[2]});
      triangles_.push_back({f[0], f[2], f[3]});
    }
  }

  solvers::BlockPattern pattern_;
  std::vector<std::array<int, 3>> triangles_;
  std::vector<double> q_;
};

TEST_F(Cube, HasItsVolumeWhereverItIs) {
  const EnclosedVolume volume(triangles_, pattern_);
  std::vector<double> box;
  for (int v = 0; v < 8; ++v)
    for (int r = 0; r < 3; ++r) box.push_back((r + 1) * (v >> r & 1) - 5.0);
  EXPECT_NEAR(volume.CalcVolume(box), 6, 1e-14);
  std::vector<double> moved = q_;
  for (double& x : moved) x += 100;
  // rounding of the moved positions, 1.4e-14, times the area
  EXPECT_NEAR(volume.CalcVolume(moved), volume.CalcVolume(q_), 1e-12);
}

TEST_F(Cube, GradientIsTheDerivativeOfTheVolumeWithoutNetForceAndTorque) {
  const EnclosedVolume volume(triangles_, pattern_);
  std::vector<double> g(24);
  volume.CalcGradient(q_, g);
  Vector3d force = Vector3d::Zero(), torque = Vector3d::Zero();
  for (int i = 0; i < 24; ++i) {
    std::vector<double> above = q_, below = q_;
    above[i] += 0.01;
    below[i] -= 0.01;
    // the volume is linear in each coordinate, so that differences are exact
    EXPECT_NEAR((volume.CalcVolume(above) - volume.CalcVolume(below)) / 0.02, g[i], 1e-11);
  }
  for (int v = 0; v < 8; ++v) {
    const Vector3d x(q_[3 * v], q_[3 * v + 1], q_[3 * v + 2]),
        f(g[3 * v], g[3 * v + 1], g[3 * v + 2]);
    force += f;
    torque += x.cross(f);
  }
  EXPECT_LT(force.norm(), 1e-14);
  EXPECT_LT(torque.norm(), 1e-13);
}

TEST_F(Cube, CurvatureIsTheDerivativeOfTheGradient) {
  const EnclosedVolume volume(triangles_, pattern_);
  solvers::BlockMatrix A(&pattern_);
  volume.AddCurvature(q_, 2, &A);
  std::vector<double> above(24), below(24), column(24);
  for (int j = 0; j < 24; ++j) {
    std::vector<double> plus = q_, minus = q_, unit(24);
    plus[j] += 0.01;
    minus[j] -= 0.01;
    unit[j] = 1;
    volume.CalcGradient(plus, above);
    volume.CalcGradient(minus, below);
    A.Multiply(unit, column);
    // the gradient is quadratic, so that differences are exact
    for (int i = 0; i < 24; ++i)
      EXPECT_NEAR(column[i], 2 * (above[i] - below[i]) / 0.02, 1e-11) << i << " " << j;
  }
}

}  // namespace
}  // namespace pliant::physics
