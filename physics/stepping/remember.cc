#include <algorithm>
#include <cmath>

#include "physics/stepping/posed_step.h"

namespace pliant::physics {

using Eigen::Vector3d;

void PosedStep::Recall(const State& state) {
  remembered_.assign(contacts_.size(), Vector3d::Zero());
  for (std::size_t c = 0; c < contacts_.size(); ++c) {
    const ContactPoint& contact = contacts_[c];
    const ContactMemory* memory = FindContactMemory(state.contacts, contact.key);
    if (memory == nullptr) continue;
    Vector3d& impulse = remembered_[c];
    impulse = contact.R_WC.transpose() * memory->impulse_W;
    // a turned frame may have tilted it out of the cone
    impulse.z() = std::max(impulse.z(), 0.0);
    const double length = std::sqrt(impulse.x() * impulse.x() + impulse.y() * impulse.y());
    if (length > contact.friction * impulse.z())
      impulse.head<2>() *= contact.friction * impulse.z() / length;
  }
}

void PosedStep::RecallConstraints(const State& state) {
  keyed_constraints_.clear();
  for (int k = 0; k < static_cast<int>(scalar_rows_.size()); ++k) {
    const ConstraintRow& row = constraints_.rows[k];
    const int block = active_[entries_[scalar_rows_[k].first_entry].active].block;
    keyed_constraints_.push_back({{row.source, block, row.index, k}, k});
  }
  // as they come, most of the time
  if (!std::ranges::is_sorted(keyed_constraints_)) std::ranges::sort(keyed_constraints_);
  remembered_constraints_.assign(scalar_rows_.size(), 0.0);
  auto memory = state.constraints.begin();
  ConstraintMemory::Key last;
  for (auto& [key, k] : keyed_constraints_) {
    // several of one source and index are told apart by their order
    const bool is_next =
        key.source == last.source && key.block == last.block && key.index == last.index;
    key.part = is_next ? last.part + 1 : 0;
    last = key;
    while (memory != state.constraints.end() && memory->key < key) ++memory;
    if (memory != state.constraints.end() && memory->key == key)
      remembered_constraints_[k] = memory->impulse;
  }
}

void PosedStep::KeepConstraints(const Impulses& impulses, State* state) const {
  std::erase_if(state->constraints, [this](const ConstraintMemory& memory) {
    return is_posed_[memory.key.block] != 0;
  });
  for (const auto& [key, k] : keyed_constraints_)
    if (impulses.constraints[k] != 0) state->constraints.push_back({key, impulses.constraints[k]});
  const auto is_less = [](const ConstraintMemory& a, const ConstraintMemory& b) {
    return a.key < b.key;
  };
  // those of sleepers came first
  if (!std::ranges::is_sorted(state->constraints, is_less))
    std::ranges::sort(state->constraints, is_less);
}

// What carried an impulse is remembered: for warm starts and anchors, and so that sliding contacts persist.
void PosedStep::RememberContacts(const Impulses& impulses, State* state, StepReport* report) {
  last_contacts_.swap(state->contacts);
  state->contacts.clear();
  const auto remember = [&](const ContactPoint& contact, const Vector3d& impulse_W) {
    state->contacts.push_back({contact.key, impulse_W});
  };
  const auto tell = [&](const ContactPoint& contact, const Vector3d& impulse_W) {
    report->contacts.push_back({contact.body_a,
                                contact.body_b,
                                contact.p_W,
                                contact.R_WC.col(2),
                                contact.gap,
                                impulse_W,
                                {contact.a.num_nodes, contact.a.nodes, contact.a.weights},
                                {contact.b.num_nodes, contact.b.nodes, contact.b.weights}});
  };
  for (std::size_t c = 0; c < contacts_.size(); ++c) {
    const ContactPoint& contact = contacts_[c];
    const Vector3d& impulse = impulses.contacts[c];
    const Vector3d impulse_W = contact.R_WC * impulse;
    tell(contact, impulse_W);
    if (!(impulse.z() > 0)) continue;
    remember(contact, impulse_W);
    const double tangential = std::sqrt(impulse.x() * impulse.x() + impulse.y() * impulse.y());
    report->cone_violation = std::max(report->cone_violation,
                                      (tangential - contact.friction * impulse.z()) / impulse.z());
  }
  for (const ContactPoint& contact : resting_contacts_) {
    const ContactMemory* memory = FindContactMemory(last_contacts_, contact.key);
    tell(contact, memory != nullptr ? memory->impulse_W : Vector3d(Vector3d::Zero()));
    if (memory != nullptr) remember(contact, memory->impulse_W);
  }
  SortContactMemories(&state->contacts, &sorting_);
}

// Tells what constraints exerted, those of sleepers included, and keeps the latter.
void PosedStep::RememberConstraints(const Impulses& impulses, State* state, StepReport* report) {
  std::erase_if(state->resting_constraints,
                [this](const ConstraintForce& force) { return !sleepers_.sleeps(force.block); });
  report->constraint_forces.assign(state->resting_constraints.begin(),
                                   state->resting_constraints.end());
  for (std::size_t k = 0; k < scalar_rows_.size(); ++k) {
    const ConstraintRow& row = constraints_.rows[k];
    ConstraintForce force;
    force.source = row.source;
    force.block = active_[entries_[scalar_rows_[k].first_entry].active].block;
    force.index = row.index;
    force.error = row.error;
    force.impulse = impulses.constraints[k];
    const ConstraintTerm* terms = &constraints_.terms[row.first_term];
    if (row.source == ConstraintSource::kConstraint && terms[0].velocity < 0) {
      force.p_A = terms[0].attachment.p_W;
      force.p_B = terms[1].attachment.p_W;
      force.linear_W = terms[1].linear_W;
      force.angular_W = terms[1].angular_W;
    }
    report->constraint_forces.push_back(force);
    if (sleepers_.sleeps(force.block)) state->resting_constraints.push_back(force);
  }
  report->efforts.assign(model_.actuators.size(), 0.0);
  for (std::size_t i = 0; i < model_.actuators.size(); ++i) {
    const Actuator::Kind kind = model_.actuators[i].kind;
    if (kind == Actuator::Kind::kTorque || kind == Actuator::Kind::kActivation)
      report->efforts[i] = CalcTorque(model_.actuators[i], controls_[i]);
  }
  for (const ConstraintForce& force : report->constraint_forces) {
    if (force.source == ConstraintSource::kActuator)
      report->efforts[force.index] += force.impulse / settings_.h;
  }
}

}  // namespace pliant::physics
