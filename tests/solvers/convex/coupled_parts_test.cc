#include "solvers/hessian/coupled_parts.h"

#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "tests/solvers/convex/random_bodies.h"

namespace pliant::solvers {
namespace {

// A chain of bodies of ten nodes: even nodes touch the previous body, odd ones the next.
class CoupledPartsTest : public ::testing::Test {
 protected:
  static constexpr int kBodies = 5, kSize = 30;

  CoupledPartsTest() {
    std::mt19937 random(4);
    std::uniform_real_distribution<double> uniform(-1, 1);
    AddRandomBodies(kBodies, kSize, 1, &random, &A_, &whole_);
    for (int b = 0; b + 1 < kBodies; ++b) {
      for (int k = 0; k < 5; ++k) {
        ConvexProblem::Contact contact;
        contact.R = {1e-3, 1e-3, 0.02};
        contact.v_hat = {0, 0, 0.1 * uniform(random)};
        contact.friction = 0.5;
        whole_.AddContact(contact);
        for (const int first : {b * kSize + 6 * k + 3, (b + 1) * kSize + 6 * k})
          whole_.AddContactEntry(first, 3, [&] { return uniform(random); });
      }
    }
  }

  std::vector<Eigen::MatrixXd> A_;
  WholeProblem whole_;
};

TEST_F(CoupledPartsTest, APartMeetsOneBodyAndEveryVelocityIsInOne) {
  CoupledParts parts;
  parts.Find(WholeIsland(whole_.system).view());
  // the first and last bodies have two parts as well, although one of them touches nothing
  EXPECT_EQ(parts.sizes(), std::vector<int>(2 * kBodies, 15));
  std::set<std::pair<int, int>> places;
  for (int i = 0; i < whole_.size(); ++i) places.emplace(parts.part_of(i), parts.row_of(i));
  EXPECT_EQ(places.size(), std::size_t(whole_.size()));
  // the part that touches the previous body is not coupled with the next body
  const std::set<std::pair<int, int>> couplings(parts.couplings().begin(), parts.couplings().end());
  for (int b = 0; b + 1 < kBodies; ++b) {
    const int before = parts.part_of(b * kSize), after = parts.part_of(b * kSize + 3);
    const int theirs = parts.part_of((b + 1) * kSize), beyond = parts.part_of((b + 1) * kSize + 3);
    const auto is_coupled = [&](int i, int j) {
      return couplings.contains({std::max(i, j), std::min(i, j)});
    };
    EXPECT_TRUE(is_coupled(before, after));
    EXPECT_TRUE(is_coupled(after, theirs));
    EXPECT_FALSE(is_coupled(before, theirs));
    EXPECT_FALSE(is_coupled(after, beyond));
  }

  std::vector<double> x(whole_.size()), y(whole_.size()), z(whole_.size());
  std::iota(x.begin(), x.end(), 0.0);
  parts.Gather(x.data(), y.data());
  parts.Scatter(y.data(), z.data());
  EXPECT_EQ(z, x);
  EXPECT_NE(y, x);
}

TEST_F(CoupledPartsTest, TheSolutionOfASplitProblemIsOptimal) {
  SapOptions options;
  options.relative_tolerance = 1e-10;
  const SapResult result = whole_.Solve(whole_.v_star(), options);
  ASSERT_TRUE(result.converged);
  // A (v − v*) = Jᵀγ
  const std::vector<double> impulse = whole_.CalcImpulse(result);
  double error = 0, size = 0;
  for (const auto& block : whole_.system.blocks) {
    const Eigen::Map<const Eigen::MatrixXd> A(block.A.dense.data(), block.size, block.size);
    const Eigen::Map<const Eigen::VectorXd> v(&result.v[block.first], block.size);
    const Eigen::Map<const Eigen::VectorXd> v_star(&whole_.v_star()[block.first], block.size);
    const Eigen::Map<const Eigen::VectorXd> j(&impulse[block.first], block.size);
    error += (A * (v - v_star) - j).squaredNorm();
    size += j.squaredNorm();
  }
  EXPECT_GT(size, 0);
  EXPECT_LT(std::sqrt(error / size), 1e-9);
}

}  // namespace
}  // namespace pliant::solvers
