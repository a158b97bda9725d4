#include "physics/stepping/smooth/smooth_balance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/spatial/demand.h"

namespace pliant::physics {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using solvers::BlockSum;
using solvers::ConstraintSystem;

namespace {

// Acceleration that sets the stiffness of joint limits where there is no gravity [m/s²].
constexpr double kMinAcceleration = 1;
// Compliance of bilateral rows, relative to W, with which redundant rows share their impulse.
constexpr double kRedundancy = 1e-12;
// Error at which a rigid constraint with a bounded force reaches its bound, in units of δ.
constexpr double kBoundedTravel = 0.1;
// Half width of the smooth transition of a drive's force to its bound, relative to the bound.
constexpr double kBend = 0.02;

// Smooth minimum of f and `upper`, with a continuous derivative, by which *slope is multiplied.
double CutAbove(double f, double upper, double* slope) {
  if (!std::isfinite(upper)) return f;
  const double bend = kBend * std::max(std::abs(upper), 1e-9), t = f - (upper - bend);
  if (t <= 0) return f;
  if (t >= 2 * bend) {
    *slope = 0;
    return upper;
  }
  *slope *= 1 - t / (2 * bend);
  return upper - bend + t - t * t / (4 * bend);
}

}  // namespace

SmoothBalance::SmoothBalance(const Model& model) : model_(model) {
  int num_frames = 0;
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    const BlockAbilities& abilities = model.abilities[b];
    posed_.push_back(nullptr);
    if (abilities.equation != nullptr) {
      blocks_.push_back(abilities.equation->NewForceBalance());
    } else {
      PLIANT_DEMAND(abilities.frames == nullptr);
      auto posed = std::make_unique<PosedBalance>();
      posed_.back() = posed.get();
      blocks_.push_back(std::move(posed));
      is_any_posed_ = true;
    }
    first_frame_.push_back(num_frames);
    const int frames = abilities.frames != nullptr ? abilities.frames->num_frames() : 0;
    num_frames += frames;
    wrenches_.push_back(SpatialColumns::Zero(6, frames));
  }
  frames_.resize(num_frames);
  derivatives_.resize(num_frames);
  first_node_.resize(blocks_.size());
}

TrialConfiguration SmoothBalance::configuration() const {
  return {first_frame_, frames_, first_node_, node_positions_, node_velocities_};
}

bool SmoothBalance::IsBilateral(int k) const {
  const ConstraintSystem::Row& row = stages_->system.rows[k];
  return !row.dry_friction && std::isinf(row.stiffness) && std::isinf(row.lower) &&
         std::isinf(row.upper);
}

void SmoothBalance::Start(const StepStages& stages, const State& state, double h,
                          std::vector<SmoothContact>* contacts, double row_stiffening) {
  stages_ = &stages;
  state_ = &state;
  h_ = h;
  contacts_ = contacts;
  row_stiffening_ = row_stiffening;
  num_velocities_ = stages.blocks.spaces.size();
  v_start_.assign(num_velocities_, 0.0);
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    const BlockState start = model_.StateOf(state, b);
    const std::span<double> v = stages.blocks.spaces.Part(b, v_start_);
    first_node_[b] = posed_[b] != nullptr ? num_velocities_ : first_of(b);
    if (posed_[b] == nullptr) std::ranges::copy(start.v, v.begin());
    if (!IsAwake(b)) continue;
    if (posed_[b] != nullptr) {
      posed_[b]->Use(stages.blocks.steps[b].get());
      std::ranges::copy(stages.blocks.steps[b]->start_velocities(), v.begin());
    }
    blocks_[b]->Start(start, stages.blocks.inputs[b], h);
  }
  contact_points_ = stages.contacts.points;
  if (is_any_posed_) {
    attached_points_ = stages.contacts.points;
    contact_points_ = attached_points_;
    contact_nodes_.clear();
    posed_rows_.clear();
    posed_values_.clear();
    for (ContactPoint& point : attached_points_)
      for (Attachment* side : {&point.a, &point.b}) AttachToPosed(side);
  }
  const Participation& participation = stages.participation;
  velocity_of_participant_.resize(participation.num_velocities);
  for (const Participation::Block& block : participation.blocks) {
    for (int g = block.first_group; g < block.first_group + block.num_groups; ++g) {
      const int offset =
          first_of(block.block) +
          stages.blocks.steps[block.block]->space().group_offset(participation.groups[g]);
      for (int i = 0; i < participation.size_of_group(g); ++i)
        velocity_of_participant_[participation.group_velocities[g] + i] = offset + i;
    }
  }
  const ConstraintSystem& system = stages.system;
  row_entries_.clear();
  first_row_entry_.assign(1, 0);
  impulse_of_row_.clear();
  num_impulses_ = 0;
  for (int k = 0; k < static_cast<int>(system.rows.size()); ++k) {
    for (const ConstraintSystem::Entry& entry : system.entries_of(system.rows[k]))
      row_entries_.push_back(
          {velocity_of_participant_[system.first_of(entry)], entry.columns, system.J(entry)});
    first_row_entry_.push_back(static_cast<int>(row_entries_.size()));
    impulse_of_row_.push_back(IsBilateral(k) ? num_velocities_ + num_impulses_++ : -1);
  }
  for (auto* x : {&row_forces_, &row_by_gap_, &row_by_rate_}) x->assign(system.rows.size(), 0.0);
}

// Attaches the side of a contact on a posed block to contact nodes.
void SmoothBalance::AttachToPosed(Attachment* side) {
  if (!IsPosed(*side)) return;
  const BlockStep& step = *stages_->blocks.steps[side->block];
  NodeWeights nodes;
  for (int k = 0; k < side->nodes.size(); ++k) {
    Attachment alone = *side;
    alone.nodes = {{side->nodes.node(k), 1.0}};
    rows_.Clear();
    if (IsAwake(side->block)) step.AppendRows(alone, &rows_);
    nodes.Add(static_cast<int>(contact_nodes_.size()), side->nodes.weight(k));
    contact_nodes_.push_back(
        {VectorAt(model_.StateOf(*state_, side->block).q, 3 * side->nodes.node(k)),
         rows_.prescribed, static_cast<int>(posed_rows_.size()),
         static_cast<int>(rows_.parts().size())});
    for (const BlockRows::Part& part : rows_.parts()) {
      posed_rows_.push_back({first_of(side->block) + step.space().group_offset(part.group),
                             part.num_columns, posed_values_.size()});
      posed_values_.insert(posed_values_.end(), rows_.matrix(part),
                           rows_.matrix(part) + 3 * std::size_t(part.num_columns));
    }
  }
  side->nodes = nodes;
}

void SmoothBalance::PlaceContactNodes() {
  for (std::size_t k = 0; k < contact_nodes_.size(); ++k) {
    const ContactNode& node = contact_nodes_[k];
    Vector3d v = node.prescribed_W;
    for (const PosedRow& row : RowsOf(static_cast<int>(k))) {
      for (int j = 0; j < row.columns; ++j) v += v_[row.first + j] * ColumnOf(row, j);
    }
    for (int i = 0; i < 3; ++i) {
      node_velocities_.push_back(v[i]);
      node_positions_.push_back(node.start_W[i] + c_ * v[i]);
    }
  }
}

void SmoothBalance::Advance(std::span<const double> x, std::span<double> q) const {
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    const int p = model_.position_offsets[b];
    blocks_[b]->Advance(x.subspan(first_of(b), size_of(b)),
                        q.subspan(p, model_.position_offsets[b + 1] - p));
  }
}

void SmoothBalance::CalcTravel(std::span<double> x) const {
  CalcDifference(state_->q, q_, x);
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    if (posed_[b] != nullptr)
      std::copy_n(x_.begin() + first_of(b), size_of(b), x.begin() + first_of(b));
  }
}

void SmoothBalance::Store(State* state) const {
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    if (!IsAwake(b)) continue;
    const MutableBlockState end = model_.StateOf(state, b);
    if (posed_[b] != nullptr) {
      posed_[b]->step().Integrate(std::span(v_).subspan(first_of(b), size_of(b)), end);
      continue;
    }
    std::copy_n(q_.begin() + model_.position_offsets[b], end.q.size(), end.q.begin());
    std::copy_n(v_.begin() + first_of(b), end.v.size(), end.v.begin());
    if (end.internals != nullptr) blocks_[b]->StoreInternals(end.internals);
  }
}

void SmoothBalance::CalcDifference(std::span<const double> q0, std::span<const double> q1,
                                   std::span<double> x) const {
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    const int p = model_.position_offsets[b], size = model_.position_offsets[b + 1] - p;
    blocks_[b]->CalcDifference(q0.subspan(p, size), q1.subspan(p, size),
                               x.subspan(first_of(b), size_of(b)));
  }
}

void SmoothBalance::StartStage(std::span<const double> q_hat, std::span<const double> v_hat,
                               double c, double time) {
  q_hat_.assign(q_hat.begin(), q_hat.end());
  v_hat_.assign(v_hat.begin(), v_hat.end());
  c_ = c;
  time_ = time;

  // weights from the mass at (q̂, v̂)
  BlockSum mass;
  mass.Clear(num_velocities_);
  x_.assign(num_velocities_, 0.0);
  a_.assign(num_velocities_, 0.0);
  v_.assign(v_hat.begin(), v_hat.end());
  q_.assign(q_hat.begin(), q_hat.end());
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    if (!IsAwake(b)) continue;
    const int first = first_of(b), n = size_of(b), p = model_.position_offsets[b],
              size = model_.position_offsets[b + 1] - p;
    blocks_[b]->Place(time, std::span(x_).subspan(first, n), std::span(q_).subspan(p, size),
                      std::span(v_).subspan(first, n));
    wrenches_[b].setZero();
    blocks_[b]->AddJacobian(0, std::span(a_).subspan(first, n), wrenches_[b], first, &mass);
  }
  weights_.assign(size(), 0.0);
  for (const BlockSum::Entry& entry : mass.entries)
    if (entry.row == entry.column) weights_[entry.row] += entry.value;
  for (int i = 0; i < num_velocities_; ++i)
    weights_[i] = weights_[i] > 0 ? 1 / std::sqrt(weights_[i]) : 1;
  for (std::size_t k = 0; k < impulse_of_row_.size(); ++k) {
    const double W = stages_->system.rows[k].W;
    if (impulse_of_row_[k] >= 0) weights_[impulse_of_row_[k]] = W > 0 ? 1 / std::sqrt(W) : 1;
  }
}

void SmoothBalance::PlaceAll(std::span<const double> v) {
  v_.assign(v.begin(), v.begin() + num_velocities_);
  p_.assign(v.begin() + num_velocities_, v.end());
  x_.resize(num_velocities_);
  q_ = q_hat_;
  has_derivatives_.assign(frames_.size(), 0);
  node_positions_.assign(num_velocities_, 0.0);
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    const int first = first_of(b), n = size_of(b), p = model_.position_offsets[b],
              size = model_.position_offsets[b + 1] - p;
    const BlockAbilities& abilities = model_.abilities[b];
    wrenches_[b].setZero();
    const std::span<double> q = std::span(q_).subspan(p, size), x = std::span(x_).subspan(first, n);
    if (IsAwake(b)) {
      for (int i = 0; i < n; ++i) x[i] = c_ * v_[first + i];
      blocks_[b]->Advance(x, q);
      blocks_[b]->Place(time_, x, q, std::span(v_).subspan(first, n));
      if (abilities.frames != nullptr)
        blocks_[b]->CalcFrames(
            std::span(frames_).subspan(first_frame_[b], abilities.frames->num_frames()));
    } else {
      std::ranges::fill(x, 0.0);
      std::fill_n(v_.begin() + first, n, 0.0);
      if (abilities.frames != nullptr)
        abilities.frames->CalcFrames(
            model_.StateOf(*state_, b),
            std::span(frames_).subspan(first_frame_[b], abilities.frames->num_frames()));
    }
    // node positions, at the places of their velocities
    if (abilities.nodes != nullptr && posed_[b] == nullptr)
      std::copy_n(q.begin(), 3 * abilities.nodes->num_nodes(), node_positions_.begin() + first);
  }
  node_velocities_ = v_;
  PlaceContactNodes();
}

bool SmoothBalance::CalcResidual(std::span<const double> v, std::span<double> r) {
  PlaceAll(v);
  a_.resize(num_velocities_);
  for (int i = 0; i < num_velocities_; ++i) a_[i] = (v_[i] - v_hat_[i]) / c_;
  return CalcForces(a_, r);
}

bool SmoothBalance::CalcForces(std::span<const double> a, std::span<double> r) {
  std::ranges::fill(r, 0.0);
  // r starts with −c f of forces on nodes and along rows; blocks receive wrenches on frames
  status_ = absl::OkStatus();
  if (!AddContactForces(r) || !AddRowForces(r, p_)) return false;
  std::vector<double> residual;
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    const int first = first_of(b), n = size_of(b);
    if (!IsAwake(b)) {
      std::fill_n(r.begin() + first, n, 0.0);
      continue;
    }
    residual.resize(n);
    status_ = blocks_[b]->CalcResidual(a.subspan(first, n), wrenches_[b], residual);
    if (!status_.ok()) return false;
    for (int i = 0; i < n; ++i) r[first + i] += c_ * residual[i];
  }
  return std::ranges::all_of(r, [](double x) { return std::isfinite(x); });
}

bool SmoothBalance::AddContactForces(std::span<double> r) {
  const TrialConfiguration trial = configuration();
  contact_forces_.clear();
  contact_size_ = 0;
  for (const SmoothContact& contact : *contacts_) {
    const SmoothContactForce force = CalcContactForce(contact, trial);
    contact_forces_.push_back(force);
    if (contact.law.is_barrier && !(force.gap > 0)) return false;
    if (force.normal_force == 0 && force.force_W.isZero(0)) continue;
    for (const double sign : {-1.0, 1.0}) {
      const Attachment& side = sign < 0 ? contact.point->a : contact.point->b;
      if (side.block == kWorldBlock) continue;
      const Vector3d on_side = sign * force.force_W;
      if (IsOnFrame(side)) {
        const Vector3d arm = force.p_W - trial.frame(side.block, side.frame).X_WB.p;
        wrenches_[side.block].block<3, 1>(0, side.frame) += arm.cross(on_side);
        wrenches_[side.block].block<3, 1>(3, side.frame) += on_side;
        // squared impulse, divided by the mass of the body
        const double mass = model_.blocks[side.block]->mass(DynamicsBlock::kWholeBlock);
        if (mass > 0) contact_size_ += c_ * c_ * on_side.squaredNorm() / mass;
        continue;
      }
      const auto exert = [&](int at, double impulse) {
        r[at] -= impulse;
        contact_size_ += impulse * impulse * weights_[at] * weights_[at];
      };
      const NodeSet& nodes = *model_.abilities[side.block].nodes;
      for (int k = 0; k < side.nodes.size(); ++k) {
        const int node = side.nodes.node(k), at = first_of(side.block) + 3 * node;
        const Vector3d impulse = c_ * side.nodes.weight(k) * on_side;
        if (IsPosed(side)) {
          for (const PosedRow& row : RowsOf(node)) {
            for (int j = 0; j < row.columns; ++j)
              exert(row.first + j, impulse.dot(ColumnOf(row, j)));
          }
          continue;
        }
        if (nodes.is_node_prescribed(node)) continue;
        for (int i = 0; i < 3; ++i) exert(at + i, impulse[i]);
      }
    }
  }
  return true;
}

// Force of a row, and its derivatives with respect to gap and rate.
double SmoothBalance::CalcRowForce(int k, double gap, double rate, double* by_gap,
                                   double* by_rate) const {
  const ConstraintSystem::Row& row = stages_->system.rows[k];
  const SmoothOptions& options = model_.method.smooth;
  *by_gap = *by_rate = 0;
  if (row.dry_friction) {
    const double x = std::abs(rate) / options.stick_speed;
    *by_rate = x < 1 ? -row.upper * (2 - 2 * x) / options.stick_speed : 0;
    return -row.upper * solvers::CalcSlipFactor(x) * rate / options.stick_speed;
  }
  double stiffness = row.stiffness;
  if (std::isinf(stiffness) && row.lower < 0 && row.upper > 0) {
    // reaches the bound at an error of kBoundedTravel δ
    stiffness = std::max(-row.lower, row.upper) / (kBoundedTravel * options.contact_distance);
  } else if (std::isinf(stiffness)) {
    // a limit yields by about δ under a load like that of gravity
    const double distance = options.contact_distance;
    const double a = std::max(model_.gravity.norm(), kMinAcceleration);
    const double K = row_stiffening_ * 4 * a / (3 * distance * row.W);
    const double sign = row.lower == 0 ? 1 : -1, depth = std::max(0.0, -sign * gap);
    *by_gap = -6 * K * depth / distance;
    return sign * 3 * K * depth * depth / distance;
  }
  double slope = 1;
  double force = row.feedforward - stiffness * gap - row.damping * (rate - row.target_rate);
  force = CutAbove(force, row.upper, &slope);
  force = -CutAbove(-force, -row.lower, &slope);
  *by_gap = -stiffness * slope;
  *by_rate = -row.damping * slope;
  return force;
}

bool SmoothBalance::AddRowForces(std::span<double> r, std::span<const double> p) {
  const std::vector<ConstraintSystem::Row>& rows = stages_->system.rows;
  smallest_limit_gap_ = std::numeric_limits<double>::infinity();
  if (rows.empty()) return true;
  std::vector<double> travel(num_velocities_);
  CalcTravel(travel);
  for (int k = 0; k < static_cast<int>(rows.size()); ++k) {
    const ConstraintSystem::Row& row = rows[k];
    double gap = row.error + time_ * row.bias, rate = row.bias;
    const std::span entries =
        std::span(row_entries_)
            .subspan(first_row_entry_[k], first_row_entry_[k + 1] - first_row_entry_[k]);
    for (const RowEntry& entry : entries) {
      for (int i = 0; i < entry.columns; ++i) {
        gap += entry.J[i] * travel[entry.first + i];
        rate += entry.J[i] * v_[entry.first + i];
      }
    }
    double impulse = 0;
    const int unknown = impulse_of_row_[k];
    if (unknown >= 0) {
      impulse = p[unknown - num_velocities_];
      r[unknown] = gap / c_ + kRedundancy * row.W * impulse;
      row_forces_[k] = impulse / c_;
    } else {
      row_forces_[k] = CalcRowForce(k, gap, rate, &row_by_gap_[k], &row_by_rate_[k]);
      impulse = c_ * row_forces_[k];
      if (!row.dry_friction && std::isinf(row.stiffness) && !(row.lower < 0 && row.upper > 0))
        smallest_limit_gap_ =
            std::min(smallest_limit_gap_,
                     (row.lower == 0 ? gap : -gap) / model_.method.smooth.contact_distance);
    }
    for (const RowEntry& entry : entries) {
      for (int i = 0; i < entry.columns; ++i) r[entry.first + i] -= entry.J[i] * impulse;
    }
    contact_size_ += row.W * impulse * impulse;
  }
  return true;
}

double SmoothBalance::CalcScale(std::span<const double> v) const {
  double moving = 0, base = 0;
  for (int i = 0; i < num_velocities_; ++i) {
    moving += v[i] * v[i] / (weights_[i] * weights_[i]);
    base += v_hat_[i] * v_hat_[i] / (weights_[i] * weights_[i]);
  }
  return std::sqrt(std::max({moving, base, contact_size_, 1e-28}));
}

void SmoothBalance::CalcJacobian(BlockSum* jacobian) {
  GroupUnknowns(jacobian);
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    const int first = first_of(b), n = size_of(b);
    if (IsAwake(b)) {
      blocks_[b]->AddJacobian(c_, std::span(a_).subspan(first, n), wrenches_[b], first, jacobian);
    } else {
      for (int i = 0; i < n; ++i) jacobian->Add(first + i, first + i, 1);
    }
  }
  // only volumes have outer products (larionov2023 (20))
  if (!model_.method.smooth.exact_volume_tangent) jacobian->outers.clear();
  jacobian->num_lasting = jacobian->entries.size();
  rounding_ = CalcRounding(*jacobian);
  for (std::size_t k = 0; k < contacts_->size(); ++k) {
    const SmoothContact& contact = (*contacts_)[k];
    const bool acts = contact_forces_[k].normal_force != 0 || !contact_forces_[k].force_W.isZero(0);
    // entries of the many contacts of a posed block have the same places throughout the step
    if (acts || IsPosed(contact.point->a) || IsPosed(contact.point->b))
      AddContactJacobian(contact, acts, jacobian);
  }
  AddRowJacobian(jacobian);
}

// Rounding error of the residual: positions have errors dq of some 1e-16 of the largest one, which
// cause impulses c K dq, where c² K is the Jacobian without the mass.
double SmoothBalance::CalcRounding(const BlockSum& jacobian) const {
  double largest = 0;
  for (const double x : node_positions_) largest = std::max(largest, std::abs(x));
  for (const FrameMotion& frame : frames_) largest = std::max(largest, frame.X_WB.p.norm());
  const double dq = 4 * std::numeric_limits<double>::epsilon() * largest / c_;
  std::vector<double> diagonal(num_velocities_, 0.0);
  for (const BlockSum::Entry& entry : jacobian.entries)
    if (entry.row == entry.column) diagonal[entry.row] += entry.value;
  double squared = 0;
  for (int i = 0; i < num_velocities_; ++i) {
    const double w = weights_[i], stiffness = std::max(0.0, diagonal[i] - 1 / (w * w));
    squared += w * stiffness * dq * w * stiffness * dq;
  }
  for (const BlockSum::Outer& outer : jacobian.outers) {
    double of_u = 0, weighted = 0;
    for (std::size_t i = 0; i < outer.places.size(); ++i) {
      const double u = outer.values[i], scaled = u * weights_[outer.places[i]];
      of_u += u * u;
      weighted += scaled * scaled;
    }
    squared += weighted * outer.weight * dq * outer.weight * dq * of_u;
  }
  return std::sqrt(squared);
}

// The velocities of each block form groups of three: those of a node, or successive ones of a tree.
void SmoothBalance::GroupUnknowns(BlockSum* jacobian) const {
  for (std::size_t b = 0; b + 1 < blocks_.size(); ++b)
    jacobian->group_starts.push_back(first_of(static_cast<int>(b) + 1));
  if (num_impulses_ > 0) jacobian->group_starts.push_back(num_velocities_);
  jacobian->num_last = num_impulses_;
}

void SmoothBalance::AddContactJacobian(const SmoothContact& contact, bool acts,
                                       BlockSum* jacobian) {
  const TrialConfiguration trial = configuration();
  const SmoothContactTangent tangent = DifferentiateContact(contact, trial, with_sliding_basis);
  const int num_a = tangent.num_a, num = num_a + tangent.num_b;

  // A side: its velocities, the derivatives of its directions and of the relative velocity with
  // respect to them, and the map from the load on the side to them.
  struct Side {
    std::vector<int> velocities;
    MatrixXd directions;  // × c
    Eigen::Matrix<double, 3, Eigen::Dynamic> velocity;
    MatrixXd load_map;
  } sides[2];
  for (const int s : {0, 1}) {
    const Attachment& of = s == 0 ? contact.point->a : contact.point->b;
    Side& side = sides[s];
    const double sign = s == 0 ? -1 : 1;
    if (of.block == kWorldBlock || !IsAwake(of.block)) continue;
    const int first = first_of(of.block);
    if (of.nodes.empty()) {
      const int n = size_of(of.block);
      if (n == 0) continue;
      const int index = first_frame_[of.block] + of.frame;
      FrameDerivatives& derivatives = derivatives_[index];
      if (!has_derivatives_[index]) blocks_[of.block]->CalcFrameDerivatives(of.frame, &derivatives);
      has_derivatives_[index] = 1;
      for (int i = 0; i < n; ++i) side.velocities.push_back(first + i);
      side.directions = c_ * derivatives.displacement;
      const FrameMotion& frame = trial.frame(of.block, of.frame);
      side.velocity = sign * CalcPointJacobian(frame.X_WB, tangent.p_W) *
                      (derivatives.velocity + c_ * derivatives.velocity_by_position);
      side.load_map = derivatives.velocity.transpose();
      continue;
    }
    const int count = of.nodes.size();
    if (IsPosed(of)) {
      int columns = 0;
      for (int k = 0; k < count; ++k)
        for (const PosedRow& row : RowsOf(of.nodes.node(k))) columns += row.columns;
      side.directions.setZero(3 * count, columns);
      side.velocity.resize(3, columns);
      side.load_map.setZero(columns, 6);
      for (int k = 0, column = 0; k < count; ++k) {
        for (const PosedRow& row : RowsOf(of.nodes.node(k))) {
          for (int j = 0; j < row.columns; ++j, ++column) {
            const Vector3d J = ColumnOf(row, j), weighted = of.nodes.weight(k) * J;
            side.velocities.push_back(row.first + j);
            side.directions.block<3, 1>(3 * k, column) = c_ * J;
            side.velocity.col(column) = sign * weighted;
            side.load_map.block<1, 3>(column, 3) = weighted.transpose();
          }
        }
      }
      continue;
    }
    const NodeSet& nodes = *model_.abilities[of.block].nodes;
    side.directions.setZero(3 * count, 3 * count);
    side.velocity.setZero(3, 3 * count);
    side.load_map.setZero(3 * count, 6);
    for (int k = 0; k < count; ++k) {
      const bool is_free = !nodes.is_node_prescribed(of.nodes.node(k));
      for (int i = 0; i < 3; ++i) {
        side.velocities.push_back(first + 3 * of.nodes.node(k) + i);
        if (!is_free) continue;
        side.directions(3 * k + i, 3 * k + i) = c_;
        side.velocity(i, 3 * k + i) = sign * of.nodes.weight(k);
        side.load_map(3 * k + i, 3 + i) = of.nodes.weight(k);
      }
    }
  }
  for (const int s : {0, 1}) {
    if (sides[s].velocities.empty()) continue;
    const auto& loads = s == 0 ? tangent.on_a : tangent.on_b;
    for (const int t : {0, 1}) {
      const Side& by = sides[t];
      if (by.velocities.empty()) continue;
      const int first = t == 0 ? 0 : num_a, count = t == 0 ? num_a : tangent.num_b;
      const MatrixXd change =
          loads.middleCols(first, count) * by.directions + loads.middleCols(num, 3) * by.velocity;
      const MatrixXd block = -c_ * (sides[s].load_map * change);
      const Attachment &on = s == 0 ? contact.point->a : contact.point->b,
                       &of = t == 0 ? contact.point->a : contact.point->b;
      const bool is_within = IsPosed(on) && on.block == of.block;
      if (is_within && !acts) continue;
      if (is_within) {
        AddWithin(on, of, block, jacobian);
        continue;
      }
      for (int j = 0; j < block.cols(); ++j) {
        for (int i = 0; i < block.rows(); ++i)
          jacobian->Add(sides[s].velocities[i], by.velocities[j], block(i, j));
      }
    }
  }
}

// Adds a block of the Jacobian on the rows of two sides on the same posed block.
void SmoothBalance::AddWithin(const Attachment& on, const Attachment& of, const MatrixXd& block,
                              BlockSum* jacobian) {
  int j = 0;
  for (const int column_node : of.nodes.nodes()) {
    for (const PosedRow& column : RowsOf(column_node)) {
      int i = 0;
      for (const int row_node : on.nodes.nodes()) {
        for (const PosedRow& row : RowsOf(row_node)) {
          posed_[on.block]->AddTerms(row.first, column.first, row.columns, column.columns,
                                     &block(i, j), static_cast<int>(block.rows()), jacobian);
          i += row.columns;
        }
      }
      j += column.columns;
    }
  }
}

void SmoothBalance::AddRowJacobian(BlockSum* jacobian) {
  for (int k = 0; k < static_cast<int>(impulse_of_row_.size()); ++k) {
    const std::span entries =
        std::span(row_entries_)
            .subspan(first_row_entry_[k], first_row_entry_[k + 1] - first_row_entry_[k]);
    const int unknown = impulse_of_row_[k];
    const double slope = -c_ * (c_ * row_by_gap_[k] + row_by_rate_[k]);
    for (const RowEntry& entry : entries) {
      for (int i = 0; i < entry.columns; ++i) {
        if (unknown >= 0) {
          jacobian->Add(entry.first + i, unknown, -entry.J[i]);
          jacobian->Add(unknown, entry.first + i, entry.J[i]);
          continue;
        }
        for (const RowEntry& other : entries) {
          for (int j = 0; j < other.columns; ++j)
            jacobian->Add(entry.first + i, other.first + j, slope * entry.J[i] * other.J[j]);
        }
      }
    }
    if (unknown >= 0) jacobian->Add(unknown, unknown, kRedundancy * stages_->system.rows[k].W);
  }
}

bool SmoothBalance::CalcStartForces() {
  // r = −c f with c = 1 s, at x = 0
  start_residual_.resize(size());
  std::vector<double> v(v_start_);
  v.resize(size(), 0.0);
  c_ = 0;
  PlaceAll(v);
  c_ = 1;
  a_.assign(num_velocities_, 0.0);
  return CalcForces(a_, start_residual_);
}

bool SmoothBalance::CalcStartAccelerations(solvers::DampedNewton* solver, std::vector<double>* a) {
  std::vector<double> r = start_residual_;
  const std::vector<double> zero(num_velocities_, 0.0);
  BlockSum mass;
  mass.Clear(size());
  GroupUnknowns(&mass);
  for (int b = 0; b < static_cast<int>(blocks_.size()); ++b) {
    const int first = first_of(b), n = size_of(b);
    if (IsAwake(b)) {
      blocks_[b]->AddJacobian(0, std::span(zero).subspan(first, n), wrenches_[b], first, &mass);
    } else {
      for (int i = 0; i < n; ++i) mass.Add(first + i, first + i, 1);
    }
  }
  for (int k = 0; k < static_cast<int>(impulse_of_row_.size()); ++k) {
    if (impulse_of_row_[k] < 0) continue;
    r[impulse_of_row_[k]] = 0;
    for (int e = first_row_entry_[k]; e < first_row_entry_[k + 1]; ++e) {
      const RowEntry& entry = row_entries_[e];
      for (int i = 0; i < entry.columns; ++i) {
        mass.Add(entry.first + i, impulse_of_row_[k], -entry.J[i]);
        mass.Add(impulse_of_row_[k], entry.first + i, entry.J[i]);
      }
    }
    mass.Add(impulse_of_row_[k], impulse_of_row_[k], kRedundancy * stages_->system.rows[k].W);
  }
  for (double& x : r) x = -x;
  std::vector<double> solution(size());
  if (!solver->SolveLinear(mass, r, solution)) return false;
  a->assign(solution.begin(), solution.begin() + num_velocities_);
  for (std::size_t k = 0; k < impulse_of_row_.size(); ++k)
    if (impulse_of_row_[k] >= 0) row_forces_[k] = solution[impulse_of_row_[k]];
  return true;
}

}  // namespace pliant::physics
