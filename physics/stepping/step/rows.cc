#include "physics/stepping/step/rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "physics/contact/constraint_rows.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using solvers::ConstraintSystem;

void GroupTable::Clear() {
  count_ = 0;
  if (++age_ != 0) return;
  // the age has wrapped around
  std::ranges::fill(slots_, Slot{});
  age_ = 1;
}

GroupTable::Slot* GroupTable::Find(int block, int group) {
  const std::size_t mask = slots_.size() - 1;
  const std::uint64_t mixed =
      (std::uint64_t(std::uint32_t(block)) << 32 | std::uint32_t(group)) * 0x9E3779B97F4A7C15u;
  std::size_t at = (mixed >> 40) & mask;
  while (slots_[at].age == age_ && (slots_[at].block != block || slots_[at].group != group))
    at = (at + 1) & mask;
  return &slots_[at];
}

int GroupTable::FindOrHash(int block, int group, int entry) {
  if (2 * (count_ + 1) > slots_.size()) {
    std::vector<Slot> old(std::max<std::size_t>(4 * kMaxListed, 2 * slots_.size()));
    slots_.swap(old);
    for (const Slot& slot : old)
      if (slot.age == age_) *Find(slot.block, slot.group) = slot;
  }
  if (count_ == kMaxListed) {
    for (const Listed& listed : list_)
      *Find(listed.block, listed.group) = {age_, listed.block, listed.group, listed.entry};
  }
  Slot* slot = Find(block, group);
  if (slot->age == age_) return slot->entry;
  *slot = {age_, block, group, entry};
  ++count_;
  return entry;
}

namespace {

// Returns the values of the current contact or row on a group, adding an entry of zeros if it has
// none.
double* FindOrAddEntry(int height, int block, int group, int num_columns, RowBuffer* buffer) {
  const int next = static_cast<int>(buffer->entries.size());
  const int entry = buffer->table.FindOrAdd(block, group, next);
  if (entry < next) return &buffer->values[buffer->entries[entry].values];
  buffer->entries.push_back({block, group, 0, num_columns, buffer->values.size()});
  buffer->values.resize(buffer->values.size() + std::size_t(height) * num_columns, 0.0);
  return &buffer->values[buffer->entries.back().values];
}

// Adds the entry w Q of a contact, Q = sign R_WCᵀ. Nodes are stored once for successive contacts
// on the same ones.
void AddWeightedEntry(int block, double sign, const Matrix3d& R_WC,
                      const BlockRows::Weighted& weighted, RowBuffer* buffer) {
  const std::span<const int> last = std::span(buffer->nodes).subspan(buffer->last_first_node);
  if (block != buffer->last_block || !std::ranges::equal(weighted.groups, last)) {
    buffer->last_block = block;
    buffer->last_first_node = static_cast<int>(buffer->nodes.size());
    buffer->nodes.insert(buffer->nodes.end(), weighted.groups.begin(), weighted.groups.end());
  }
  RowBuffer::Entry entry{block, -1, 0, 3, buffer->values.size()};
  entry.first_node = buffer->last_first_node;
  entry.num_nodes = static_cast<int>(weighted.groups.size());
  buffer->entries.push_back(entry);
  for (int j = 0; j < 3; ++j)
    for (int r = 0; r < 3; ++r) buffer->values.push_back(sign * R_WC(j, r));
  buffer->values.insert(buffer->values.end(), weighted.weights.begin(), weighted.weights.end());
}

// Largest distance by which a gap that would close within the step is held open [m].
constexpr double kHeldGap = 1e-5;

// Gap that contact laws use. A contact that would close within the step is held slightly open: the
// nonsmooth Newton method would otherwise leave gaps and impulses of zero, at which
// complementarity is degenerate and a step may not converge.
double CalcLawGap(const ContactPoint& contact, double h) {
  // a collision with restitution finds the time at which the gap closes
  if (contact.restitution > 0) return contact.gap;
  const double ahead = contact.gap + h * contact.gap_rate;
  if (!(contact.gap_rate < 0) || !(ahead < 0)) return contact.gap;
  return contact.gap - std::min(kHeldGap, -ahead);
}

// Lever arms up to this length are rounding errors of positions [m].
constexpr double kMinLever = 1e-14;

// Removes the entries of a contact that no velocity moves, such as one on the axis of a hinge: its
// impulse would be undetermined.
void DropUnmoved(std::size_t first_value, ConstraintSystem::Contact* contact, RowBuffer* buffer) {
  const bool is_moved =
      std::any_of(buffer->values.begin() + static_cast<std::ptrdiff_t>(first_value),
                  buffer->values.end(), [](double x) { return std::abs(x) > kMinLever; });
  if (is_moved) return;
  buffer->entries.resize(contact->first_entry);
  buffer->values.resize(first_value);
  contact->num_entries = 0;
}

// J = R_WCᵀ (J_B − J_A)
ConstraintSystem::Contact BuildContact(const StepBlocks& blocks, const ContactPoint& contact,
                                       RowBuffer* buffer) {
  ConstraintSystem::Contact result;
  const std::size_t first_value = buffer->values.size();
  result.first_entry = static_cast<int>(buffer->entries.size());
  result.gap = CalcLawGap(contact, blocks.stage.h);
  result.friction = contact.friction;
  result.stiffness = contact.stiffness;
  result.relaxation_time = contact.relaxation_time;
  buffer->table.Clear();
  const Matrix3d& R_WC = contact.R_WC;
  for (const double sign : {-1.0, 1.0}) {
    const Attachment& side = sign < 0 ? contact.a : contact.b;
    if (side.block == kWorldBlock) continue;
    const BlockStep& step = *blocks.steps[side.block];
    buffer->block_rows.Clear();
    step.AppendRows(side, &buffer->block_rows);
    result.bias += sign * (R_WC.transpose() * buffer->block_rows.prescribed);
    // both sides may move the same groups of one block
    if (buffer->block_rows.is_by_weights() && contact.a.block != contact.b.block) {
      AddWeightedEntry(side.block, sign, R_WC, buffer->block_rows.weighted(), buffer);
      continue;
    }
    buffer->block_rows.ForEachPart([&](int group, int num_columns, const double* J) {
      double* to = FindOrAddEntry(3, side.block, group, num_columns, buffer);
      for (int j = 0; j < num_columns; ++j, J += 3, to += 3) {
        // most velocities of a tree do not move the point
        if (J[0] == 0 && J[1] == 0 && J[2] == 0) continue;
        for (int r = 0; r < 3; ++r) {
          to[r] += sign * (R_WC(0, r) * J[0] + R_WC(1, r) * J[1] + R_WC(2, r) * J[2]);
        }
      }
    });
  }
  result.num_entries = static_cast<int>(buffer->entries.size()) - result.first_entry;
  DropUnmoved(first_value, &result, buffer);
  return result;
}

// Builds ranges of contacts in parallel, each in its own buffer, and then joins the buffers.
void BuildContactsInStretches(const StepBlocks& blocks, std::span<const ContactPoint> contacts,
                              GroupRows* rows, ConstraintSystem* system) {
  const int count = static_cast<int>(contacts.size()), stretches = CountStretches(blocks, count);
  ForEachStretch(blocks, count, [&](int s, int begin, int end) {
    RowBuffer& buffer = rows->stretches[s];
    buffer.Clear();
    for (int c = begin; c < end; ++c)
      system->contacts[c] = BuildContact(blocks, contacts[c], &buffer);
  });
  std::size_t num_entries = 0, num_values = 0, num_nodes = 0;
  for (int s = 0; s < stretches; ++s) {
    RowBuffer& buffer = rows->stretches[s];
    buffer.first_entry = static_cast<int>(num_entries);
    buffer.first_value = num_values;
    buffer.first_node = static_cast<int>(num_nodes);
    num_entries += buffer.entries.size();
    num_values += buffer.values.size();
    num_nodes += buffer.nodes.size();
  }
  RowBuffer& all = rows->all;
  all.entries.resize(num_entries);
  all.values.resize(num_values);
  all.nodes.resize(num_nodes);
  ForEachStretch(blocks, count, [&](int s, int begin, int end) {
    RowBuffer& buffer = rows->stretches[s];
    for (RowBuffer::Entry& entry : buffer.entries) {
      entry.values += buffer.first_value;
      entry.first_node += buffer.first_node;
    }
    std::ranges::copy(buffer.nodes, all.nodes.begin() + buffer.first_node);
    std::ranges::copy(buffer.entries, all.entries.begin() + buffer.first_entry);
    std::ranges::copy(buffer.values, all.values.begin() + buffer.first_value);
    for (int c = begin; c < end; ++c) system->contacts[c].first_entry += buffer.first_entry;
  });
}

void BuildContacts(const StepBlocks& blocks, std::vector<ContactPoint>* contacts, GroupRows* rows,
                   ConstraintSystem* system) {
  const int count = static_cast<int>(contacts->size()), stretches = CountStretches(blocks, count);
  system->contacts.resize(count);
  if (static_cast<int>(rows->stretches.size()) < stretches) rows->stretches.resize(stretches);
  if (stretches == 1) {
    for (int c = 0; c < count; ++c)
      system->contacts[c] = BuildContact(blocks, (*contacts)[c], &rows->all);
  } else {
    BuildContactsInStretches(blocks, *contacts, rows, system);
  }

  // drop contacts without entries, which constrain nothing
  std::size_t kept = 0;
  for (int c = 0; c < count; ++c) {
    if (system->contacts[c].num_entries == 0) continue;
    if (static_cast<int>(kept) < c) {
      (*contacts)[kept] = std::move((*contacts)[c]);
      system->contacts[kept] = system->contacts[c];
    }
    ++kept;
  }
  contacts->erase(contacts->begin() + kept, contacts->end());
  system->contacts.resize(kept);
}

// Adds the rate of one term of a constraint.
void AddTerm(const StepBlocks& blocks, const ConstraintTerm& term, RowBuffer* buffer,
             ConstraintSystem::Row* row) {
  const Attachment& side = term.attachment;
  const BlockStep& step = *blocks.steps[side.block];
  const auto append = [&](const Vector3d& direction) {
    buffer->block_rows.ForEachPart([&](int group, int num_columns, const double* J) {
      double* to = FindOrAddEntry(1, side.block, group, num_columns, buffer);
      for (int j = 0; j < num_columns; ++j, J += 3)
        to[j] += direction.x() * J[0] + direction.y() * J[1] + direction.z() * J[2];
    });
  };
  buffer->block_rows.Clear();
  const StepAbilities& abilities = blocks.abilities[side.block];
  if (term.velocity >= 0 && abilities.joints != nullptr &&
      abilities.joints->AppendVelocityRow(term.velocity, &buffer->block_rows)) {
    append(Vector3d(term.factor, 0, 0));
    return;
  }
  if (term.velocity >= 0) {
    // one velocity of its group
    const int group = step.space().group_of_velocity(term.velocity);
    buffer->entries.push_back({side.block, group, term.velocity - step.space().group_offset(group),
                               1, buffer->values.size()});
    buffer->values.push_back(term.factor);
    return;
  }
  if (!term.linear_W.isZero(0)) {
    buffer->block_rows.Clear();
    step.AppendRows(side, &buffer->block_rows);
    append(term.linear_W);
    row->bias += term.linear_W.dot(buffer->block_rows.prescribed);
  }
  if (!term.angular_W.isZero(0)) {
    buffer->block_rows.Clear();
    abilities.frames->AppendAngularRows(side, &buffer->block_rows);
    append(term.angular_W);
    row->bias += term.angular_W.dot(buffer->block_rows.prescribed);
  }
}

void BuildConstraints(const StepBlocks& blocks, ConstraintSet* constraints, RowBuffer* buffer,
                      ConstraintSystem* system) {
  system->rows.clear();
  std::erase_if(constraints->rows, [&](const ConstraintRow& constraint) {
    ConstraintSystem::Row row;
    row.first_entry = static_cast<int>(buffer->entries.size());
    const double largest = blocks.stage.h * constraint.recovery_rate;
    row.error = std::clamp(constraint.error, -largest, largest);
    row.stiffness = constraint.stiffness;
    row.damping = constraint.damping;
    row.target_rate = constraint.target_rate;
    row.feedforward = constraint.feedforward;
    row.lower = constraint.lower;
    row.upper = constraint.upper;
    row.dry_friction = constraint.dry_friction;
    buffer->table.Clear();
    for (int t = 0; t < constraint.num_terms; ++t) {
      const ConstraintTerm& term = constraints->terms[constraint.first_term + t];
      if (term.attachment.block != kWorldBlock) AddTerm(blocks, term, buffer, &row);
    }
    row.num_entries = static_cast<int>(buffer->entries.size()) - row.first_entry;
    if (row.num_entries == 0) return true;
    system->rows.push_back(row);
    return false;
  });
}

}  // namespace

int CountStretches(const StepBlocks& blocks, int num_contacts) {
  return blocks.is_parallel ? std::max(1, num_contacts / kContactsInStretch) : 1;
}

void CollectConstraints(const State& state, const StepBlocks& blocks, std::vector<double>* scratch,
                        ConstraintSet* constraints) {
  constraints->Clear();
  const auto is_awake = [&](int block) { return !blocks.sleeping.sleeps(block); };
  for (int b = 0; b < blocks.count(); ++b) {
    const JointStep* joints = blocks.abilities[b].joints;
    if (joints != nullptr && is_awake(b)) joints->AppendConstraints(b, constraints);
  }
  AppendActuatorRows(blocks.model, state, blocks.controls, blocks.gains, blocks.holds, blocks.steps,
                     is_awake, scratch, constraints);
  AppendModelConstraints(blocks.model, state, blocks.motions, blocks.stage.h, is_awake,
                         constraints);
  AppendSprings(blocks.model, state, blocks.motions, blocks.springs, constraints);
}

void BuildRows(const StepBlocks& blocks, std::vector<ContactPoint>* contacts,
               ConstraintSet* constraints, GroupRows* rows, ConstraintSystem* system) {
  // build the values in the system's own buffer
  RowBuffer& all = rows->all;
  std::swap(all.values, system->values);
  all.Clear();
  BuildContacts(blocks, contacts, rows, system);
  BuildConstraints(blocks, constraints, &all, system);
  std::swap(all.values, system->values);
}

}  // namespace pliant::physics
