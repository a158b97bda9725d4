#include "solvers/convex/momentum_term.h"

#include <cmath>
#include <memory>
#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "solvers/convex/sap.h"
#include "solvers/problem/friction_cone.h"
#include "tests/solvers/convex/random_bodies.h"

namespace pliant::solvers {
namespace {

using Eigen::Map;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

// Springs Σ c f(aᵀv) along random directions a, with f = log cosh, which softens away from zero,
// f = x⁴/4, which stiffens, or f = 1 − cos x, which has wells between ridges.
class Springs final : public MomentumTerm {
 public:
  enum class Kind { kLogCosh, kQuartic, kWaves };
  Springs(Kind kind, int size, int count, double c, std::mt19937* random)
      : kind_(kind), a_(count, size), c_(c) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int i = 0; i < a_.size(); ++i) a_.data()[i] = uniform(*random);
  }

  bool is_convex() const override { return kind_ != Kind::kWaves; }
  double AddGradient(std::span<const double> v, std::span<double> gradient) const override {
    double value = 0;
    for (int k = 0; k < a_.rows(); ++k) {
      const double x = a_.row(k).dot(Map<const VectorXd>(v.data(), v.size()));
      const auto [f, slope] = Respond(x);
      value += c_ * f;
      Map<VectorXd>(gradient.data(), gradient.size()) += c_ * slope * a_.row(k).transpose();
    }
    return value;
  }
  void StartLine(std::span<const double> v, std::span<const double> d) override {
    v_.assign(v.begin(), v.end());
    d_.assign(d.begin(), d.end());
  }
  Along CalcAlong(double alpha) const override {
    std::vector<double> at = v_, gradient(at.size(), 0.0);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += alpha * d_[i];
    const double value = AddGradient(at, gradient);
    const Map<const VectorXd> x(d_.data(), d_.size());
    return {value, x.dot(Map<const VectorXd>(gradient.data(), gradient.size())),
            x.dot(CalcHessian(at) * x)};
  }
  void AddHessian(std::span<const double> v, bool is_far, std::span<double> A) const override {
    Map<MatrixXd>(A.data(), v.size(), v.size()) += CalcHessian(v, is_far);
  }
  MatrixXd CalcHessian(std::span<const double> v, bool is_far = false) const {
    MatrixXd H = MatrixXd::Zero(v.size(), v.size());
    for (int k = 0; k < a_.rows(); ++k) {
      const double x = a_.row(k).dot(Map<const VectorXd>(v.data(), v.size()));
      const double stiffness = kind_ == Kind::kLogCosh   ? 1 / (std::cosh(x) * std::cosh(x))
                               : kind_ == Kind::kQuartic ? 3 * x * x
                               : is_far                  ? std::abs(std::cos(x))
                                                         : std::max(0.0, std::cos(x));
      H += c_ * stiffness * a_.row(k).transpose() * a_.row(k);
    }
    return H;
  }

 private:
  // f(x) and its derivative
  std::pair<double, double> Respond(double x) const {
    switch (kind_) {
      case Kind::kLogCosh:
        return {std::log(std::cosh(x)), std::tanh(x)};
      case Kind::kQuartic:
        return {0.25 * x * x * x * x, x * x * x};
      case Kind::kWaves:
        return {1 - std::cos(x), std::sin(x)};
    }
    return {};
  }

  Kind kind_;
  MatrixXd a_;
  double c_;
  std::vector<double> v_, d_;  // of the line
};

// A chain of bodies with frictional contacts, two of which have nonlinear springs.
class MomentumTermTest
    : public ::testing::TestWithParam<std::tuple<SapOptions::LineSearch, Springs::Kind>> {
 protected:
  static constexpr int kBodies = 5, kSize = 9;

  MomentumTermTest() : random_(17) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    AddRandomBodies(kBodies, kSize, 0.1, &random_, &A_, &whole_);
    for (double& v : whole_.system.v_star) v *= 3;
    whole_.problem.terms.resize(kBodies);
    for (const int b : {1, 3}) {
      terms_.push_back(std::make_unique<Springs>(std::get<1>(GetParam()), kSize, 6, 4.0, &random_));
      whole_.problem.terms[b] = terms_.back().get();
    }
    for (int c = 0; c < 15; ++c) {
      ConvexProblem::Contact contact;
      contact.R = {1e-2, 1e-2, 0.02};
      contact.v_hat = {0, 0, 0.1 * uniform(random_)};
      contact.friction = 0.5;
      whole_.AddContact(contact);
      for (int side = 0; side < 2; ++side) {
        whole_.AddContactEntry((c + side) % kBodies * kSize + c % 4, 5,
                               [&] { return uniform(random_); });
      }
    }
    options_.line_search = std::get<0>(GetParam());
    options_.relative_tolerance = 1e-11;
  }

  // Cost, gradient and Hessian, implemented once more from their definition.
  double Evaluate(const std::vector<double>& v, VectorXd* gradient, MatrixXd* hessian) const {
    double cost = 0;
    gradient->setZero(whole_.size());
    hessian->setZero(whole_.size(), whole_.size());
    for (std::size_t b = 0; b < A_.size(); ++b) {
      const int first = static_cast<int>(b) * kSize;
      const Map<const VectorXd> own(&v[first], kSize), free(&whole_.v_star()[first], kSize);
      cost += 0.5 * (own - free).dot(A_[b] * (own - free));
      gradient->segment(first, kSize) += A_[b] * (own - free);
      hessian->block(first, first, kSize, kSize) += A_[b];
      const auto* term = static_cast<const Springs*>(whole_.problem.terms[b]);
      if (term == nullptr) continue;
      const std::span<const double> part(&v[first], kSize);
      cost += term->AddGradient(part, {gradient->data() + first, kSize});
      hessian->block(first, first, kSize, kSize) += term->CalcHessian(part);
    }
    const ConstraintSystem& system = whole_.system;
    for (std::size_t c = 0; c < system.contacts.size(); ++c) {
      const ConvexProblem::Contact& contact = whole_.problem.contacts[c];
      MatrixXd J = MatrixXd::Zero(3, whole_.size());
      for (const ConstraintSystem::Entry& entry : system.entries_of(system.contacts[c])) {
        J.middleCols(system.first_of(entry), entry.columns) +=
            Map<const MatrixXd>(system.J(entry), 3, entry.columns);
      }
      const Vector3d v_c = J * Map<const VectorXd>(v.data(), whole_.size());
      const ConeProjection p = ProjectOntoFrictionCone(
          (contact.v_hat - v_c).cwiseQuotient(contact.R), contact.R, contact.friction);
      cost += 0.5 * p.gamma.dot(contact.R.cwiseProduct(p.gamma));
      *gradient -= J.transpose() * p.gamma;
      *hessian += J.transpose() * p.G * J;
    }
    return cost;
  }

  // Newton's method with Armijo line search on dense matrices.
  std::vector<double> SolveIndependently() const {
    std::vector<double> v = whole_.v_star();
    VectorXd gradient, unused;
    MatrixXd hessian, no_hessian;
    for (int k = 0; k < 200; ++k) {
      const double cost = Evaluate(v, &gradient, &hessian);
      if (gradient.norm() < 1e-11) break;
      const VectorXd step = -hessian.ldlt().solve(gradient);
      for (double length = 1; length > 1e-9; length /= 2) {
        std::vector<double> next = v;
        Map<VectorXd>(next.data(), whole_.size()) += length * step;
        if (Evaluate(next, &unused, &no_hessian) >
            cost + 1e-4 * length * step.dot(gradient) + 1e-14 * cost)
          continue;
        v = next;
        break;
      }
    }
    return v;
  }

  std::mt19937 random_;
  std::vector<MatrixXd> A_;
  std::vector<std::unique_ptr<Springs>> terms_;
  WholeProblem whole_;
  SapOptions options_;
};

TEST_P(MomentumTermTest, GradientAndHessianAreThoseOfTheValue) {
  const double d = 1e-4;
  const std::vector<double> v(whole_.v_star().begin(), whole_.v_star().begin() + kSize);
  const auto evaluate = [&](const std::vector<double>& at, VectorXd* gradient) {
    gradient->setZero(kSize);
    return terms_[0]->AddGradient(at, {gradient->data(), kSize});
  };
  VectorXd gradient, low_gradient, high_gradient;
  evaluate(v, &gradient);
  std::vector<double> A(kSize * kSize, 0.0);
  terms_[0]->AddHessian(v, false, A);
  const Map<const MatrixXd> H(A.data(), kSize, kSize);
  // central differences: the error is d² times third derivatives of order c |a|³ (1 + |aᵀv|) < 1e3
  for (int i = 0; i < kSize; ++i) {
    std::vector<double> low = v, high = v;
    low[i] -= d;
    high[i] += d;
    const double slope = (evaluate(high, &high_gradient) - evaluate(low, &low_gradient)) / (2 * d);
    EXPECT_NEAR(slope, gradient[i], 1e3 * d * d);
    EXPECT_LT(((high_gradient - low_gradient) / (2 * d) - H.col(i)).norm(), 1e3 * d * d);
    std::vector<double> unit(kSize, 0.0);
    unit[i] = 1;
    terms_[0]->StartLine(v, unit);
    const MomentumTerm::Along along = terms_[0]->CalcAlong(0);
    EXPECT_NEAR(along.slope, gradient[i], 1e-12 * (1 + std::abs(gradient[i])));
    EXPECT_NEAR(along.curvature, H(i, i), 1e-12 * H(i, i));
  }
}

TEST_P(MomentumTermTest, TheMinimiserIsThatOfAnIndependentSolver) {
  const SapResult result = whole_.Solve(whole_.v_star(), options_);
  ASSERT_EQ(result.reason, StopReason::kConverged);
  EXPECT_GT(result.iterations, 2);
  const std::vector<double> expected = SolveIndependently();
  // both gradients are below 1e-9, and A is at least 0.1
  for (int i = 0; i < whole_.size(); ++i) EXPECT_NEAR(result.v[i], expected[i], 1e-8) << i;
  VectorXd gradient;
  MatrixXd hessian;
  EXPECT_NEAR(result.costs.back(), Evaluate(result.v, &gradient, &hessian),
              1e-13 * result.costs.front());
  EXPECT_LT(gradient.norm(), 1e-9 * (1 + gradient.size()));
}

TEST_P(MomentumTermTest, TheCostFallsInEveryIteration) {
  const std::vector<double> far(whole_.size(), 5.0);
  const SapResult result = whole_.Solve(far, options_);
  ASSERT_EQ(result.reason, StopReason::kConverged);
  for (std::size_t k = 1; k < result.costs.size(); ++k)
    EXPECT_LE(result.costs[k], result.costs[k - 1] * (1 + 1e-14)) << k;
}

TEST_P(MomentumTermTest, ASparseBlockGivesTheSolutionOfADenseOne) {
  // three nodes, all of them coupled
  BlockPattern pattern{3, {0, 3, 5, 6}, {0, 1, 2, 1, 2, 2}};
  BlockMatrix sparse(&pattern);
  // the springs, with their Hessian in block order
  struct InBlocks final : MomentumTerm {
    Springs* springs;
    const BlockPattern* pattern;
    bool is_convex() const override { return springs->is_convex(); }
    double AddGradient(std::span<const double> v, std::span<double> g) const override {
      return springs->AddGradient(v, g);
    }
    void StartLine(std::span<const double> v, std::span<const double> d) override {
      springs->StartLine(v, d);
    }
    Along CalcAlong(double alpha) const override { return springs->CalcAlong(alpha); }
    void AddHessian(std::span<const double> v, bool is_far, std::span<double> A) const override {
      AddBlocks(springs->CalcHessian(v, is_far), *pattern, A);
    }
    static void AddBlocks(const MatrixXd& H, const BlockPattern& pattern, std::span<double> A) {
      for (int j = 0; j < 3; ++j) {
        for (int k = pattern.column_starts[j]; k < pattern.column_starts[j + 1]; ++k)
          Map<Eigen::Matrix3d>(&A[9 * std::size_t(k)]) += H.block<3, 3>(3 * pattern.rows[k], 3 * j);
      }
    }
  } term;
  term.springs = terms_[0].get();
  term.pattern = &pattern;
  InBlocks::AddBlocks(A_[1], pattern, sparse.values);
  const int order[] = {0, 1, 2};
  WholeProblem with_sparse = whole_;
  with_sparse.system.blocks[1].A = {&sparse, order};
  with_sparse.problem.terms[1] = &term;
  const SapResult a = whole_.Solve(whole_.v_star(), options_);
  const SapResult b = with_sparse.Solve(whole_.v_star(), options_);
  ASSERT_TRUE(a.converged && b.converged);
  for (int i = 0; i < whole_.size(); ++i) EXPECT_NEAR(a.v[i], b.v[i], 1e-9) << i;
}

// Newton's steps pass over ridges to points that are stationary along them, but higher.
TEST(MomentumTerm, TheCostFallsInEveryIterationWhereItIsNotConvex) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-3, 3);
  constexpr int kSize = 9;
  WholeProblem whole;
  std::vector<MatrixXd> A;
  AddRandomBodies(1, kSize, 0.1, &random, &A, &whole);
  Springs springs(Springs::Kind::kWaves, kSize, 6, 20.0, &random);
  whole.problem.terms = {&springs};
  SapOptions options;
  options.relative_tolerance = 1e-9;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> start(kSize);
    for (double& v : start) v = uniform(random);
    const SapResult result = whole.Solve(start, options);
    EXPECT_EQ(result.reason, StopReason::kConverged) << trial;
    for (std::size_t k = 1; k < result.costs.size(); ++k) {
      EXPECT_LE(result.costs[k], result.costs[k - 1] + 1e-13 * std::abs(result.costs.front()))
          << trial << " " << k;
    }
    const Map<const VectorXd> v(result.v.data(), kSize), free(whole.v_star().data(), kSize);
    VectorXd gradient = A[0] * (v - free);
    springs.AddGradient(result.v, {gradient.data(), kSize});
    EXPECT_LT(gradient.norm(), 1e-6) << trial;
  }
}

INSTANTIATE_TEST_SUITE_P(
    LineSearches, MomentumTermTest,
    ::testing::Combine(::testing::Values(SapOptions::LineSearch::kExact,
                                         SapOptions::LineSearch::kBacktracking),
                       ::testing::Values(Springs::Kind::kLogCosh, Springs::Kind::kQuartic)));

}  // namespace
}  // namespace pliant::solvers
