#include "physics/stepping/step/commit.h"

#include <algorithm>
#include <cmath>

#include "physics/spatial/demand.h"

namespace pliant::physics {

using Eigen::Vector3d;
using solvers::ConstraintSystem;
using solvers::Impulses;

namespace {

// Stores a contact that carried an impulse, for warm starts and anchors, and so that sliding
// contacts persist.
void Remember(const ContactPoint& contact, const Vector3d& impulse_W, State* state) {
  state->contacts.push_back({contact.key, impulse_W});
}

// Finds a contact memory by key; null if there is none. `place` is its index in the last step,
// tried first as resting contacts seldom move, and is updated.
const ContactMemory* Recall(const std::vector<ContactMemory>& memories, std::uint64_t key,
                            std::size_t* place) {
  if (*place < memories.size() && memories[*place].key == key) return &memories[*place];
  const ContactMemory* found = FindContactMemory(memories, key);
  if (found != nullptr) *place = found - memories.data();
  return found;
}

void Report(const ContactPoint& contact, const Vector3d& impulse_W, StepReport* report) {
  report->contacts.push_back({contact.body_a, contact.body_b, contact.p_W, contact.R_WC.col(2),
                              contact.gap, impulse_W, contact.a.nodes, contact.b.nodes});
}

void CommitContacts(const StepContacts& contacts, const Impulses& impulses, CommitScratch* scratch,
                    State* state, StepReport* report) {
  scratch->last_contacts.swap(state->contacts);
  state->contacts.clear();
  for (std::size_t c = 0; c < contacts.points.size(); ++c) {
    const ContactPoint& contact = contacts.points[c];
    const Vector3d& impulse = impulses.contacts[c];
    const Vector3d impulse_W = contact.R_WC * impulse;
    Report(contact, impulse_W, report);
    if (!(impulse.z() > 0)) continue;
    Remember(contact, impulse_W, state);
    const double tangential = std::sqrt(impulse.x() * impulse.x() + impulse.y() * impulse.y());
    const double friction = std::max(contact.friction, contact.static_friction);
    report->cone_violation =
        std::max(report->cone_violation, (tangential - friction * impulse.z()) / impulse.z());
  }
  scratch->memory_of_resting.resize(contacts.resting.size(), 0);
  for (std::size_t c = 0; c < contacts.resting.size(); ++c) {
    const ContactPoint& contact = contacts.resting[c];
    const ContactMemory* memory =
        Recall(scratch->last_contacts, contact.key, &scratch->memory_of_resting[c]);
    Report(contact, memory != nullptr ? memory->impulse_W : Vector3d(Vector3d::Zero()), report);
    if (memory != nullptr) Remember(contact, memory->impulse_W, state);
  }
  if (contacts.points.empty() && state->contacts.size() == scratch->last_contacts.size()) {
    // the same memories as before, still sorted
    state->contacts.swap(scratch->last_contacts);
  } else {
    SortContactMemories(&state->contacts, &scratch->sorting);
  }
}

// Describes the force of a row and what it acts on.
ConstraintForce DescribeRow(int k, const Impulses& impulses, const ConstraintSet& constraints,
                            const Participation& participation, const ConstraintSystem& system) {
  const ConstraintRow& row = constraints.rows[k];
  ConstraintForce force;
  force.source = row.source;
  force.block = participation.blocks[system.entries[system.rows[k].first_entry].block].block;
  force.index = row.index;
  force.error = row.error;
  force.impulse = impulses.rows[k];
  const ConstraintTerm* terms = &constraints.terms[row.first_term];
  if (row.source == ConstraintSource::kConstraint && terms[0].velocity < 0) {
    force.p_A = terms[0].attachment.p_W;
    force.p_B = terms[1].attachment.p_W;
    force.linear_W = terms[1].linear_W;
    force.angular_W = terms[1].angular_W;
  } else if (row.source == ConstraintSource::kSpring) {
    force.p_B = terms[0].attachment.p_W;
    force.linear_W = terms[0].linear_W;
  }
  return force;
}

// Reports constraint forces, including those on sleeping blocks, and stores the latter.
void CommitConstraints(const Impulses& impulses, const ConstraintSet& constraints,
                       const Participation& participation, const ConstraintSystem& system,
                       const Sleeping& sleeping, State* state, StepReport* report) {
  std::erase_if(state->resting_constraints,
                [&](const ConstraintForce& force) { return !sleeping.sleeps(force.block); });
  report->constraint_forces.assign(state->resting_constraints.begin(),
                                   state->resting_constraints.end());
  for (int k = 0; k < static_cast<int>(system.rows.size()); ++k) {
    const ConstraintForce force = DescribeRow(k, impulses, constraints, participation, system);
    report->constraint_forces.push_back(force);
    if (sleeping.sleeps(force.block)) state->resting_constraints.push_back(force);
  }
}

void ReportEfforts(const StepBlocks& blocks, StepReport* report) {
  const std::vector<Actuator>& actuators = blocks.model.actuators;
  report->efforts.assign(actuators.size(), 0.0);
  for (std::size_t i = 0; i < actuators.size(); ++i) {
    if (actuators[i].kind == Actuator::Kind::kEffort)
      report->efforts[i] =
          CalcEffort(GainsOf(blocks.model, blocks.gains, static_cast<int>(i)), blocks.controls[i]);
  }
  for (const ConstraintForce& force : report->constraint_forces) {
    if (force.source == ConstraintSource::kActuator)
      report->efforts[force.index] += force.impulse / blocks.stage.h;
  }
}

void ReportDropped(const ContactDetector::Counts& counts,
                   std::span<const ConstraintSystem::Contact> contacts, Terms terms,
                   StepReport* report) {
  report->compromises[Compromise::kManifoldPointsDropped] = counts.manifold_points_dropped;
  report->compromises[Compromise::kSpeculativeDropped] = counts.speculative_dropped;
  report->compromises[Compromise::kCollapsedDropped] = counts.collapsed;
  // a force that follows from the gap acts all the same
  if (terms != Terms::kMass) {
    report->compromises[Compromise::kImmovableDropped] =
        std::ranges::count_if(contacts, [](const ConstraintSystem::Contact& contact) {
          return contact.W(2, 2) == 0 && contact.W.trace() > 0;
        });
  }
  report->compromises[Compromise::kTravelBeyondSize] = counts.too_fast;
}

void ReportBlocks(const StepBlocks& blocks, const State& state, StepReport* report) {
  for (int b = 0; b < blocks.count(); ++b) {
    if (blocks.sleeping.sleeps(b)) continue;
    const StepAbilities& abilities = blocks.abilities[b];
    if (abilities.nonlinear != nullptr) {
      const FreeMotionReport of_block = abilities.nonlinear->free_motion_report();
      report->newton_iterations = std::max(report->newton_iterations, of_block.iterations);
      report->linear_iterations += of_block.linear_iterations;
      report->newton_residual = std::max(report->newton_residual, of_block.residual);
      report->projected_elements += of_block.projected_elements;
      report->compromises[Compromise::kNewtonAboveTolerance] += of_block.is_above_tolerance;
    }
    if (abilities.compliance != nullptr)
      report->projected_elements += abilities.compliance->max_projected();
    const JointSet* joints = blocks.model.abilities[b].joints;
    if (joints == nullptr) continue;
    report->joint_drift =
        std::max(report->joint_drift, joints->CalcDrift(blocks.model.StateOf(state, b)));
  }
  for (int b = 0; b < blocks.count(); ++b) {
    for (const BlockForce& force : blocks.inputs[b].forces)
      if (force.frame >= 0) report->applied.push_back({b, force});
  }
}

}  // namespace

void AdvanceBlocks(std::span<const double> v, std::span<const double> v_position,
                   StepBlocks* blocks, State* state, StepReport* report) {
  const Model& model = blocks->model;
  report->v_start.assign(state->v.begin(), state->v.end());
  blocks->ForEachBlock([&](int b) {
    if (blocks->sleeping.sleeps(b)) return;
    const BlockStep& step = *blocks->steps[b];
    const std::span<const double> of_block = blocks->spaces.Part(b, v),
                                  of_position = blocks->spaces.Part(b, v_position);
    step.Integrate(of_position, model.StateOf(state, b));
    if (!std::ranges::equal(of_block, of_position))
      blocks->StoreVelocities(b, of_block, model.StateOf(state, b));
  });
}

void Commit(const Impulses& impulses, const StepContacts& contacts,
            const ConstraintSet& constraints, const Participation& participation,
            const ConstraintSystem& system, const Islands& islands, StepBlocks* blocks,
            CommitScratch* scratch, State* state, StepReport* report) {
  PLIANT_DEMAND(impulses.contacts.size() == contacts.points.size());
  PLIANT_DEMAND(impulses.rows.size() == system.rows.size());
  const Model& model = blocks->model;
  // times are multiples of the step, not sums of it
  const double h = blocks->stage.h;
  ++state->step;
  state->time = h == model.time_step ? static_cast<double>(state->step) * h : state->time + h;
  state->controls.assign(blocks->controls.begin(), blocks->controls.end());
  state->gains.assign(blocks->gains.begin(), blocks->gains.end());

  CommitContacts(contacts, impulses, scratch, state, report);
  ReportDropped(contacts.detector.counts(), system.contacts, blocks->terms, report);
  ReportBlocks(*blocks, *state, report);
  scratch->island_of_block.assign(blocks->count(), -1);
  for (std::size_t a = 0; a < participation.blocks.size(); ++a)
    scratch->island_of_block[participation.blocks[a].block] = islands.island_of_block[a];
  PutToSleep(scratch->island_of_block, static_cast<int>(islands.views.size()), blocks, state);
  CommitConstraints(impulses, constraints, participation, system, blocks->sleeping, state, report);
  ReportEfforts(*blocks, report);

  report->participating = participation.num_touched;
  report->constraints =
      3 * static_cast<int>(contacts.points.size()) + static_cast<int>(system.rows.size());
  report->asleep = blocks->sleeping.num_asleep;
}

}  // namespace pliant::physics
