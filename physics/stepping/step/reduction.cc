#include "physics/stepping/step/reduction.h"

#include <algorithm>
#include <cmath>

#include "solvers/linalg/dense.h"

namespace pliant::physics {

using Eigen::Matrix3d;
using solvers::ConstraintSystem;

namespace {

// Larger velocities [m/s], [rad/s] count as not finite, before products of them overflow.
constexpr double kMaxSpeed = 1e100;

// Whether all blocks of a batch have been factored in this step, with their present participants.
bool IsFactored(const Participation& participation, const Reduction& reduction,
                std::span<const int> blocks) {
  return std::ranges::all_of(blocks, [&](int b) {
    return reduction.is_factored[b] &&
           std::ranges::equal(reduction.factored_groups[b], participation.GroupsOf(b));
  });
}

void ReduceBatch(int batch, const Participation& participation, StepBlocks* blocks,
                 Reduction* reduction) {
  const std::span<const int> members = reduction->batches.blocks(batch);
  if (IsFactored(participation, *reduction, members)) return;
  // for kMass, a block without an equation of motion has the step for kMomentum
  const auto is_to_reduce = [&](int b) {
    return participation.index_of_block[b] >= 0 &&
           (blocks->terms == Terms::kMomentum ||
            (blocks->terms == Terms::kMass && blocks->model.abilities[b].equation == nullptr));
  };
  if (BlockBatch* solver = reduction->batches.solver(batch)) {
    BlockBatch::Member side_by_side[BlockBatch::kMaxMembers];
    for (std::size_t k = 0; k < members.size(); ++k) {
      const int b = members[k];
      side_by_side[k] = {blocks->steps[b].get(), participation.GroupsOf(b), is_to_reduce(b),
                         &blocks->statuses[b]};
    }
    solver->Factor(std::span(side_by_side).first(members.size()));
  } else {
    const int b = members[0];
    BlockStep& step = *blocks->steps[b];
    const std::span<const int> groups = participation.GroupsOf(b);
    blocks->statuses[b] = is_to_reduce(b) ? step.Reduce(groups) : step.Factor(groups);
  }
  for (const int b : members) {
    const std::span<double> v_star = blocks->spaces.Part(b, reduction->v_star),
                            linear_term = blocks->spaces.Part(b, reduction->linear_term);
    std::ranges::fill(v_star, 0.0);
    std::ranges::fill(linear_term, 0.0);
    if (!blocks->statuses[b].ok()) continue;
    if (is_to_reduce(b)) {
      blocks->steps[b]->CalcReducedMomentum(v_star, linear_term);
    } else {
      blocks->steps[b]->CalcFreeMotion(v_star);
    }
    const std::span<const int> groups = participation.GroupsOf(b);
    reduction->factored_groups[b].assign(groups.begin(), groups.end());
    reduction->is_factored[b] = !blocks->sleeping.is_any_asleep();
  }
}

// Copies A_gg of a participating group, the `place`-th of its block.
void CopyGroupDiagonal(const StepBlocks& blocks, const Participation& participation,
                       const Participation::Block& block, int place, const ConstraintSystem& system,
                       double* to) {
  const int g = block.first_group + place, n = participation.size_of_group(g);
  const solvers::SchurComplement& A = system.blocks[participation.index_of_block[block.block]].A;
  if (CompliantForm* form = blocks.abilities[block.block].compliance) {
    std::ranges::copy(form->group_inertia(participation.groups[g]), to);
  } else if (A.sparse != nullptr) {
    // a group is a node
    std::copy_n(&A.sparse->values[9 * std::size_t(A.sparse->pattern->column_starts[place])], 9, to);
  } else {
    const int first = participation.group_velocities[g] - block.first;
    for (int j = 0; j < n; ++j) {
      const double* column = &A.dense[std::size_t(first + j) * block.size + first];
      std::copy(column, column + n, to + std::size_t(j) * n);
    }
  }
}

// Cholesky factors of the diagonal blocks A_gg, for the compliance of rows.
absl::Status FactorGroups(const StepBlocks& blocks, const Participation& participation,
                          const ConstraintSystem& system, Reduction* reduction) {
  std::size_t room = 0;
  for (const Participation::Block& block : participation.blocks) {
    if (!blocks.steps[block.block]->dense_factor().empty()) continue;
    for (int k = 0; k < block.num_groups; ++k) {
      const std::size_t n = participation.size_of_group(block.first_group + k);
      room += n * n;
    }
  }
  reduction->factor_values.resize(room);
  reduction->group_factors.resize(participation.groups.size());
  double* L = reduction->factor_values.data();
  for (const Participation::Block& block : participation.blocks) {
    const std::span<const double> given = blocks.steps[block.block]->dense_factor();
    for (int k = 0; k < block.num_groups; ++k) {
      const int g = block.first_group + k, n = participation.size_of_group(g);
      if (!given.empty()) {
        reduction->group_factors[g] = given.data();
        continue;
      }
      CopyGroupDiagonal(blocks, participation, block, k, system, L);
      if (solvers::FactorCholesky(n, L, n) >= 0)
        return FailAtBlock(blocks.model, block.block,
                           absl::InternalError("its tangent matrix is not positive definite"));
      reduction->group_factors[g] = L;
      L += std::size_t(n) * n;
    }
  }
  return absl::OkStatus();
}

// Places the nodes of all entries by weights.
void PlaceNodes(const Participation& participation, const RowBuffer& rows, Reduction* reduction,
                ConstraintSystem* system) {
  system->nodes.resize(rows.nodes.size());
  reduction->node_factors.resize(rows.nodes.size());
  int end = 0;  // of the nodes placed so far; entries may share them
  for (const RowBuffer::Entry& entry : rows.entries) {
    if (!entry.is_by_weights() || entry.first_node < end) continue;
    end = entry.first_node;
    const int first = participation.blocks[participation.index_of_block[entry.block]].first;
    for (const int group : rows.nodes_of(entry)) {
      const int g = participation.FindGroup(entry.block, group);
      system->nodes[end] = participation.group_velocities[g] - first;
      reduction->node_factors[end++] = reduction->group_factors[g];
    }
  }
}

// J A⁻¹ Jᵀ of an entry by weights, Q (Σ w² A_gg⁻¹) Qᵀ.
Matrix3d CalcWeightedCompliance(const ConstraintSystem& system, const Reduction& reduction,
                                const ConstraintSystem::Entry& entry) {
  const double* w = system.weights(entry);
  Matrix3d sum = Matrix3d::Zero();
  for (int k = 0; k < entry.num_nodes; ++k) {
    // this is L⁻¹ of a lower triangle L, which is column-major
    const double* L = reduction.node_factors[entry.first_node + k];
    Matrix3d inverse = Matrix3d::Zero();
    inverse(0, 0) = 1 / L[0];
    inverse(1, 1) = 1 / L[4];
    inverse(2, 2) = 1 / L[8];
    inverse(1, 0) = -L[1] * inverse(0, 0) * inverse(1, 1);
    inverse(2, 1) = -L[5] * inverse(1, 1) * inverse(2, 2);
    inverse(2, 0) = -(L[2] * inverse(0, 0) + L[5] * inverse(1, 0)) * inverse(2, 2);
    sum += w[k] * w[k] * (inverse.transpose() * inverse);
  }
  const Eigen::Map<const Matrix3d> Q(system.Q(entry));
  return Q * sum * Q.transpose();
}

// Size of the group that an entry refers to, and the Cholesky factor of its A_gg.
struct PlacedGroup {
  int size;
  const double* factor;
};

PlacedGroup PlaceEntry(const RowBuffer::Entry& entry, const Participation& participation,
                       const Reduction& reduction, ConstraintSystem::Entry* placed) {
  const int block = participation.index_of_block[entry.block],
            g = participation.FindGroup(entry.block, entry.group);
  const int first = participation.group_velocities[g] - participation.blocks[block].first;
  *placed = {block, first + entry.offset, entry.columns, entry.values};
  return {participation.size_of_group(g), reduction.group_factors[g]};
}

// Places the entries of the contacts in a range, and sums up W = Σ J_g A_gg⁻¹ J_gᵀ.
void PlaceContacts(int begin, int end, const Participation& participation,
                   const Reduction& reduction, std::span<const RowBuffer::Entry> entries,
                   std::vector<double>* work, ConstraintSystem* system) {
  // two successive entries on the same group are computed together
  ConstraintSystem::Contact* waiting = nullptr;
  const double* J_waiting = nullptr;
  PlacedGroup of_waiting{};
  const auto work_out = [&] {
    if (waiting == nullptr) return;
    Matrix3d W;
    work->resize(4 * std::size_t(of_waiting.size));
    solvers::CalcCompliance(of_waiting.size, of_waiting.factor, of_waiting.size, J_waiting,
                            work->data(), W.data());
    waiting->W += W;
    waiting = nullptr;
  };
  for (int c = begin; c < end; ++c) {
    ConstraintSystem::Contact& contact = system->contacts[c];
    for (int e = contact.first_entry; e < contact.first_entry + contact.num_entries; ++e) {
      const RowBuffer::Entry& entry = entries[e];
      if (entry.is_by_weights()) {
        const int block = participation.index_of_block[entry.block];
        system->entries[e] = {block, 0, 3, entry.values, entry.first_node, entry.num_nodes};
        contact.W += CalcWeightedCompliance(*system, reduction, system->entries[e]);
        continue;
      }
      const PlacedGroup group = PlaceEntry(entry, participation, reduction, &system->entries[e]);
      const double* J = system->J(system->entries[e]);
      if (waiting == nullptr || of_waiting.factor != group.factor) {
        work_out();
        waiting = &contact;
        J_waiting = J;
        of_waiting = group;
        continue;
      }
      Matrix3d W, W_waiting;
      work->resize(8 * std::size_t(group.size));
      solvers::CalcTwoCompliances(group.size, group.factor, group.size, {J_waiting, J},
                                  work->data(), {W_waiting.data(), W.data()});
      waiting->W += W_waiting;
      contact.W += W;
      waiting = nullptr;
    }
  }
  work_out();
}

void PlaceRow(const Participation& participation, const Reduction& reduction,
              std::span<const RowBuffer::Entry> entries, std::vector<double>* work,
              ConstraintSystem* system, ConstraintSystem::Row* row) {
  for (int e = row->first_entry; e < row->first_entry + row->num_entries; ++e) {
    const RowBuffer::Entry& entry = entries[e];
    const PlacedGroup group = PlaceEntry(entry, participation, reduction, &system->entries[e]);
    // L⁻¹ J_gᵀ is zero before the entry's first velocity
    const int n = group.size, left = n - entry.offset;
    work->assign(left, 0.0);
    std::copy_n(&system->values[entry.values], entry.columns, work->begin());
    solvers::SolveLower(left, group.factor + std::size_t(entry.offset) * (n + 1), n, work->data());
    row->W += solvers::Dot(left, work->data(), work->data());
  }
}

// W_nn relative to the trace of W below which no impulse along the normal of a contact moves either
// body, and a distance beyond all that a step covers [m].
constexpr double kImmovable = 1e-12, kOutOfReach = 1e3;

// Takes contacts out of reach along whose normal neither body can move, such as those on the end
// face of a link that turns about the normal: no impulse prevents or removes their overlap, and any
// would satisfy the laws, each with another friction.
void ReleaseImmovable(ConstraintSystem* system) {
  for (ConstraintSystem::Contact& contact : system->contacts) {
    if (!(contact.W(2, 2) < kImmovable * contact.W.trace())) continue;
    contact.gap += kOutOfReach;
    contact.gap_shift += kOutOfReach;
    // the rest of J along the normal is rounding error
    contact.W.row(2).setZero();
    contact.W.col(2).setZero();
    for (const ConstraintSystem::Entry& entry : system->entries_of(contact))
      for (int j = 0; j < entry.columns; ++j) system->values[entry.values + 3 * j + 2] = 0;
  }
}

// Rows of one constraint along different axes share one compliance, as those of a contact do. Along
// an axis in which nothing can move (a ball in a planar linkage), a row's own compliance would
// vanish, and the regularisation with it.
void ShareCompliance(const ConstraintSet& constraints, ConstraintSystem* system) {
  const auto is_angular = [&](std::size_t k) {
    return !constraints.terms[constraints.rows[k].first_term].angular_W.isZero(0);
  };
  std::vector<ConstraintSystem::Row>& rows = system->rows;
  for (std::size_t begin = 0; begin < rows.size();) {
    const ConstraintRow& first = constraints.rows[begin];
    std::size_t end = begin + 1;
    double sum = rows[begin].W;
    for (; first.source == ConstraintSource::kConstraint && end < rows.size(); ++end) {
      const ConstraintRow& row = constraints.rows[end];
      if (row.source != first.source || row.index != first.index ||
          is_angular(end) != is_angular(begin))
        break;
      sum += rows[end].W;
    }
    // a row that moves nothing has no compliance, so any value will do
    const double mean = sum > 0 ? sum / static_cast<double>(end - begin) : 1;
    for (; begin < end; ++begin) rows[begin].W = mean;
  }
}

}  // namespace

void StartReduction(const StepBlocks& blocks, Reduction* reduction) {
  reduction->factored_groups.resize(blocks.count());
  reduction->is_factored.assign(blocks.count(), 0);
  reduction->v_star.assign(blocks.spaces.size(), 0.0);
  reduction->linear_term.assign(blocks.spaces.size(), 0.0);
}

absl::Status ReduceBlocks(const Participation& participation, StepBlocks* blocks,
                          Reduction* reduction) {
  reduction->batches.Assemble([&](int b) { return !blocks->sleeping.sleeps(b); });
  blocks->ForEach(reduction->batches.count(),
                  [&](int t) { ReduceBatch(t, participation, blocks, reduction); });
  return FirstFault(*blocks);
}

void FillBlocks(const StepBlocks& blocks, const Participation& participation,
                const Reduction& reduction, ConstraintSystem* system) {
  system->num_velocities = participation.num_velocities;
  system->v_star.resize(participation.num_velocities);
  system->linear_term.resize(participation.num_velocities);
  system->blocks.clear();
  system->masses.clear();
  for (const Participation::Block& block : participation.blocks) {
    const BlockStep& step = *blocks.steps[block.block];
    ConstraintSystem::Block& added = system->blocks.emplace_back();
    added.first = block.first;
    added.size = block.size;
    added.A = step.schur_complement();
    added.first_mass = static_cast<int>(system->masses.size());
    const CompliantForm* form = blocks.abilities[block.block].compliance;
    if (form != nullptr) added.are_particles = form->are_particles();
    const int offset = blocks.spaces.offsets[block.block];
    for (int g = block.first_group; g < block.first_group + block.num_groups; ++g) {
      const int group = participation.groups[g], to = participation.group_velocities[g],
                size = participation.size_of_group(g),
                from = offset + step.space().group_offset(group);
      std::copy_n(reduction.v_star.data() + from, size, system->v_star.data() + to);
      std::copy_n(reduction.linear_term.data() + from, size, system->linear_term.data() + to);
      if (form == nullptr || form->group_mass(group).empty()) continue;
      system->masses.push_back({to - block.first, size, form->group_mass(group).data()});
    }
    added.num_masses = static_cast<int>(system->masses.size()) - added.first_mass;
  }
}

absl::Status PlaceEntries(const StepBlocks& blocks, const Participation& participation,
                          const ConstraintSet& constraints, GroupRows* rows, Reduction* reduction,
                          ConstraintSystem* system) {
  if (absl::Status status = FactorGroups(blocks, participation, *system, reduction); !status.ok())
    return status;
  const std::span<const RowBuffer::Entry> entries = rows->all.entries;
  system->entries.resize(entries.size());
  PlaceNodes(participation, rows->all, reduction, system);
  ForEachStretch(blocks, static_cast<int>(system->contacts.size()), [&](int s, int begin, int end) {
    PlaceContacts(begin, end, participation, *reduction, entries, &rows->stretches[s].work, system);
  });
  for (ConstraintSystem::Row& row : system->rows)
    PlaceRow(participation, *reduction, entries, &rows->all.work, system, &row);
  ReleaseImmovable(system);
  ShareCompliance(constraints, system);
  return absl::OkStatus();
}

absl::Status CompleteVelocities(std::span<const double> v_participating, const StepBlocks& blocks,
                                const Participation& participation, const Reduction& reduction,
                                std::vector<double>* v) {
  v->assign(reduction.v_star.begin(), reduction.v_star.end());
  const Batches& batches = reduction.batches;
  blocks.ForEach(batches.count(), [&](int t) {
    BlockBatch::Completion members[BlockBatch::kMaxMembers];
    std::size_t count = 0;
    for (const int b : batches.blocks(t)) {
      if (participation.index_of_block[b] < 0) continue;
      const Participation::Block& block = participation.blocks[participation.index_of_block[b]];
      members[count++] = {blocks.steps[b].get(), v_participating.subspan(block.first, block.size),
                          blocks.spaces.Part(b, *v)};
    }
    if (count == 0) return;
    if (BlockBatch* solver = batches.solver(t))
      return solver->Complete(std::span(members).first(count));
    members[0].step->Complete(members[0].v_participants, members[0].v);
  });
  for (int b = 0; b < blocks.count(); ++b) {
    for (const double x : blocks.spaces.Part(b, *v)) {
      if (!(std::abs(x) < kMaxSpeed))
        return FailAtBlock(blocks.model, b, absl::InternalError("its velocities are not finite"));
    }
  }
  return absl::OkStatus();
}

}  // namespace pliant::physics
