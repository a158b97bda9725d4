#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {

// A body in a step, a velocity that stretches and turns it, and a direction from there, along which
// its derivatives are compared with central differences.
class StretchedBody {
 public:
  explicit StretchedBody(const FemParameters& parameters)
      : block(MakeFemBlock(parameters)),
        step(block->NewStep()),
        q(block->num_positions()),
        v(block->num_velocities()),
        direction(v.size()) {
    block->SetInitialState({q, v, &internals});
    EXPECT_TRUE(PoseBlock(*step, {0.01, 1, 1, {0, 0, -9.81}}, q, v).ok());
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] = 3 * q[(i + 1) % v.size()] + 0.2 * (static_cast<double>(i % 5) - 2);
      direction[i] = 0.1 * (static_cast<double>(i % 7) - 3);
    }
  }

  // Linearises the step at v; a linear one has one tangent.
  void Linearise(TangentKind kind) {
    NonlinearBalance* nonlinear = step->abilities().nonlinear;
    if (nonlinear != nullptr) {
      ASSERT_TRUE(nonlinear->Linearise(v, kind).ok());
    }
  }

  // m(v) is the gradient of the potential. The error falls as d², down to the rounding of the
  // potential over d.
  void ExpectResidualIsGradient() {
    std::vector<double> residual(v.size());
    step->CalcMomentumResidual(v, residual);
    double slope = 0;
    for (std::size_t i = 0; i < v.size(); ++i) slope += residual[i] * direction[i];
    const double difference = (CalcPotential(Moved(kDistance), step.get()) -
                               CalcPotential(Moved(-kDistance), step.get())) /
                              (2 * kDistance);
    EXPECT_GT(std::abs(slope), 1e-3);
    EXPECT_NEAR(difference, slope, 1e-5 * std::abs(slope));
  }

  // The exact tangent is the Jacobian of m, up to `tolerance` of the largest number in the product.
  void ExpectTangentIsJacobian(double tolerance) {
    Linearise(TangentKind::kExact);
    std::vector<double> product(v.size()), above(v.size()), below(v.size());
    step->MultiplyTangent(direction, product);
    step->CalcMomentumResidual(Moved(kDistance), above);
    step->CalcMomentumResidual(Moved(-kDistance), below);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      error = std::max(error, std::abs((above[i] - below[i]) / (2 * kDistance) - product[i]));
      size = std::max(size, std::abs(product[i]));
    }
    EXPECT_GT(size, 1e-3);
    EXPECT_LT(error, tolerance * size);
  }

  std::shared_ptr<const DynamicsBlock> block;
  std::unique_ptr<BlockStep> step;
  std::vector<double> q, v, direction, internals;

 private:
  static constexpr double kDistance = 1e-4;

  std::vector<double> Moved(double s) const {
    std::vector<double> moved = v;
    for (std::size_t i = 0; i < v.size(); ++i) moved[i] += s * direction[i];
    return moved;
  }
};

}  // namespace pliant::physics
