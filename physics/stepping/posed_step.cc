#include "physics/stepping/posed_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"

#include "physics/contact/constraint_rows.h"
#include "physics/control/controllers.h"
#include "physics/dynamics/compliant_form.h"
#include "physics/dynamics/parallel.h"
#include "physics/spatial/demand.h"
#include "solvers/linalg/dense.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// below this many velocities threads cost more than they bring
constexpr int kFewVelocities = 300;

}  // namespace

PosedStep::PosedStep(const Model& model, Terms terms)
    : model_(model),
      terms_(terms),
      detector_(model),
      motions_(model),
      sleepers_(model),
      teams_(model, terms == Terms::kCompliance) {
  for (const auto& block : model.blocks) {
    steps_.push_back(terms == Terms::kCompliance ? block->NewCompliantStep() : block->NewStep());
    followed_.push_back(block->followed_bodies());
    is_prescribed_.push_back(block->num_velocities() == 0);
    if (is_prescribed_.back()) prescribed_.push_back(static_cast<int>(steps_.size()) - 1);
  }
  is_parallel_ = steps_.size() > 1 && model.velocity_offsets.back() > kFewVelocities;
  motors_.resize(steps_.size());
  for (std::size_t i = 0; i < model.actuators.size(); ++i) {
    const Actuator& actuator = model.actuators[i];
    const bool activates = actuator.kind == Actuator::Kind::kActivation;
    if (activates || actuator.kind == Actuator::Kind::kTorque)
      motors_[model.joint_of(actuator).block].push_back(
          {static_cast<int>(i), model.joint_of(actuator).velocity, activates});
  }
  block_inputs_.resize(steps_.size());
  statuses_.resize(steps_.size());
  factored_groups_.resize(steps_.size());
  is_posed_.resize(steps_.size());
}

PosedStep::~PosedStep() = default;

absl::Status PosedStep::Fault(int block, const absl::Status& status) const {
  for (const Body& body : model_.bodies) {
    if (body.block == block) {
      return absl::Status(status.code(),
                          absl::StrCat("body \"", body.name, "\": ", status.message()));
    }
  }
  return status;
}

void PosedStep::GatherInputs(int block, const Inputs& inputs, BlockInputs* gathered) const {
  gathered->targets.clear();
  gathered->forces.clear();
  gathered->coordinate_forces.clear();
  gathered->activations.clear();
  for (const int body : followed_[block]) {
    // a body without a target keeps still
    RigidTransform X_WB;
    if (body >= 0) X_WB = motions_[body].X_WB;
    for (const Inputs::PoseTarget& target : inputs.poses) {
      if (target.body == body) X_WB = target.X_WB;
    }
    gathered->targets.push_back(X_WB);
  }
  for (const Inputs::AppliedForce& force : inputs.forces) {
    const Body& body = model_.bodies[force.body];
    if (body.block != block) continue;
    BlockForce applied;
    applied.frame = body.deformable ? -1 : body.frame;
    applied.node = force.node;
    applied.at_center_of_mass = force.at_center_of_mass;
    if (body.deformable) {
      applied.p_W = force.p_BP;
    } else {
      applied.p_W =
          motions_[force.body].X_WB * (force.at_center_of_mass ? body.p_BoBcm : force.p_BP);
    }
    applied.force_W = force.force_W;
    applied.torque_W = force.torque_W;
    gathered->forces.push_back(applied);
  }
  for (const Inputs::JointForce& force : inputs.joint_forces) {
    if (force.block == block) gathered->coordinate_forces.push_back({force.velocity, force.force});
  }
  for (const Motor& motor : motors_[block]) {
    const double effort = CalcTorque(model_.actuators[motor.actuator], controls_[motor.actuator]);
    if (motor.activates) {
      gathered->activations.push_back(effort);
    } else {
      gathered->coordinate_forces.push_back({motor.velocity, effort});
    }
  }
}

absl::Status PosedStep::Pose(const Inputs& inputs, const StepSettings& settings,
                             const State& state) {
  settings_ = settings;
  controls_.assign(state.controls.begin(), state.controls.end());
  ApplyTargets(model_, inputs, &controls_);

  // what sleeps is left out of everything below
  for (const int b : prescribed_) motions_.Update(state, b, steps_[b].get());
  sleepers_.Begin(inputs, controls_, settings.h, state, motions_);

  // momentum of each block, independent of the others
  ForEachBlock([&](int b) {
    statuses_[b] = absl::OkStatus();
    if (!is_prescribed_[b]) motions_.Update(state, b, steps_[b].get());
    GatherInputs(b, inputs, &block_inputs_[b]);
    PoseBlock(b, state);
  });
  if (absl::Status status = CheckBlocks(); !status.ok()) return status;

  // what is touched wakes, and is posed now
  detector_.Detect(state, motions_, settings.h, &contacts_);
  if (absl::Status status = WakeTouched(state); !status.ok()) return status;
  SetContactsToRestAside();
  RunDifferentialIk(model_, inputs, state, motions_, settings.h, steps_, &ik_memory_, &controls_);
  num_solved_ = 0;
  is_factored_.assign(steps_.size(), 0);
  v_star_.assign(state.v.size(), 0.0);
  push_.assign(state.v.size(), 0.0);
  return PoseRows(state, state.v);
}

void PosedStep::PoseBlock(int b, const State& state) {
  is_posed_[b] = !sleepers_.sleeps(b);
  if (!is_posed_[b]) return;
  statuses_[b] = steps_[b]->Pose(settings_, model_.Positions(state, b), model_.Velocities(state, b),
                                 block_inputs_[b]);
}

absl::Status PosedStep::CheckBlocks() const {
  for (std::size_t b = 0; b < statuses_.size(); ++b) {
    if (!statuses_[b].ok()) return Fault(static_cast<int>(b), statuses_[b]);
  }
  return absl::OkStatus();
}

absl::Status PosedStep::WakeTouched(const State& state) {
  const int asleep = sleepers_.num_asleep();
  sleepers_.WakeTouched(contacts_);
  if (sleepers_.num_asleep() == asleep) return absl::OkStatus();
  ForEachBlock([&](int b) {
    if (!is_posed_[b]) PoseBlock(b, state);
  });
  return CheckBlocks();
}

absl::Status PosedStep::PoseRows(const State& state, std::span<const double> v) {
  CollectConstraints(state);
  raw_.entries.clear();
  raw_.values.clear();
  BuildContactRows();
  BuildConstraintRows();
  FindParticipants();

  FactorBlocks();
  if (absl::Status status = CheckBlocks(); !status.ok()) return status;

  CopyParticipants(v);
  if (absl::Status status = FactorGroups(); !status.ok()) return status;
  PlaceEntries();
  ShareCompliance();
  FindIslands();
  Recall(state);
  RecallConstraints(state);
  return absl::OkStatus();
}

std::span<const int> PosedStep::participants(int block) const {
  const int active = active_of_block_[block];
  if (active < 0) return {};
  return {&group_ids_[active_[active].first_group],
          static_cast<std::size_t>(active_[active].num_groups)};
}

// Factors with the participants last, and lets everything move as if nothing touched.
void PosedStep::FactorBlocks() {
  teams_.Assemble([this](int b) { return !sleepers_.sleeps(b); });
  ForEach(teams_.count(), [&](int t) {
    const std::span<const int> blocks = teams_.blocks(t);
    if (IsFactored(blocks)) return;
    const auto is_to_reduce = [this](int b) {
      return active_of_block_[b] >= 0 && terms_ == Terms::kMomentum;
    };
    if (BlockTeam* team = teams_.team(t)) {
      BlockTeam::Member members[BlockTeam::kMostMembers];
      for (std::size_t k = 0; k < blocks.size(); ++k) {
        const int b = blocks[k];
        members[k] = {steps_[b].get(), participants(b), is_to_reduce(b), &statuses_[b]};
      }
      team->Factor(std::span(members).first(blocks.size()));
    } else {
      BlockStep& step = *steps_[blocks[0]];
      const std::span<const int> groups = participants(blocks[0]);
      statuses_[blocks[0]] = is_to_reduce(blocks[0]) ? step.Reduce(groups) : step.Factor(groups);
    }
    for (const int b : blocks) {
      std::ranges::fill(PartOf(b, v_star_), 0.0);
      std::ranges::fill(PartOf(b, push_), 0.0);
      if (!statuses_[b].ok()) continue;
      if (is_to_reduce(b)) {
        steps_[b]->CalcReducedMomentum(PartOf(b, v_star_), PartOf(b, push_));
      } else {
        steps_[b]->CalcFreeMotion(PartOf(b, v_star_));
      }
      factored_groups_[b].assign(participants(b).begin(), participants(b).end());
      is_factored_[b] = !sleepers_.anyone_sleeps();
    }
  });
}

// limits and dry friction of joints, drives, and the model's own constraints
void PosedStep::CollectConstraints(const State& state) {
  constraints_.Clear();
  for (int b = 0; b < static_cast<int>(steps_.size()); ++b)
    if (!sleepers_.sleeps(b)) steps_[b]->AppendConstraints(b, &constraints_);
  const auto is_awake = [this](int block) { return !sleepers_.sleeps(block); };
  AppendActuatorRows(model_, state, controls_, steps_, is_awake, &compensation_, &constraints_);
  AppendModelConstraints(model_, state, motions_, is_awake, &constraints_);
}

// Contacts between sleepers exert what they did; the others are to be solved.
void PosedStep::SetContactsToRestAside() {
  resting_contacts_.clear();
  if (!sleepers_.anyone_sleeps()) return;
  std::erase_if(contacts_, [this](const ContactPoint& contact) {
    if (!sleepers_.sleeps(contact)) return false;
    resting_contacts_.push_back(contact);
    return true;
  });
}

void PosedStep::FindParticipants() {
  touched_.clear();
  is_touched_.resize(model_.velocity_offsets.back());
  for (const RawEntry& entry : raw_.entries) {
    // most are touched several times
    char& is_touched = is_touched_[model_.velocity_offsets[entry.block] +
                                   steps_[entry.block]->group_offset(entry.group)];
    if (!is_touched) touched_.emplace_back(entry.block, entry.group);
    is_touched = 1;
  }
  for (const auto& [block, group] : touched_)
    is_touched_[model_.velocity_offsets[block] + steps_[block]->group_offset(group)] = 0;
  // what holds the bodies of a block together reads all of them
  for (int b = 0; b < static_cast<int>(steps_.size()); ++b) {
    const CompliantForm* form = steps_[b]->compliant_form();
    if (form == nullptr || sleepers_.sleeps(b)) continue;
    for (int group = 0; group < steps_[b]->num_groups(); ++group)
      if (!form->group_mass(group).empty()) touched_.emplace_back(b, group);
  }
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());

  active_.clear();
  groups_.clear();
  group_ids_.clear();
  active_of_block_.assign(steps_.size(), -1);
  num_participating_ = num_touched_ = 0;
  for (auto touched = touched_.begin(); touched != touched_.end();) {
    const int block = touched->first;
    touched_groups_.clear();
    for (; touched != touched_.end() && touched->first == block; ++touched) {
      touched_groups_.push_back(touched->second);
      num_touched_ += steps_[block]->group_size(touched->second);
    }
    if (terms_ == Terms::kMomentum) steps_[block]->ExtendParticipants(&touched_groups_);
    AddActiveBlock(block);
  }
}

// of the groups in touched_groups_
void PosedStep::AddActiveBlock(int block) {
  active_of_block_[block] = static_cast<int>(active_.size());
  ActiveBlock active{block, num_participating_, 0, static_cast<int>(groups_.size()), 0, {}};
  for (const int group : touched_groups_) {
    const int size = steps_[block]->group_size(group);
    groups_.push_back({group, num_participating_, size, nullptr});
    group_ids_.push_back(group);
    ++active.num_groups;
    active.size += size;
    num_participating_ += size;
  }
  active_.push_back(active);
}

int PosedStep::FindParticipating(int block, int group) const {
  if (active_of_block_[block] < 0) return -1;
  const ActiveBlock& active = active_[active_of_block_[block]];
  const auto begin = groups_.begin() + active.first_group, end = begin + active.num_groups;
  const auto found =
      std::lower_bound(begin, end, group, [](const Group& one, int id) { return one.id < id; });
  return found != end && found->id == group ? found->first : -1;
}

void PosedStep::CopyParticipants(std::span<const double> v) {
  v_star_p_.resize(num_participating_);
  push_p_.resize(num_participating_);
  v_start_p_.resize(num_participating_);
  for (ActiveBlock& active : active_) {
    const BlockStep& step = *steps_[active.block];
    active.A = step.schur_complement();
    const int offset = model_.velocity_offsets[active.block];
    for (int g = active.first_group; g < active.first_group + active.num_groups; ++g) {
      const int source = offset + step.group_offset(groups_[g].id);
      std::copy_n(v_star_.data() + source, groups_[g].size, v_star_p_.data() + groups_[g].first);
      std::copy_n(push_.data() + source, groups_[g].size, push_p_.data() + groups_[g].first);
      std::copy_n(v.data() + source, groups_[g].size, v_start_p_.data() + groups_[g].first);
    }
  }
}

// Cholesky factors of the diagonal blocks A_gg, for the compliance estimates of rows
absl::Status PosedStep::FactorGroups() {
  std::size_t room = 0;
  for (const ActiveBlock& active : active_) {
    if (!steps_[active.block]->factor().empty()) continue;
    for (int g = active.first_group; g < active.first_group + active.num_groups; ++g)
      room += std::size_t(groups_[g].size) * groups_[g].size;
  }
  group_factors_.resize(room);
  double* L = group_factors_.data();
  for (const ActiveBlock& active : active_) {
    const std::span<const double> given = steps_[active.block]->factor();
    for (int g = active.first_group; g < active.first_group + active.num_groups; ++g) {
      Group& group = groups_[g];
      if (!given.empty()) {
        group.factor = given.data();
        continue;
      }
      const int n = group.size, first = group.first - active.first;
      if (CompliantForm* form = compliant_form(active.block)) {
        const std::span<const double> own = form->group_inertia(group.id);
        std::copy(own.begin(), own.end(), L);
      } else if (const solvers::BlockMatrix* A = active.A.sparse) {
        // a group is a node
        const int node = g - active.first_group;
        std::copy_n(&A->values[9 * std::size_t(A->pattern->column_starts[node])], 9, L);
      } else {
        for (int j = 0; j < n; ++j) {
          const double* column = &active.A.dense[std::size_t(first + j) * active.size + first];
          std::copy(column, column + n, L + std::size_t(j) * n);
        }
      }
      if (solvers::FactorCholesky(n, L, n) >= 0)
        return Fault(active.block,
                     absl::InternalError("its tangent matrix is not positive definite"));
      group.factor = L;
      L += std::size_t(n) * n;
    }
  }
  return absl::OkStatus();
}

void PosedStep::FindIslands() {
  root_.resize(active_.size());
  std::iota(root_.begin(), root_.end(), 0);
  const auto find = [this](int a) {
    while (root_[a] != a) a = root_[a] = root_[root_[a]];
    return a;
  };
  const auto join = [&](int first_entry, int num_entries) {
    const int first = entries_[first_entry].active;
    for (int e = 1; e < num_entries; ++e) {
      const int a = find(first), b = find(entries_[first_entry + e].active);
      root_[std::max(a, b)] = std::min(a, b);
    }
  };
  for (const ContactRows& rows : contact_rows_) join(rows.first_entry, rows.num_entries);
  for (const ScalarRows& rows : scalar_rows_) join(rows.first_entry, rows.num_entries);

  // islands in the order of their first blocks; their blocks, contacts and constraints sorted by counting
  island_of_.assign(active_.size(), -1);
  int count = 0;
  for (int a = 0; a < static_cast<int>(active_.size()); ++a) {
    const int root = find(a);
    if (root == a) island_of_[a] = count++;
    island_of_[a] = island_of_[root];
  }
  const std::size_t sizes[] = {active_.size(), contact_rows_.size(), scalar_rows_.size()};
  const auto island = [&](int kind, int item) {
    if (kind == 0) return island_of_[item];
    const int entry = kind == 1 ? contact_rows_[item].first_entry : scalar_rows_[item].first_entry;
    return island_of_[entries_[entry].active];
  };
  island_items_.resize(sizes[0] + sizes[1] + sizes[2]);
  island_starts_.assign(3 * std::size_t(count) + 1, 0);
  for (int kind = 0; kind < 3; ++kind) {
    for (std::size_t i = 0; i < sizes[kind]; ++i)
      ++island_starts_[3 * island(kind, static_cast<int>(i)) + kind + 1];
  }
  std::partial_sum(island_starts_.begin(), island_starts_.end(), island_starts_.begin());
  for (int kind = 0; kind < 3; ++kind) {
    for (std::size_t i = 0; i < sizes[kind]; ++i)
      island_items_[island_starts_[3 * island(kind, static_cast<int>(i)) + kind]++] =
          static_cast<int>(i);
  }
  islands_.clear();
  for (int k = 0; k < count; ++k) {
    // filling moved every start to its end, which is the next one's start
    const auto items = [&](int kind) {
      const int slot = 3 * k + kind;
      const int begin = slot == 0 ? 0 : island_starts_[slot - 1];
      return std::span<const int>(island_items_.data() + begin, island_starts_[slot] - begin);
    };
    islands_.push_back({items(0), items(1), items(2)});
  }
}

Vector3d PosedStep::CalcContactVelocity(int contact, std::span<const double> v) const {
  const ContactRows& rows = contact_rows_[contact];
  Vector3d velocity = rows.bias;
  for (int e = rows.first_entry; e < rows.first_entry + rows.num_entries; ++e) {
    const double* J = &values()[entries_[e].values];
    for (int j = 0; j < entries_[e].columns; ++j, J += 3) {
      velocity += v[entries_[e].first + j] * Vector3d(J[0], J[1], J[2]);
    }
  }
  return velocity;
}

double PosedStep::CalcConstraintRate(int constraint, std::span<const double> v) const {
  const ScalarRows& rows = scalar_rows_[constraint];
  double rate = rows.bias;
  for (int e = rows.first_entry; e < rows.first_entry + rows.num_entries; ++e) {
    const double* J = &values()[entries_[e].values];
    for (int j = 0; j < entries_[e].columns; ++j) rate += J[j] * v[entries_[e].first + j];
  }
  return rate;
}

absl::Status PosedStep::Complete(std::span<const double> v_p, std::vector<double>* v) {
  v->assign(v_star_.begin(), v_star_.end());
  ForEach(teams_.count(), [&](int t) {
    BlockTeam::Completion members[BlockTeam::kMostMembers];
    std::size_t count = 0;
    for (const int b : teams_.blocks(t)) {
      if (active_of_block_[b] < 0) continue;
      const ActiveBlock& active = active_[active_of_block_[b]];
      members[count++] = {steps_[b].get(), v_p.subspan(active.first, active.size), PartOf(b, *v)};
    }
    if (count == 0) return;
    if (BlockTeam* team = teams_.team(t)) return team->Complete(std::span(members).first(count));
    members[0].step->Complete(members[0].v_participants, members[0].v);
  });
  for (std::size_t b = 0; b < steps_.size(); ++b) {
    for (int i = model_.velocity_offsets[b]; i < model_.velocity_offsets[b + 1]; ++i) {
      if (!std::isfinite((*v)[i])) {
        return Fault(static_cast<int>(b), absl::InternalError("its velocities are not finite"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> PosedStep::Relinearise(std::span<const double> v, const State& state) {
  std::vector<int>& changed = touched_blocks_;
  changed.assign(steps_.size(), 0);
  ForEachBlock([&](int b) {
    statuses_[b] = absl::OkStatus();
    if (active_of_block_[b] < 0) return;
    if (!steps_[b]->Relinearise(PartOf(b, v))) return;
    changed[b] = 1;
    statuses_[b] = steps_[b]->Factor(participants(b));
    if (statuses_[b].ok()) steps_[b]->CalcFreeMotion(PartOf(b, v_star_));
  });
  int count = 0;
  for (std::size_t b = 0; b < steps_.size(); ++b) {
    if (!statuses_[b].ok()) return Fault(static_cast<int>(b), statuses_[b]);
    count += changed[b];
  }
  if (count > 0) CopyParticipants(state.v);
  return count;
}

void PosedStep::CalcExertedImpulse(const Impulses& impulses, std::vector<double>* exerted) const {
  exerted->assign(num_participating_, 0.0);
  for (std::size_t c = 0; c < contact_rows_.size(); ++c) {
    const int first_entry = contact_rows_[c].first_entry;
    for (int e = first_entry; e < first_entry + contact_rows_[c].num_entries; ++e) {
      const double* J = &values()[entries_[e].values];
      for (int j = 0; j < entries_[e].columns; ++j, J += 3) {
        (*exerted)[entries_[e].first + j] += Vector3d(J[0], J[1], J[2]).dot(impulses.contacts[c]);
      }
    }
  }
  for (std::size_t k = 0; k < scalar_rows_.size(); ++k) {
    const int first_entry = scalar_rows_[k].first_entry;
    for (int e = first_entry; e < first_entry + scalar_rows_[k].num_entries; ++e) {
      const double* J = &values()[entries_[e].values];
      for (int j = 0; j < entries_[e].columns; ++j)
        (*exerted)[entries_[e].first + j] += J[j] * impulses.constraints[k];
    }
  }
}

double PosedStep::CalcResidual(std::span<const double> v, const Impulses& impulses) {
  std::vector<double>& exerted = scratch_a_;
  CalcExertedImpulse(impulses, &exerted);
  for (auto* x : {&scratch_b_, &scratch_c_, &scratch_d_}) x->resize(v.size());
  squares_.assign(steps_.size(), {});
  ForEachBlock([&](int b) {
    if (sleepers_.sleeps(b)) return;
    const std::span<double> residual = PartOf(b, scratch_b_), momentum = PartOf(b, scratch_c_),
                            diagonal = PartOf(b, scratch_d_);
    steps_[b]->CalcResidualTerms(PartOf(b, v), residual, momentum, diagonal);
    Squares& sum = squares_[b];
    if (active_of_block_[b] >= 0) {
      const ActiveBlock& active = active_[active_of_block_[b]];
      for (int g = active.first_group; g < active.first_group + active.num_groups; ++g) {
        const int offset = steps_[b]->group_offset(groups_[g].id);
        for (int i = 0; i < groups_[g].size; ++i) {
          const double impulse = exerted[groups_[g].first + i];
          residual[offset + i] -= impulse;
          sum.impulse += impulse * impulse / diagonal[offset + i];
        }
      }
    }
    for (std::size_t i = 0; i < residual.size(); ++i) {
      const double weight = 1 / diagonal[i];
      sum.error += residual[i] * residual[i] * weight;
      sum.momentum += momentum[i] * momentum[i] * weight;
    }
  });
  double error = 0, momentum_size = 0, impulse_size = 0;
  for (const Squares& sum : squares_) {
    error += sum.error;
    momentum_size += sum.momentum;
    impulse_size += sum.impulse;
  }
  // below the absolute tolerance nothing is left to solve: a world at rest without gravity is all rounding
  constexpr double kAbsoluteTolerance = 1e-14;
  if (error <= kAbsoluteTolerance * kAbsoluteTolerance) return 0;
  return std::sqrt(error / std::max(momentum_size, impulse_size));
}

void PosedStep::Commit(std::span<const double> v, const Impulses& impulses, State* state,
                       StepReport* report) {
  PLIANT_DEMAND(impulses.contacts.size() == contacts_.size());
  PLIANT_DEMAND(impulses.constraints.size() == scalar_rows_.size());
  report->v_start.assign(state->v.begin(), state->v.end());
  ForEachBlock([&](int b) {
    if (sleepers_.sleeps(b)) return;
    steps_[b]->Integrate(PartOf(b, v), model_.Positions(state, b), model_.Velocities(state, b));
  });
  // times are multiples of the step, not sums of it
  ++state->step;
  state->time = settings_.h == model_.time_step ? static_cast<double>(state->step) * settings_.h
                                                : state->time + settings_.h;
  state->controls.assign(controls_.begin(), controls_.end());

  RememberContacts(impulses, state, report);
  island_of_block_.assign(steps_.size(), -1);
  for (std::size_t a = 0; a < active_.size(); ++a)
    island_of_block_[active_[a].block] = island_of_[a];
  for (std::size_t b = 0; b < steps_.size(); ++b) {
    if (sleepers_.sleeps(static_cast<int>(b))) continue;
    const FreeMotionReport of_block = steps_[b]->free_motion_report();
    report->newton_iterations = std::max(report->newton_iterations, of_block.iterations);
    report->newton_residual = std::max(report->newton_residual, of_block.residual);
    report->projected_elements += of_block.projected_elements;
    if (steps_[b]->compliant_form() == nullptr) continue;
    report->joint_drift =
        std::max(report->joint_drift,
                 model_.blocks[b]->CalcDrift(model_.Positions(*state, static_cast<int>(b))));
  }
  sleepers_.End(island_of_block_, static_cast<int>(islands_.size()), state);
  RememberConstraints(impulses, state, report);

  report->participating = num_touched_;
  report->constraints =
      3 * static_cast<int>(contacts_.size()) + static_cast<int>(scalar_rows_.size());
  report->asleep = sleepers_.num_asleep();
  for (int b = 0; b < static_cast<int>(steps_.size()); ++b) {
    for (const BlockForce& force : block_inputs_[b].forces)
      if (force.frame >= 0) report->applied.push_back({b, force});
  }
}

}  // namespace pliant::physics
