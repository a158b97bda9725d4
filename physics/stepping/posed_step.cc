#include "physics/stepping/posed_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include <Eigen/Dense>
#include <tbb/parallel_for.h>

#include "physics/spatial/demand.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// A_gg⁻¹ applied to rows: J A_gg⁻¹ Jᵀ for one group of up to six velocities
Matrix3d GroupCompliance(const PosedStep::ActiveBlock& block, int first, const RowBlock& row) {
  const int n = row.num_columns;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6> A(n, n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) A(i, j) = block.A[std::size_t(first + j) * block.size + first + i];
  }
  const Eigen::Map<const Eigen::Matrix<double, 3, Eigen::Dynamic>> J(row.matrix.data(), 3, n);
  const Eigen::LLT<decltype(A)> llt(A);
  const Eigen::Matrix<double, Eigen::Dynamic, 3, 0, 6, 3> x = llt.solve(J.transpose());
  Matrix3d W;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) W(i, j) = J.row(i).dot(x.col(j));
  }
  return W;
}

}  // namespace

PosedStep::PosedStep(const Model& model) : model_(model), detector_(model) {
  for (const auto& block : model.blocks) {
    steps_.push_back(block->NewStep());
    followed_.push_back(block->followed_bodies());
  }
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

BlockInputs PosedStep::GatherInputs(int block, const Inputs& inputs, const State& state) const {
  BlockInputs gathered;
  for (const int body : followed_[block]) {
    // a body without a target keeps still
    RigidTransform X_WB;
    if (body >= 0) X_WB = CalcBodyPose(model_, state, body);
    for (const Inputs::PoseTarget& target : inputs.poses) {
      if (target.body == body) X_WB = target.X_WB;
    }
    gathered.targets.push_back(X_WB);
  }
  for (const Inputs::AppliedForce& force : inputs.forces) {
    const Body& body = model_.bodies[force.body];
    if (body.block != block) continue;
    BlockForce applied;
    applied.frame = body.deformable ? -1 : body.frame;
    applied.node = force.node;
    applied.at_center_of_mass = force.at_center_of_mass;
    applied.p_W =
        body.deformable ? force.p_BP : CalcBodyPose(model_, state, force.body) * force.p_BP;
    applied.force_W = force.force_W;
    applied.torque_W = force.torque_W;
    gathered.forces.push_back(applied);
  }
  return gathered;
}

absl::Status PosedStep::Pose(const Inputs& inputs, const StepSettings& settings,
                             const State& state) {
  settings_ = settings;
  const int num_blocks = static_cast<int>(steps_.size());
  std::vector<absl::Status> statuses(num_blocks);

  // momentum of each block, independent of the others
  tbb::parallel_for(0, num_blocks, [&](int b) {
    statuses[b] = steps_[b]->Pose(settings, model_.Positions(state, b), model_.Velocities(state, b),
                                  GatherInputs(b, inputs, state));
  });
  for (int b = 0; b < num_blocks; ++b) {
    if (!statuses[b].ok()) return Fault(b, statuses[b]);
  }

  contacts_ = detector_.Detect(state, settings.h);
  DropImmovable();
  FindParticipants();

  // factor with the participants last, and let everything move as if nothing touched
  v_star_.resize(state.v.size());
  tbb::parallel_for(0, num_blocks, [&](int b) {
    const int active = active_of_block_[b];
    statuses[b] = steps_[b]->Factor(active < 0 ? std::span<const int>() : active_[active].groups);
    if (!statuses[b].ok()) return;
    const int first = model_.velocity_offsets[b];
    const std::size_t size = model_.velocity_offsets[b + 1] - first;
    steps_[b]->CalcFreeMotion({v_star_.data() + first, size});
  });
  for (int b = 0; b < num_blocks; ++b) {
    if (!statuses[b].ok()) return Fault(b, statuses[b]);
  }

  v_star_p_.resize(num_participating_);
  v_start_p_.resize(num_participating_);
  for (ActiveBlock& active : active_) {
    active.A = steps_[active.block]->schur_complement();
    const double* v_star = v_star_.data() + model_.velocity_offsets[active.block];
    const double* v_start = state.v.data() + model_.velocity_offsets[active.block];
    for (std::size_t g = 0; g < active.groups.size(); ++g) {
      const int offset = steps_[active.block]->group_offset(active.groups[g]);
      const int size = steps_[active.block]->group_size(active.groups[g]);
      std::copy_n(v_star + offset, size, v_star_p_.data() + active.first + active.group_first[g]);
      std::copy_n(v_start + offset, size, v_start_p_.data() + active.first + active.group_first[g]);
    }
  }
  BuildRows();
  return absl::OkStatus();
}

// A contact between parts whose motion is prescribed on both sides constrains nothing.
void PosedStep::DropImmovable() {
  std::vector<RowBlock> rows;
  std::erase_if(contacts_, [&](const ContactPoint& contact) {
    rows.clear();
    for (const Attachment* side : {&contact.a, &contact.b}) {
      if (side->block != kWorldBlock) steps_[side->block]->AppendRows(*side, &rows);
    }
    return rows.empty();
  });
}

void PosedStep::FindParticipants() {
  const int num_blocks = static_cast<int>(steps_.size());
  std::vector<std::vector<int>> groups(num_blocks);
  std::vector<RowBlock> rows;
  for (const ContactPoint& contact : contacts_) {
    for (const Attachment* side : {&contact.a, &contact.b}) {
      if (side->block == kWorldBlock) continue;
      rows.clear();
      steps_[side->block]->AppendRows(*side, &rows);
      for (const RowBlock& row : rows) groups[side->block].push_back(row.group);
    }
  }
  active_.clear();
  active_of_block_.assign(num_blocks, -1);
  num_participating_ = 0;
  for (int b = 0; b < num_blocks; ++b) {
    if (groups[b].empty()) continue;
    std::sort(groups[b].begin(), groups[b].end());
    groups[b].erase(std::unique(groups[b].begin(), groups[b].end()), groups[b].end());
    active_of_block_[b] = static_cast<int>(active_.size());
    ActiveBlock active{b, num_participating_, 0, std::move(groups[b]), {}, {}};
    for (const int group : active.groups) {
      active.group_first.push_back(active.size);
      active.size += steps_[b]->group_size(group);
    }
    num_participating_ += active.size;
    active_.push_back(std::move(active));
  }
}

// J = R_WCᵀ (J_B − J_A) of every contact, on the participants
void PosedStep::BuildRows() {
  rows_.clear();
  entries_.clear();
  values_.clear();
  std::vector<RowBlock> rows;
  for (const ContactPoint& contact : contacts_) {
    ContactRows result;
    result.first_entry = static_cast<int>(entries_.size());
    result.bias.setZero();
    result.W.setZero();
    const Matrix3d R_CW = contact.R_WC.transpose();
    for (const double sign : {-1.0, 1.0}) {
      const Attachment& side = sign < 0 ? contact.a : contact.b;
      if (side.block == kWorldBlock) continue;
      result.bias += sign * (R_CW * steps_[side.block]->CalcPrescribedVelocity(side));
      const int index = active_of_block_[side.block];
      rows.clear();
      steps_[side.block]->AppendRows(side, &rows);
      for (const RowBlock& row : rows) {
        const ActiveBlock& active = active_[index];
        const auto found = std::lower_bound(active.groups.begin(), active.groups.end(), row.group);
        const int first = active.group_first[found - active.groups.begin()];
        entries_.push_back({index, active.first + first, row.num_columns, values_.size()});
        for (int j = 0; j < row.num_columns; ++j) {
          const Vector3d column = sign * (R_CW * Vector3d(row.matrix[3 * j], row.matrix[3 * j + 1],
                                                          row.matrix[3 * j + 2]));
          values_.insert(values_.end(), column.data(), column.data() + 3);
        }
        result.W += GroupCompliance(active, first, row);
      }
    }
    result.num_entries = static_cast<int>(entries_.size()) - result.first_entry;
    rows_.push_back(result);
  }
}

std::vector<std::vector<int>> PosedStep::FindIslands() const {
  std::vector<int> root(active_.size());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&root](int a) {
    while (root[a] != a) a = root[a] = root[root[a]];
    return a;
  };
  for (const ContactRows& rows : rows_) {
    const int first = find(entries_[rows.first_entry].active);
    for (int e = 1; e < rows.num_entries; ++e) {
      const int other = find(entries_[rows.first_entry + e].active);
      root[std::max(find(first), other)] = std::min(find(first), other);
    }
  }
  std::vector<std::vector<int>> islands(active_.size());
  for (std::size_t c = 0; c < rows_.size(); ++c) {
    islands[find(entries_[rows_[c].first_entry].active)].push_back(static_cast<int>(c));
  }
  std::erase_if(islands, [](const std::vector<int>& island) { return island.empty(); });
  return islands;
}

Vector3d PosedStep::CalcContactVelocity(int contact, std::span<const double> v) const {
  const ContactRows& rows = rows_[contact];
  Vector3d velocity = rows.bias;
  for (int e = rows.first_entry; e < rows.first_entry + rows.num_entries; ++e) {
    const double* J = &values_[entries_[e].values];
    for (int j = 0; j < entries_[e].columns; ++j, J += 3) {
      velocity += v[entries_[e].first + j] * Vector3d(J[0], J[1], J[2]);
    }
  }
  return velocity;
}

absl::Status PosedStep::Complete(std::span<const double> v_p, std::vector<double>* v) const {
  *v = v_star_;
  std::vector<double> dv_p, dv;
  for (const ActiveBlock& active : active_) {
    const int first = model_.velocity_offsets[active.block];
    dv_p.resize(active.size);
    dv.resize(model_.velocity_offsets[active.block + 1] - first);
    for (int i = 0; i < active.size; ++i)
      dv_p[i] = v_p[active.first + i] - v_star_p_[active.first + i];
    steps_[active.block]->ExpandParticipants(dv_p, dv);
    for (std::size_t i = 0; i < dv.size(); ++i) (*v)[first + i] += dv[i];
  }
  for (std::size_t b = 0; b < steps_.size(); ++b) {
    for (int i = model_.velocity_offsets[b]; i < model_.velocity_offsets[b + 1]; ++i) {
      if (!std::isfinite((*v)[i])) {
        return Fault(static_cast<int>(b), absl::InternalError("its velocities are not finite"));
      }
    }
  }
  return absl::OkStatus();
}

std::vector<double> PosedStep::CalcExertedImpulse(const std::vector<Vector3d>& impulses) const {
  std::vector<double> exerted(num_participating_, 0.0);
  for (std::size_t c = 0; c < rows_.size(); ++c) {
    const int first_entry = rows_[c].first_entry;
    for (int e = first_entry; e < first_entry + rows_[c].num_entries; ++e) {
      const double* J = &values_[entries_[e].values];
      for (int j = 0; j < entries_[e].columns; ++j, J += 3) {
        exerted[entries_[e].first + j] += Vector3d(J[0], J[1], J[2]).dot(impulses[c]);
      }
    }
  }
  return exerted;
}

double PosedStep::CalcResidual(std::span<const double> v,
                               const std::vector<Vector3d>& impulses) const {
  const std::vector<double> exerted = CalcExertedImpulse(impulses);
  double error = 0, momentum_size = 0, impulse_size = 0;
  std::vector<double> residual, momentum, diagonal, impulse;
  for (std::size_t b = 0; b < steps_.size(); ++b) {
    const int first = model_.velocity_offsets[b];
    const std::size_t size = model_.velocity_offsets[b + 1] - first;
    for (auto* x : {&residual, &momentum, &diagonal}) x->resize(size);
    impulse.assign(size, 0.0);
    if (active_of_block_[b] >= 0) {
      const ActiveBlock& active = active_[active_of_block_[b]];
      for (std::size_t g = 0; g < active.groups.size(); ++g) {
        std::copy_n(exerted.data() + active.first + active.group_first[g],
                    steps_[b]->group_size(active.groups[g]),
                    impulse.data() + steps_[b]->group_offset(active.groups[g]));
      }
    }
    const std::span<const double> v_b = v.subspan(first, size);
    steps_[b]->CalcMomentumResidual(v_b, residual);
    steps_[b]->MultiplyTangent(v_b, momentum);
    steps_[b]->CalcTangentDiagonal(diagonal);
    for (std::size_t i = 0; i < size; ++i) {
      const double r = residual[i] - impulse[i];
      error += r * r / diagonal[i];
      momentum_size += momentum[i] * momentum[i] / diagonal[i];
      impulse_size += impulse[i] * impulse[i] / diagonal[i];
    }
  }
  // below the absolute tolerance nothing is left to solve: a world at rest without gravity is all rounding
  constexpr double kAbsoluteTolerance = 1e-14;
  if (error <= kAbsoluteTolerance * kAbsoluteTolerance) return 0;
  return std::sqrt(error / std::max(momentum_size, impulse_size));
}

void PosedStep::Commit(std::span<const double> v, const std::vector<Vector3d>& impulses,
                       State* state, StepReport* report) const {
  PLIANT_DEMAND(impulses.size() == contacts_.size());
  tbb::parallel_for(0, static_cast<int>(steps_.size()), [&](int b) {
    const int first = model_.velocity_offsets[b];
    const std::size_t size = model_.velocity_offsets[b + 1] - first;
    steps_[b]->Integrate(v.subspan(first, size), model_.Positions(state, b),
                         model_.Velocities(state, b));
  });
  // times are multiples of the step, not sums of it
  ++state->step;
  state->time = settings_.h == model_.time_step ? static_cast<double>(state->step) * settings_.h
                                                : state->time + settings_.h;

  // what carried an impulse is remembered: for warm starts, and so that sliding contacts persist
  state->contacts.clear();
  for (std::size_t c = 0; c < contacts_.size(); ++c) {
    if (impulses[c].z() <= 0) continue;
    state->contacts.push_back({contacts_[c].key, contacts_[c].R_WC * impulses[c]});
  }
  std::sort(state->contacts.begin(), state->contacts.end(),
            [](const ContactMemory& a, const ContactMemory& b) { return a.key < b.key; });

  report->participating = num_participating_;
  report->constraints = 3 * static_cast<int>(contacts_.size());
  for (std::size_t c = 0; c < contacts_.size(); ++c) {
    const ContactPoint& contact = contacts_[c];
    const Vector3d& impulse = impulses[c];
    report->contacts.push_back({contact.body_a, contact.body_b, contact.p_W, contact.R_WC.col(2),
                                contact.gap, contact.R_WC * impulse});
    const double tangential = std::sqrt(impulse.x() * impulse.x() + impulse.y() * impulse.y());
    if (impulse.z() > 0) {
      report->cone_violation = std::max(
          report->cone_violation, (tangential - contact.friction * impulse.z()) / impulse.z());
    }
  }
}

}  // namespace pliant::physics
