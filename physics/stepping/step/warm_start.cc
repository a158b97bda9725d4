#include "physics/stepping/step/warm_start.h"

#include <algorithm>
#include <cmath>

#include "solvers/problem/friction_cone.h"

namespace pliant::physics {

using Eigen::Vector3d;
using solvers::ConstraintSystem;

namespace {

void RecallContacts(const State& state, const std::vector<ContactPoint>& contacts,
                    WarmStart* warm_start) {
  warm_start->contacts.assign(contacts.size(), Vector3d::Zero());
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    const ContactPoint& contact = contacts[c];
    const ContactMemory* memory = FindContactMemory(state.contacts, contact.key);
    if (memory == nullptr) continue;
    // the contact frame may have turned since, which tilts the impulse out of the cone
    warm_start->contacts[c] =
        solvers::ClipToCone(contact.R_WC.transpose() * memory->impulse_W, contact.friction);
  }
}

bool HasMap(const StepBlocks& blocks, int block) {
  return block != kWorldBlock && blocks.abilities[block].map != nullptr;
}

// Slip speed of a contact, with the velocities of the State on sides that have a map, else v.
double CalcSlip(const State& state, const StepBlocks& blocks, const Participation& participation,
                const ContactPoint& point, const ConstraintSystem& system,
                const ConstraintSystem::Contact& contact, std::span<const double> v) {
  Vector3d velocity = contact.bias;
  for (const ConstraintSystem::Entry& entry : system.entries_of(contact)) {
    const Participation::Block& block = participation.blocks[entry.block];
    if (HasMap(blocks, block.block)) continue;
    system.ForEachRun(entry, [&](int first, int columns, const double* J) {
      for (int j = 0; j < columns; ++j)
        velocity += v[first + j] * Eigen::Map<const Vector3d>(J + 3 * j);
    });
  }
  for (const Attachment* side : {&point.a, &point.b}) {
    if (!HasMap(blocks, side->block)) continue;
    const Vector3d of_side = blocks.model.abilities[side->block].nodes->CalcPointVelocity(
        blocks.model.StateOf(state, side->block), *side);
    velocity += (side == &point.b ? 1.0 : -1.0) * (point.R_WC.transpose() * of_side);
  }
  return velocity.head<2>().norm();
}

void RecallSlips(const State& state, const StepBlocks& blocks, const Participation& participation,
                 const std::vector<ContactPoint>& contacts, const ConstraintSystem& system,
                 WarmStart* warm_start) {
  warm_start->slips.assign(contacts.size(), 0.0);
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    // only a contact that bore an impulse is predicted to slip
    if (warm_start->contacts[c].z() > 0 &&
        (HasMap(blocks, contacts[c].a.block) || HasMap(blocks, contacts[c].b.block)))
      warm_start->slips[c] = CalcSlip(state, blocks, participation, contacts[c], system,
                                      system.contacts[c], warm_start->v);
  }
}

void RecallRows(const State& state, const Participation& participation,
                const ConstraintSet& constraints, const ConstraintSystem& system,
                WarmStart* warm_start) {
  auto& row_keys = warm_start->row_keys;
  row_keys.clear();
  for (int k = 0; k < static_cast<int>(system.rows.size()); ++k) {
    const ConstraintRow& row = constraints.rows[k];
    const int index = system.entries[system.rows[k].first_entry].block;
    row_keys.push_back({{row.source, participation.blocks[index].block, row.index, k}, k});
  }
  // usually sorted already
  if (!std::ranges::is_sorted(row_keys)) std::ranges::sort(row_keys);
  warm_start->rows.assign(system.rows.size(), 0.0);
  auto memory = state.constraints.begin();
  ConstraintMemory::Key last;
  for (auto& [key, k] : row_keys) {
    // number rows with the same source, block and index in their order
    const bool is_next =
        key.source == last.source && key.block == last.block && key.index == last.index;
    key.part = is_next ? last.part + 1 : 0;
    last = key;
    while (memory != state.constraints.end() && memory->key < key) ++memory;
    if (memory != state.constraints.end() && memory->key == key)
      warm_start->rows[k] = memory->impulse;
  }
}

}  // namespace

void Recall(const State& state, std::span<const double> v, const StepBlocks& blocks,
            const Participation& participation, const std::vector<ContactPoint>& contacts,
            const ConstraintSet& constraints, const ConstraintSystem& system,
            WarmStart* warm_start) {
  GatherParticipants(v, blocks, participation, &warm_start->v);
  RecallContacts(state, contacts, warm_start);
  RecallSlips(state, blocks, participation, contacts, system, warm_start);
  RecallRows(state, participation, constraints, system, warm_start);
}

void KeepConstraintImpulses(const solvers::Impulses& impulses, const StepBlocks& blocks,
                            const WarmStart& warm_start, State* state) {
  std::erase_if(state->constraints, [&](const ConstraintMemory& memory) {
    return blocks.is_posed[memory.key.block] != 0;
  });
  for (const auto& [key, k] : warm_start.row_keys)
    if (impulses.rows[k] != 0) state->constraints.push_back({key, impulses.rows[k]});
  const auto is_less = [](const ConstraintMemory& a, const ConstraintMemory& b) {
    return a.key < b.key;
  };
  // those of sleeping blocks come first and may be out of order
  if (!std::ranges::is_sorted(state->constraints, is_less))
    std::ranges::sort(state->constraints, is_less);
}

}  // namespace pliant::physics
