#include "physics/stepping/nonsmooth_linearisation.h"

#include <algorithm>
#include <cmath>

#include "physics/dynamics/abilities/frames.h"
#include "solvers/nonsmooth/near_rigid_contacts.h"

namespace pliant::physics {

using Eigen::Vector3d;
using solvers::ConstraintSystem;
using solvers::ConvexProblem;
using solvers::CorrectiveContact;
using solvers::FixedLinearisation;
using solvers::IslandView;

namespace {

// Tolerances, relative to that of the impulses.
constexpr double kStepTolerance = 0.1, kConeTolerance = 1e-2;
constexpr int kMaxSteps = 30, kMaxConeIterations = 150;
// Tolerance of the velocities, relative to the largest one, that show whether bodies are squeezed.
constexpr double kSqueezeTolerance = 1e-6;

}  // namespace

void NonsmoothLinearisation::MakeSystem(const FixedLinearisation& given) {
  system_.h = given.h;
  system_.blocks.clear();
  system_.num_velocities = 0;
  for (const solvers::MappingCompliance::Block& block : given.problem.blocks) {
    ConstraintSystem::Block& added = system_.blocks.emplace_back();
    added.first = block.first_velocity;
    added.size = block.size;
    added.A = std::span(block.A, std::size_t(block.size) * block.size);
    system_.num_velocities = std::max(system_.num_velocities, added.first + added.size);
  }
  system_.v_star.assign(system_.num_velocities, 0.0);
  system_.linear_term.assign(system_.num_velocities, 0.0);
  system_.contacts.clear();
  system_.rows.clear();
  system_.entries.clear();
  system_.values.clear();
  solved_.clear();
  // appends the last `height` rows of J of a contact
  const auto add_entries = [&](int contact, int height) {
    const std::size_t first_entry = system_.entries.size();
    auto entry = std::ranges::lower_bound(given.entries, contact, {},
                                          &solvers::DelassusOperator::Entry::contact);
    for (; entry != given.entries.end() && entry->contact == contact; ++entry) {
      // angular and linear motion of a frame, or two frames of a tree, share velocities
      std::size_t at = first_entry;
      const auto is_same = [&](const ConstraintSystem::Entry& added) {
        return added.block == entry->block && added.first == entry->first &&
               added.columns == entry->columns;
      };
      while (at < system_.entries.size() && !is_same(system_.entries[at])) ++at;
      if (at == system_.entries.size()) {
        system_.entries.push_back(
            {entry->block, entry->first, entry->columns, system_.values.size()});
        system_.values.resize(system_.values.size() + std::size_t(height) * entry->columns, 0.0);
      }
      double* to = &system_.values[system_.entries[at].values];
      const double* J = given.values.data() + entry->values;
      for (int j = 0; j < entry->columns; ++j) {
        for (int r = 0; r < height; ++r) to[j * height + r] += J[3 * j + 3 - height + r];
      }
    }
    return static_cast<int>(system_.entries.size() - first_entry);
  };
  const std::vector<CorrectiveContact>& contacts = given.problem.contacts;
  const int count = static_cast<int>(contacts.size());
  for (int i = 0; i < count; ++i) {
    if (contacts[i].is_in_tangent || solvers::IsScalar(contacts[i])) continue;
    ConstraintSystem::Contact& added = system_.contacts.emplace_back();
    added.first_entry = static_cast<int>(system_.entries.size());
    added.num_entries = add_entries(i, 3);
    added.bias = given.displacements[i] / given.h;
    if (given.is_exact) added.bias.z() = 0;  // the normal part is the gap
    added.W = given.diagonals[i];
    solved_.push_back(i);
  }
  num_contacts_ = static_cast<int>(solved_.size());
  for (int i = 0; i < count; ++i) {
    if (contacts[i].is_in_tangent || !solvers::IsScalar(contacts[i])) continue;
    ConstraintSystem::Row& added = system_.rows.emplace_back();
    added.first_entry = static_cast<int>(system_.entries.size());
    added.num_entries = add_entries(i, 1);
    added.bias = given.is_exact ? 0 : given.displacements[i].z() / given.h;
    added.W = given.diagonals[i](2, 2);
    solved_.push_back(i);
  }
}

void NonsmoothLinearisation::StepProximally(const FixedLinearisation& given,
                                            const IslandView& island,
                                            std::vector<Vector3d>* impulses) {
  convex_problem_.Clear();
  convex_problem_.island = island;
  // a contact that no impulse moves gets scale 1
  const auto positive = [](double R) { return R > 0 ? R : 1.0; };
  for (const int c : island.contacts) {
    const int i = solved_[c];
    const CorrectiveContact& contact = given.problem.contacts[i];
    const Eigen::Matrix3d& W = given.diagonals[i];
    const Vector3d& last = (*impulses)[i];
    ConvexProblem::Contact& added = convex_problem_.contacts.emplace_back();
    const double R_t = given.proximal * 0.5 * (W(0, 0) + W(1, 1)), R_n = given.proximal * W(2, 2);
    added.R = Vector3d(positive(R_t), positive(R_t), positive(R_n + contact.compliance));
    added.friction = contact.friction;
    added.v_hat = Vector3d(R_t, R_t, R_n).cwiseProduct(last);
    added.v_hat.z() -= contact.friction * std::sqrt(given.rates[i].head<2>().squaredNorm());
    added.expected = last;
  }
  for (const int k : island.rows) {
    const int i = solved_[num_contacts_ + k];
    const CorrectiveContact& row = given.problem.contacts[i];
    const double R = given.proximal * given.diagonals[i](2, 2);
    convex_problem_.rows.push_back(
        {positive(R + row.compliance), R * (*impulses)[i].z(), row.lower, row.upper});
  }
  solvers::SapOptions options;
  options.relative_tolerance = kStepTolerance * given.tolerance;
  options.max_iterations = kMaxSteps;
  island.Gather(given.velocities, &velocity_guess_);
  sap_.Solve(convex_problem_, velocity_guess_, options, &step_);
  for (int c = 0; c < island.num_contacts(); ++c)
    (*impulses)[solved_[island.contacts[c]]] = step_.gamma[c];
  for (int k = 0; k < island.num_rows(); ++k)
    (*impulses)[solved_[num_contacts_ + island.rows[k]]].z() = step_.row_gamma[k];
}

double NonsmoothLinearisation::PoseOnCones(const FixedLinearisation& given,
                                           const IslandView& island,
                                           std::span<const Vector3d> impulses) {
  const double h = given.h;
  cone_problem_.Clear();
  cone_problem_.h = h;
  cone_problem_.island = island;
  contact_guess_.clear();
  row_guess_.clear();
  double scale = 0;  // largest velocity that an impulse causes or stops [m/s]
  const auto measure = [&](int i) {
    scale = std::max(scale, given.diagonals[i](2, 2) * std::abs(impulses[i].z()));
    scale = std::max(scale, -given.displacements[i].z() / h);
  };
  // the problem's compliance is h² times that of impulses: h (v + R λ)
  for (const int c : island.contacts) {
    const int i = solved_[c];
    const CorrectiveContact& contact = given.problem.contacts[i];
    measure(i);
    cone_problem_.contacts.push_back(
        {given.displacements[i].z(), h * h * contact.compliance, contact.friction});
    contact_guess_.push_back(impulses[i] / h);
  }
  for (const int k : island.rows) {
    const int i = solved_[num_contacts_ + k];
    const CorrectiveContact& row = given.problem.contacts[i];
    measure(i);
    cone_problem_.rows.push_back(
        {given.displacements[i].z(), h * h * row.compliance, row.lower / h, row.upper / h});
    row_guess_.push_back(impulses[i].z() / h);
  }
  return scale;
}

bool NonsmoothLinearisation::SolveOnCones(const FixedLinearisation& given, const IslandView& island,
                                          std::vector<Vector3d>* impulses) {
  const double h = given.h, scale = PoseOnCones(given, island, *impulses);
  solvers::NonsmoothOptions options;
  // with compliant contacts, the fixed point is fast and reliable
  using Friction = solvers::NonsmoothOptions::Friction;
  const bool is_compliant = std::ranges::any_of(
      cone_problem_.contacts, [](const auto& contact) { return contact.compliance > 0; });
  options.friction = is_compliant ? Friction::kFixedPointThenCone : Friction::kCone;
  options.newton_iterations = kMaxConeIterations;
  options.tolerance = kConeTolerance * given.tolerance * h * scale;
  if (!cone_newton_.Solve(cone_problem_, contact_guess_, row_guess_, options, &forces_))
    return false;
  for (int c = 0; c < island.num_contacts(); ++c)
    (*impulses)[solved_[island.contacts[c]]] = h * forces_.contact_forces[c];
  for (int k = 0; k < island.num_rows(); ++k)
    (*impulses)[solved_[num_contacts_ + island.rows[k]]].z() = h * forces_.row_forces[k];
  return true;
}

bool NonsmoothLinearisation::PressNearRigidly(const FixedLinearisation& given,
                                              const IslandView& island, double stiffer,
                                              std::vector<double>* pressed) {
  const double h = given.h, scale = PoseOnCones(given, island, no_impulses_);
  if (!solvers::MakeNearRigid(stiffer, FrameSet::kRigidBeta, &cone_problem_)) return false;
  solvers::NonsmoothOptions options;
  options.friction = solvers::NonsmoothOptions::Friction::kFixedPoint;
  options.tolerance = kSqueezeTolerance * h * scale;
  if (!cone_newton_.Solve(cone_problem_, contact_guess_, row_guess_, options, &forces_))
    return false;
  solvers::GetPressures(cone_problem_, forces_, pressed);
  return forces_.converged;
}

bool NonsmoothLinearisation::IsSqueezed(const FixedLinearisation& given) {
  MakeSystem(given);
  FindIslands(system_, &islands_);
  no_impulses_.assign(given.problem.contacts.size(), Vector3d::Zero());
  return std::ranges::any_of(islands_.views, [&](const IslandView& island) {
    return PressNearRigidly(given, island, 1, &pressed_) &&
           PressNearRigidly(given, island, solvers::kStiffer, &harder_) &&
           solvers::IsSqueezed(pressed_, harder_);
  });
}

bool NonsmoothLinearisation::Solve(const FixedLinearisation& given,
                                   std::vector<Vector3d>* impulses) {
  MakeSystem(given);
  FindIslands(system_, &islands_);
  for (const IslandView& island : islands_.views) {
    if (island.contacts.empty() && island.rows.empty()) continue;
    if (!given.is_exact) {
      StepProximally(given, island, impulses);
    } else if (!SolveOnCones(given, island, impulses)) {
      return false;
    }
  }
  return std::ranges::all_of(*impulses, [](const Vector3d& x) { return x.allFinite(); });
}

}  // namespace pliant::physics
