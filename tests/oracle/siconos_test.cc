// Contact problems of our steps are solved by Siconos, and each solver's residual is evaluated at
// both solutions. The nonsmooth method solves them with exact Coulomb friction and without
// compliance, as Siconos does.

#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include <Eigen/Cholesky>
#include <gtest/gtest.h>

#include "physics/scene/scene.h"
#include "physics/world/world.h"
#include "solvers/nonsmooth/nonsmooth_newton.h"
#include "solvers/problem/whole_island.h"

#if __has_include(<fc3d_compute_error.h>)
#define PLIANT_HAS_SICONOS 1
extern "C" {
#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <SolverOptions.h>

#include <fc3d_compute_error.h>
}
#endif

namespace pliant::physics {
namespace {

#ifdef PLIANT_HAS_SICONOS
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

// 64 vertices of a soft cube on the floor, pushed along with less than the friction limit in some
// places and with more in others.
constexpr char kSoftCube[] = R"(
time_step: 0.01
sleeping: false
method: {nonsmooth: {newton_iterations: 200, linear_iterations: 1000, tolerance: 1.0e-11}}
contact: {friction: 0.3}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: cube
    deformable:
      mesh: {box: {size: [0.14, 0.14, 0.06]}, edge_length: 0.02}
      pose: {position: [0, 0, 0.03]}
      velocity: {linear: [0.05, 0.02, -0.2], angular: [0, 0, 2]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.3,
          density: 1000}
)";

// Twenty boxes in five columns: four points a face where three would do. Each column leans a little
// more.
std::string StackBoxes() {
  std::string yaml = R"(
time_step: 0.005
sleeping: false
method: {nonsmooth: {newton_iterations: 200, linear_iterations: 1000, tolerance: 1.0e-11}}
contact: {friction: 0.3}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: box
    template: true
    rigid: {motion: FREE, density: 500, shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}
instances:
  - of: box
    poses:
)";
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 4; ++j) {
      absl::StrAppend(&yaml, "      - {position: [", 0.15 * i + 0.003 * i * j, ", 0, ",
                      0.05 + 0.1 * j, "]}\n");
    }
  }
  return yaml;
}

ContactProblem SolveStep(const std::string& yaml, int step) {
  const SceneResult scene = LoadSceneYaml(yaml, "scene.yaml");
  for (const SceneMessage& message : scene.messages) ADD_FAILURE() << Format(message);
  ContactProblem problem;
  if (!scene.ok()) return problem;
  World world(scene.model);
  for (int i = 1; i <= step; ++i) {
    world.Describe(i == step ? &problem : nullptr);
    const absl::Status status = world.Step();
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_TRUE(world.report().converged) << world.report().residual;
  EXPECT_TRUE(problem.rows.empty());
  return problem;
}

// In the space of contacts, per second of force: relative velocities u = W r + q with r the
// impulses, normal velocities counted so that u_n = 0 closes the gap.
struct Reduced {
  MatrixXd W;
  VectorXd q, r;
  std::vector<double> friction;
};

Reduced Reduce(const ContactProblem& problem) {
  const auto n = static_cast<Eigen::Index>(problem.v_star.size());
  const auto m = static_cast<Eigen::Index>(3 * problem.contacts.size());
  MatrixXd A = MatrixXd::Zero(n, n), J = MatrixXd::Zero(m, n);
  for (const auto& block : problem.blocks) {
    A.block(block.first, block.first, block.size, block.size) =
        Eigen::Map<const MatrixXd>(block.A.data(), block.size, block.size);
  }
  for (const auto& element : problem.J) J(element.row, element.column) = element.value;
  Reduced reduced;
  reduced.W = J * A.llt().solve(J.transpose());
  reduced.q = J * Eigen::Map<const VectorXd>(problem.v_star.data(), n);
  reduced.r.resize(m);
  for (std::size_t c = 0; c < problem.contacts.size(); ++c) {
    const auto& contact = problem.contacts[c];
    const auto at = static_cast<Eigen::Index>(3 * c);
    reduced.q.segment<3>(at) += contact.bias + Vector3d(0, 0, contact.gap / problem.h);
    reduced.r.segment<3>(at) = contact.impulse;
    reduced.friction.push_back(contact.friction);
  }
  return reduced;
}

// Residual of impulses by our natural map [m].
double CalcOurResidual(const ContactProblem& problem, const VectorXd& impulses) {
  solvers::NonsmoothProblem given;
  given.h = problem.h;
  solvers::ConstraintSystem system;
  system.num_velocities = static_cast<int>(problem.v_star.size());
  system.v_star = problem.v_star;
  for (const auto& block : problem.blocks)
    system.blocks.push_back({block.first, block.size, std::span<const double>(block.A)});
  // every contact as columns of whole blocks
  const auto n = static_cast<Eigen::Index>(problem.v_star.size());
  MatrixXd J = MatrixXd::Zero(static_cast<Eigen::Index>(3 * problem.contacts.size()), n);
  for (const auto& element : problem.J) J(element.row, element.column) = element.value;
  const Reduced reduced = Reduce(problem);
  std::vector<Vector3d> guess;
  for (std::size_t c = 0; c < problem.contacts.size(); ++c) {
    const auto at = static_cast<Eigen::Index>(3 * c);
    solvers::NonsmoothProblem::Contact contact;
    contact.gap = problem.contacts[c].gap;
    contact.friction = problem.contacts[c].friction;
    given.contacts.push_back(contact);
    solvers::ConstraintSystem::Contact rows;
    rows.bias = problem.contacts[c].bias;
    rows.W = reduced.W.block<3, 3>(at, at);
    rows.first_entry = static_cast<int>(system.entries.size());
    for (std::size_t b = 0; b < problem.blocks.size(); ++b) {
      const auto& block = problem.blocks[b];
      const MatrixXd columns = J.block(at, block.first, 3, block.size);
      if (columns.isZero(0)) continue;
      system.entries.push_back({static_cast<int>(b), 0, block.size, system.values.size()});
      system.values.insert(system.values.end(), columns.data(), columns.data() + columns.size());
    }
    rows.num_entries = static_cast<int>(system.entries.size()) - rows.first_entry;
    system.contacts.push_back(rows);
    guess.push_back(impulses.segment<3>(at) / problem.h);
  }
  const solvers::WholeIsland whole(system);
  given.island = whole.view();
  solvers::NonsmoothOptions options;
  options.newton_iterations = 1;
  solvers::NonsmoothNewton solver;
  solvers::NonsmoothResult result;
  EXPECT_TRUE(solver.Solve(given, guess, {}, options, &result));
  return result.residuals.front();
}

// Siconos has the normal first.
VectorXd NormalFirst(const VectorXd& x) {
  VectorXd turned(x.size());
  for (Eigen::Index i = 0; i < x.size(); i += 3) turned.segment<3>(i) << x[i + 2], x[i], x[i + 1];
  return turned;
}

VectorXd NormalLast(const VectorXd& x) {
  VectorXd turned(x.size());
  for (Eigen::Index i = 0; i < x.size(); i += 3) turned.segment<3>(i) << x[i + 1], x[i + 2], x[i];
  return turned;
}

class Siconos {
 public:
  explicit Siconos(const Reduced& reduced) : mu_(reduced.friction), q_(NormalFirst(reduced.q)) {
    // rows and columns
    W_.resize(reduced.W.rows(), reduced.W.cols());
    for (Eigen::Index j = 0; j < W_.cols(); ++j) W_.col(j) = NormalFirst(reduced.W.col(j));
    const MatrixXd rows = W_;
    for (Eigen::Index i = 0; i < W_.rows(); ++i)
      W_.row(i) = NormalFirst(rows.row(i).transpose()).transpose();
    matrix_.reset(NM_create_from_data(NM_DENSE, static_cast<int>(W_.rows()),
                                      static_cast<int>(W_.cols()), W_.data()));
    problem_.dimension = 3;
    problem_.numberOfContacts = static_cast<int>(mu_.size());
    problem_.M = matrix_.get();
    problem_.q = q_.data();
    problem_.mu = mu_.data();
    options_ = solver_options_create(SICONOS_FRICTION_3D_NSGS);
    options_->dparam[SICONOS_DPARAM_TOL] = 1e-12;
    options_->iparam[SICONOS_IPARAM_MAX_ITER] = 200000;
  }
  ~Siconos() {
    solver_options_delete(options_);
    free(options_);
  }
  Siconos(const Siconos&) = delete;
  Siconos& operator=(const Siconos&) = delete;

  VectorXd Solve() {
    VectorXd r = VectorXd::Zero(q_.size()), u = VectorXd::Zero(q_.size());
    fc3d_driver(&problem_, r.data(), u.data(), options_);
    return NormalLast(r);
  }

  // Error of Siconos's natural map at these impulses, relative to ‖q‖.
  double CalcError(const VectorXd& impulses) {
    VectorXd r = NormalFirst(impulses), u = VectorXd::Zero(q_.size());
    double error = 0;
    fc3d_compute_error(&problem_, r.data(), u.data(), 1e-8, options_, q_.norm(), &error);
    return error;
  }

 private:
  struct FreeHeader {
    // the numbers are ours
    void operator()(NumericsMatrix* matrix) const {
      matrix->matrix0 = nullptr;
      NM_clear(matrix);
      free(matrix);
    }
  };
  std::vector<double> mu_;
  VectorXd q_;
  MatrixXd W_;
  std::unique_ptr<NumericsMatrix, FreeHeader> matrix_;
  FrictionContactProblem problem_{};
  SolverOptions* options_;
};

TEST(ExchangeWithSiconos, SoftCubeThatSticksAndSlidesHasOneSolution) {
  const ContactProblem problem = SolveStep(kSoftCube, 3);
  ASSERT_GE(problem.contacts.size(), 50u);
  const Reduced reduced = Reduce(problem);
  Eigen::LDLT<MatrixXd> factor(reduced.W);
  ASSERT_GT(factor.vectorD().minCoeff(), 1e-9 * factor.vectorD().maxCoeff());  // full rank
  Siconos siconos(reduced);
  EXPECT_LT(siconos.CalcError(reduced.r), 1e-8);
  const VectorXd theirs = siconos.Solve();
  EXPECT_LT(siconos.CalcError(theirs), 1e-8);
  EXPECT_LT(CalcOurResidual(problem, theirs), 1e-8);
  EXPECT_LT(CalcOurResidual(problem, reduced.r), 1e-8);
  EXPECT_LT((theirs - reduced.r).norm(), 1e-6 * reduced.r.norm());
  // some contacts stick and some slip
  int sticks = 0, slips = 0;
  for (std::size_t c = 0; c < problem.contacts.size(); ++c) {
    const Vector3d& impulse = problem.contacts[c].impulse;
    if (impulse.z() <= 1e-9) continue;
    (impulse.head<2>().norm() < 0.299 * impulse.z() ? sticks : slips) += 1;
  }
  EXPECT_GT(sticks, 10);
  EXPECT_GT(slips, 10);
}

TEST(ExchangeWithSiconos, ColumnsOfBoxesAreSolvedAsEachSeesThem) {
  const ContactProblem problem = SolveStep(StackBoxes(), 4);
  ASSERT_GE(problem.contacts.size(), 50u);
  const Reduced reduced = Reduce(problem);
  Siconos siconos(reduced);
  EXPECT_LT(siconos.CalcError(reduced.r), 1e-8);
  const VectorXd theirs = siconos.Solve();
  EXPECT_LT(siconos.CalcError(theirs), 1e-8);
  EXPECT_LT(CalcOurResidual(problem, theirs), 1e-8);
  // forces are not unique; what they do is
  EXPECT_LT((reduced.W * (theirs - reduced.r)).norm(), 1e-6 * reduced.q.norm());
}

// The residuals detect a wrong impulse.
TEST(ExchangeWithSiconos, WrongForcesAreSeenByBoth) {
  const ContactProblem problem = SolveStep(kSoftCube, 3);
  const Reduced reduced = Reduce(problem);
  Siconos siconos(reduced);
  VectorXd wrong = reduced.r;
  wrong[2] *= 1.01;
  EXPECT_GT(siconos.CalcError(wrong), 1e-8);
  EXPECT_GT(CalcOurResidual(problem, wrong), 1e-8);
}
#else
TEST(ExchangeWithSiconos, IsNotInstalled) {
  GTEST_SKIP() << "apt-get install libsiconos-numerics-dev";
}
#endif

}  // namespace
}  // namespace pliant::physics
