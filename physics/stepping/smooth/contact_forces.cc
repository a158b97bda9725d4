#include "physics/stepping/smooth/contact_forces.h"

#include <algorithm>

namespace pliant::physics {

using Eigen::Vector3d;
using solvers::BlockSum;
using solvers::FrictionDual;

void ContactForces::Start(const StepStages& stages, const State& state,
                          std::vector<SmoothContact>* contacts) {
  contacts_ = contacts;
  duals_.clear();
  points_ = stages.contacts.points;
  nodes_.clear();
  posed_rows_.clear();
  posed_values_.clear();
  if (!blocks_.is_any_posed()) return;
  attached_points_ = stages.contacts.points;
  points_ = attached_points_;
  for (ContactPoint& point : attached_points_)
    for (Attachment* side : {&point.a, &point.b}) AttachToPosed(state, side);
}

// Attaches the side of a contact on a posed block to nodes of its own.
void ContactForces::AttachToPosed(const State& state, Attachment* side) {
  if (!IsPosed(*side)) return;
  const BlockStep& step = blocks_.step(side->block);
  NodeWeights weights;
  for (int k = 0; k < side->nodes.size(); ++k) {
    Attachment alone = *side;
    alone.nodes = {{side->nodes.node(k), 1.0}};
    rows_.Clear();
    if (blocks_.is_awake(side->block)) step.AppendRows(alone, &rows_);
    weights.Add(static_cast<int>(nodes_.size()), side->nodes.weight(k));
    const int first_row = static_cast<int>(posed_rows_.size());
    rows_.ForEachPart([&](int group, int num_columns, const double* J) {
      posed_rows_.push_back({blocks_.first_of(side->block) + step.space().group_offset(group),
                             num_columns, posed_values_.size()});
      posed_values_.insert(posed_values_.end(), J, J + 3 * std::size_t(num_columns));
    });
    nodes_.push_back(
        {VectorAt(blocks_.model().StateOf(state, side->block).q, 3 * side->nodes.node(k)),
         rows_.prescribed, first_row, static_cast<int>(posed_rows_.size()) - first_row});
  }
  side->nodes = weights;
}

void ContactForces::Place(double c, std::span<const double> v, std::vector<double>* positions,
                          std::vector<double>* velocities) {
  std::ranges::fill(has_derivatives_, 0);
  for (int k = 0; k < static_cast<int>(nodes_.size()); ++k) {
    Vector3d v_node = nodes_[k].prescribed_W;
    for (const PosedRow& row : RowsOf(k))
      for (int j = 0; j < row.columns; ++j) v_node += v[row.first + j] * ColumnOf(row, j);
    for (int i = 0; i < 3; ++i) {
      velocities->push_back(v_node[i]);
      positions->push_back(nodes_[k].start_W[i] + c * v_node[i]);
    }
  }
}

template <typename F>
void ContactForces::VisitUnknowns(const Attachment& side, int node, const F& f) const {
  if (IsPosed(side)) {
    for (const PosedRow& row : RowsOf(node))
      for (int j = 0; j < row.columns; ++j) f(row.first + j, ColumnOf(row, j));
    return;
  }
  if (blocks_.model().abilities[side.block].nodes->is_node_prescribed(node)) return;
  const int first = blocks_.first_of(side.block) + 3 * node;
  for (int i = 0; i < 3; ++i) f(first + i, Vector3d(Vector3d::Unit(i)));
}

bool ContactForces::Add(const TrialConfiguration& trial, double c, std::span<const double> weights,
                        std::span<double> r, std::span<SpatialColumns> wrenches, double* squares) {
  c_ = c;
  forces_.clear();
  for (const SmoothContact& contact : *contacts_) {
    const SmoothContactForce force = CalcContactForce(contact, trial);
    forces_.push_back(force);
    if (contact.law.is_barrier && !(force.gap > 0)) return false;
    if (!force.acts()) continue;
    for (const double sign : {-1.0, 1.0}) {
      const Attachment& side = sign < 0 ? contact.point->a : contact.point->b;
      if (side.block == kWorldBlock) continue;
      const Vector3d on_side = sign * force.force_W;
      if (side.is_on_frame()) {
        const Vector3d arm = force.p_W - trial.frame(side.block, side.frame).X_WB.p;
        wrenches[side.block].block<3, 1>(0, side.frame) += arm.cross(on_side);
        wrenches[side.block].block<3, 1>(3, side.frame) += on_side;
        const double mass = blocks_.model().blocks[side.block]->mass(DynamicsBlock::kWholeBlock);
        if (mass > 0) *squares += c_ * c_ * on_side.squaredNorm() / mass;
        continue;
      }
      for (int k = 0; k < side.nodes.size(); ++k) {
        const Vector3d on_node = c_ * side.nodes.weight(k) * on_side;
        VisitUnknowns(side, side.nodes.node(k), [&](int at, const Vector3d& J) {
          const double impulse = on_node.dot(J);
          r[at] -= impulse;
          *squares += impulse * impulse * weights[at] * weights[at];
        });
      }
    }
  }
  return true;
}

void ContactForces::AddJacobian(const TrialConfiguration& trial, bool with_sliding_basis,
                                BlockSum* jacobian) {
  for (std::size_t k = 0; k < contacts_->size(); ++k) {
    const SmoothContact& contact = (*contacts_)[k];
    // entries of the many contacts of a posed block have the same places throughout the step
    const bool acts = forces_[k].acts();
    FrictionDual* const dual = duals_.empty() ? nullptr : &duals_[k];
    if (dual != nullptr) dual->Update(forces_[k].relative_slip_W);
    if (!acts && !IsPosed(contact.point->a) && !IsPosed(contact.point->b)) continue;
    AddTangent(trial, contact, DifferentiateContact(contact, trial, with_sliding_basis, dual), acts,
               jacobian);
  }
}

const FrameDerivatives& ContactForces::DerivativesOf(const TrialConfiguration& trial,
                                                     const Attachment& side) {
  derivatives_.resize(trial.frames.size());
  has_derivatives_.resize(trial.frames.size(), 0);
  const int index = trial.first_frame[side.block] + side.frame;
  if (!has_derivatives_[index])
    blocks_.balance(side.block).CalcFrameDerivatives(side.frame, &derivatives_[index]);
  has_derivatives_[index] = 1;
  return derivatives_[index];
}

// Finds the velocities of a side, 0: A, 1: B, and the changes of the contact's loads by them.
void ContactForces::FindVelocities(const TrialConfiguration& trial, const SmoothContact& contact,
                                   const SmoothContactTangent& tangent, int side) {
  std::vector<Velocity>& found = velocities_[side];
  found.clear();
  const Attachment& of = side == 0 ? contact.point->a : contact.point->b;
  if (of.block == kWorldBlock || !blocks_.is_awake(of.block)) return;
  // columns of the loads' derivatives: directions of the side, and the relative velocity of B
  const int first = 6 * side, relative = 12;
  const double sign = side == 0 ? -1 : 1;
  if (of.is_on_frame()) {
    const int n = blocks_.size_of(of.block);
    if (n == 0) return;
    const FrameDerivatives& derivatives = DerivativesOf(trial, of);
    const SpatialColumns velocity = derivatives.velocity + c_ * derivatives.velocity_by_position;
    const Eigen::Matrix<double, 3, 6> at_point =
        sign * CalcPointJacobian(trial.frame(of.block, of.frame).X_WB, tangent.p_W);
    for (int j = 0; j < n; ++j) {
      Velocity& v = found.emplace_back();
      v.index = blocks_.first_of(of.block) + j;
      v.load_map = derivatives.velocity.col(j);
      v.gap_change = c_ * tangent.gap.middleCols<6>(first).dot(derivatives.displacement.col(j));
      for (const int s : {0, 1}) {
        v.changes[s] = tangent.on[s].middleCols<6>(first) * (c_ * derivatives.displacement.col(j)) +
                       tangent.on[s].middleCols<3>(relative) * (at_point * velocity.col(j));
      }
    }
    return;
  }
  for (int k = 0; k < of.nodes.size(); ++k) {
    const double weight = of.nodes.weight(k);
    Eigen::Matrix<double, 6, 3> by_node[2];
    Eigen::RowVector3d gap_by_node = c_ * weight * tangent.gap.middleCols<3>(first + 3);
    if (k < tangent.turns[side].num_nodes)
      gap_by_node += c_ * tangent.gap.middleCols<3>(first) * tangent.turns[side].of_node[k];
    for (const int s : {0, 1}) {
      const SmoothContactTangent::Loads& loads = tangent.on[s];
      by_node[s] =
          weight * (c_ * loads.middleCols<3>(first + 3) + sign * loads.middleCols<3>(relative));
      if (k < tangent.turns[side].num_nodes)
        by_node[s] += c_ * loads.middleCols<3>(first) * tangent.turns[side].of_node[k];
    }
    VisitUnknowns(of, of.nodes.node(k), [&](int at, const Vector3d& J) {
      Velocity& v = found.emplace_back();
      v.index = at;
      v.load_map << Vector3d::Zero(), weight * J;
      v.gap_change = gap_by_node.dot(J);
      for (const int s : {0, 1}) v.changes[s] = by_node[s] * J;
    });
  }
}

void ContactForces::AddTangent(const TrialConfiguration& trial, const SmoothContact& contact,
                               const SmoothContactTangent& tangent, bool acts, BlockSum* jacobian) {
  for (const int side : {0, 1}) FindVelocities(trial, contact, tangent, side);
  for (const int s : {0, 1}) {
    for (const int t : {0, 1}) {
      const std::vector<Velocity>&on = velocities_[s], &by = velocities_[t];
      if (on.empty() || by.empty()) continue;
      const Attachment &side = s == 0 ? contact.point->a : contact.point->b,
                       &other = t == 0 ? contact.point->a : contact.point->b;
      const bool is_within = IsPosed(side) && side.block == other.block,
                 has_friction = !tangent.friction_by_gap[s].isZero(0);
      if (is_within && !acts) continue;
      block_.resize(static_cast<int>(on.size()), static_cast<int>(by.size()));
      for (std::size_t j = 0; j < by.size(); ++j) {
        const Eigen::Vector<double, 6> change = -c_ * by[j].changes[s];
        for (std::size_t i = 0; i < on.size(); ++i) {
          const double value = on[i].load_map.dot(change);
          if (is_within) {
            block_(static_cast<int>(i), static_cast<int>(j)) = value;
          } else {
            if (has_friction) {
              const double friction = on[i].load_map.dot(tangent.friction_by_gap[s]);
              jacobian->one_sided.push_back(
                  {jacobian->entries.size(), -c_ * friction * by[j].gap_change});
            }
            jacobian->Add(on[i].index, by[j].index, value);
          }
        }
      }
      if (is_within) AddWithin(side, other, jacobian);
    }
  }
}

// Adds block_, which is on the rows of two sides on the same posed block, to the block's entries.
void ContactForces::AddWithin(const Attachment& on, const Attachment& of,
                              BlockSum* jacobian) const {
  int j = 0;
  for (const int column_node : of.nodes.nodes()) {
    for (const PosedRow& column : RowsOf(column_node)) {
      int i = 0;
      for (const int row_node : on.nodes.nodes()) {
        for (const PosedRow& row : RowsOf(row_node)) {
          blocks_.posed(on.block)->AddTerms(row.first, column.first, row.columns, column.columns,
                                            &block_(i, j), static_cast<int>(block_.rows()),
                                            jacobian);
          i += row.columns;
        }
      }
      j += column.columns;
    }
  }
}

}  // namespace pliant::physics
