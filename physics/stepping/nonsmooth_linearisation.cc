#include "physics/stepping/nonsmooth_linearisation.h"

#include <algorithm>
#include <cmath>

#include "solvers/problem/whole_island.h"

namespace pliant::physics {

using Eigen::Vector3d;
using solvers::ConstraintSystem;
using solvers::CorrectiveContact;
using solvers::FixedLinearisation;
using solvers::NonsmoothProblem;

namespace {

// Tolerance relative to that of the sweeps: Newton's method converges fast at the end.
constexpr double kTolerance = 1e-2;
constexpr int kMaxIterations = 50;

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
    added.bias.head<2>() = given.displacements[i].head<2>() / given.h;
    added.W = given.diagonals[i];
    solved_.push_back(i);
  }
  num_contacts_ = static_cast<int>(solved_.size());
  for (int i = 0; i < count; ++i) {
    if (contacts[i].is_in_tangent || !solvers::IsScalar(contacts[i])) continue;
    ConstraintSystem::Row& added = system_.rows.emplace_back();
    added.first_entry = static_cast<int>(system_.entries.size());
    added.num_entries = add_entries(i, 1);
    added.W = given.diagonals[i](2, 2);
    solved_.push_back(i);
  }
}

bool NonsmoothLinearisation::Solve(const FixedLinearisation& given,
                                   std::vector<Vector3d>* impulses) {
  MakeSystem(given);
  const solvers::WholeIsland island(system_);
  const double h = given.h;
  problem_.Clear();
  problem_.h = h;
  problem_.island = island.view();
  contact_guess_.clear();
  row_guess_.clear();
  double scale = 0;  // the largest velocity that an impulse gives, or takes away [m/s]
  for (int k = 0; k < static_cast<int>(solved_.size()); ++k) {
    const int i = solved_[k];
    const CorrectiveContact& contact = given.problem.contacts[i];
    const Vector3d& guess = (*impulses)[i];
    scale = std::max(scale, given.diagonals[i](2, 2) * std::abs(guess.z()));
    scale = std::max(scale, -given.displacements[i].z() / h);
    // h (v + R λ) with the impulse λ, as compliance times force
    const double gap = given.displacements[i].z(), compliance = h * h * contact.compliance;
    if (k < num_contacts_) {
      problem_.contacts.push_back({gap, compliance, contact.friction});
      contact_guess_.push_back(guess / h);
    } else {
      problem_.rows.push_back({gap, compliance, contact.lower / h, contact.upper / h});
      row_guess_.push_back(guess.z() / h);
    }
  }
  solvers::NonsmoothOptions options;
  options.friction = solvers::NonsmoothOptions::Friction::kFixedPointThenCone;
  options.newton_iterations = kMaxIterations;
  options.tolerance = kTolerance * given.tolerance * h * scale;
  if (!newton_.Solve(problem_, contact_guess_, row_guess_, options, &result_)) return false;
  for (int k = 0; k < static_cast<int>(solved_.size()); ++k) {
    Vector3d& impulse = (*impulses)[solved_[k]];
    if (k < num_contacts_) {
      impulse = h * result_.contact_forces[k];
    } else {
      impulse.z() = h * result_.row_forces[k - num_contacts_];
    }
  }
  return true;
}

}  // namespace pliant::physics
