#include "physics/stepping/corrective_geometry.h"

#include <algorithm>
#include <cmath>

#include "physics/spatial/demand.h"

namespace pliant::physics {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using solvers::MappedPart;
using solvers::CorrectiveProblem;

namespace {

Attachment AttachToNode(int block, int node) {
  Attachment attachment;
  attachment.block = block;
  attachment.num_nodes = 1;
  attachment.nodes[0] = node;
  attachment.weights[0] = 1;
  return attachment;
}

// The least rotation that takes the unit vector a to b.
Matrix3d TurnOnto(const Vector3d& a, const Vector3d& b) {
  const double cosine = a.dot(b);
  if (cosine < -0.999) return Matrix3d::Identity();
  const Matrix3d cross = CrossMatrix(a.cross(b));
  return Matrix3d::Identity() + cross + cross * cross / (1 + cosine);
}

// Axes along a triangle's first side and its normal; false of one without area.
bool CalcTriad(const Vector3d& a, const Vector3d& b, const Vector3d& c, Matrix3d* triad) {
  const Vector3d side = b - a, normal = side.cross(c - a);
  const double length = std::sqrt(side.squaredNorm()), area = std::sqrt(normal.squaredNorm());
  if (!(length > 0) || !(area > 0)) return false;
  triad->col(0) = side / length;
  triad->col(2) = normal / area;
  triad->col(1) = triad->col(2).cross(triad->col(0));
  return true;
}

// Half way between two rotations.
Matrix3d CalcMeanTurn(const Matrix3d& a, const Matrix3d& b) {
  Eigen::Quaterniond p(a), q(b);
  if (p.coeffs().dot(q.coeffs()) < 0) q.coeffs() = -q.coeffs();
  p.coeffs() += q.coeffs();
  p.coeffs() /= std::sqrt(p.coeffs().squaredNorm());
  return p.toRotationMatrix();
}

}  // namespace

int CorrectiveGeometry::FindCarrier(const CarrierKey& key) const {
  const auto found = std::lower_bound(
      carriers_.begin(), carriers_.end(), key,
      [](const Carrier& carrier, const CarrierKey& wanted) { return carrier.key < wanted; });
  return static_cast<int>(found - carriers_.begin());
}

void CorrectiveGeometry::CollectCarriers() {
  keys_.clear();
  const auto add = [this](const Attachment& side) {
    if (side.block == kWorldBlock) return;
    if (side.num_nodes == 0) keys_.push_back({side.block, CarrierKind::kFrame, side.frame});
    for (int k = 0; k < side.num_nodes; ++k)
      if (side.weights[k] != 0) keys_.push_back({side.block, CarrierKind::kNode, side.nodes[k]});
  };
  for (const ContactPoint& contact : stages_.contacts.points) {
    add(contact.a);
    add(contact.b);
  }
  for (const ConstraintRow& row : stages_.constraints.rows) {
    for (int t = row.first_term; t < row.first_term + row.num_terms; ++t) {
      const ConstraintTerm& term = stages_.constraints.terms[t];
      if (term.velocity < 0) {
        add(term.attachment);
      } else if (term.attachment.block != kWorldBlock) {
        keys_.push_back({term.attachment.block, CarrierKind::kVelocity, term.velocity});
      }
    }
  }
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
}

// Rows of H of one carrier, and its free motion.
void CorrectiveGeometry::AppendRows(const Carrier& carrier, CorrectiveProblem* problem) {
  const auto& [block, kind, index] = carrier.key;
  const BlockStep& step = *stages_.blocks.steps[block];
  const auto append = [&](int row) {
    for (const BlockRows::Part& part : rows_.parts()) {
      const int first = stages_.participation.FindVelocity(block, part.group);
      // what does not take part moves nothing that is told here
      if (first < 0) continue;
      problem->entries.push_back({carrier.active, row, 3,
                                  first - stages_.system.blocks[carrier.active].first,
                                  part.num_columns, problem->values.size()});
      const double* J = rows_.matrix(part);
      problem->values.insert(problem->values.end(), J, J + 3 * std::size_t(part.num_columns));
    }
  };
  const auto bias = [&](int row, const Vector3d& velocity) {
    for (int r = 0; r < 3; ++r) problem->y_free[row + r] = velocity[r];
  };
  switch (kind) {
    case CarrierKind::kNode: {
      const Attachment node = AttachToNode(block, index);
      rows_.Clear();
      step.AppendRows(node, &rows_);
      append(carrier.row);
      bias(carrier.row, step.CalcPrescribedVelocity(node));
      break;
    }
    case CarrierKind::kFrame: {
      Attachment frame;
      frame.block = block;
      frame.frame = index;
      frame.p_W = start_[first_frame_[block] + index].X_WB.p;
      rows_.Clear();
      const FrameStep& frames = *stages_.blocks.abilities[block].frames;
      frames.AppendAngularRows(frame, &rows_);
      append(carrier.row);
      rows_.Clear();
      step.AppendRows(frame, &rows_);
      append(carrier.row + 3);
      bias(carrier.row, frames.CalcPrescribedAngularVelocity(frame));
      bias(carrier.row + 3, step.CalcPrescribedVelocity(frame));
      break;
    }
    case CarrierKind::kVelocity: {
      const int group = step.space().group_of_velocity(index);
      const int first = stages_.participation.FindVelocity(block, group);
      if (first < 0) break;
      problem->entries.push_back({carrier.active, carrier.row, 1,
                                  first + index - step.space().group_offset(group) -
                                      stages_.system.blocks[carrier.active].first,
                                  1, problem->values.size()});
      problem->values.push_back(1);
      break;
    }
  }
}

CorrectiveGeometry::Side CorrectiveGeometry::MakeSide(const Attachment& attachment,
                                                      const Vector3d& core, double sign,
                                                      CorrectiveProblem* problem) {
  Side side;
  side.first_part = static_cast<int>(problem->parts.size());
  side.sign = sign;
  side.core = side.start = core;
  if (attachment.block == kWorldBlock) return side;
  const auto add = [&](const CarrierKey& key, double weight) {
    const Carrier& carrier = carriers_[FindCarrier(key)];
    side.carrier[side.num_parts] = FindCarrier(key);
    side.weight[side.num_parts++] = weight;
    MappedPart& part = problem->parts.emplace_back();
    part.block = carrier.active;
    part.row = carrier.row;
    part.height = carrier.height;
  };
  if (attachment.num_nodes == 0) {
    side.is_frame = true;
    side.moved = first_frame_[attachment.block] + attachment.frame;
    side.core = start_[side.moved].X_WB.Inverse() * core;
    add({attachment.block, CarrierKind::kFrame, attachment.frame}, 1);
  }
  for (int k = 0; k < attachment.num_nodes; ++k) {
    if (attachment.weights[k] != 0)
      add({attachment.block, CarrierKind::kNode, attachment.nodes[k]}, attachment.weights[k]);
  }
  return side;
}

void CorrectiveGeometry::Build(const State& state, double h, CorrectiveProblem* problem) {
  state_ = &state;
  h_ = h;
  problem->Clear();
  CollectCarriers();

  // where the frames are that carry something
  first_frame_.assign(model_.blocks.size(), -1);
  int count = 0;
  for (const CarrierKey& key : keys_) {
    if (key.kind != CarrierKind::kFrame || first_frame_[key.block] >= 0) continue;
    first_frame_[key.block] = count;
    count += model_.abilities[key.block].frames->num_frames();
  }
  start_.resize(count);
  for (std::size_t b = 0; b < model_.blocks.size(); ++b) {
    if (first_frame_[b] < 0) continue;
    const FrameSet& frames = *model_.abilities[b].frames;
    frames.CalcFrames(model_.StateOf(state, static_cast<int>(b)),
                      {&start_[first_frame_[b]], static_cast<std::size_t>(frames.num_frames())});
  }

  // rows of H, block by block; of what is prescribed at the end
  carriers_.clear();
  for (const CarrierKey& key : keys_) {
    const int height = key.kind == CarrierKind::kFrame ? 6 : key.kind == CarrierKind::kNode ? 3 : 1;
    carriers_.push_back({key, height, stages_.participation.index_of_block[key.block], -1});
  }
  int rows = 0;
  std::size_t next = 0;
  for (int a = 0; a < static_cast<int>(stages_.system.blocks.size()); ++a) {
    const Participation::Block& active = stages_.participation.blocks[a];
    const int first_row = rows;
    for (; next < carriers_.size() && carriers_[next].key.block <= active.block; ++next) {
      if (carriers_[next].key.block != active.block) continue;
      carriers_[next].row = rows;
      rows += carriers_[next].height;
    }
    problem->blocks.push_back({active.size, stages_.system.blocks[a].A.dense.data(), first_row,
                               rows - first_row, active.first});
  }
  for (Carrier& carrier : carriers_) {
    if (carrier.row >= 0) continue;
    carrier.row = rows;
    rows += carrier.height;
  }
  problem->y_free.assign(rows, 0.0);
  for (const Carrier& carrier : carriers_) {
    const std::size_t before = problem->entries.size();
    AppendRows(carrier, problem);
    PLIANT_DEMAND(carrier.active >= 0 || problem->entries.size() == before);
  }
  for (const solvers::MappingCompliance::Entry& entry : problem->entries) {
    const int first = problem->blocks[entry.block].first_velocity + entry.first;
    const double* v = &stages_.system.v_star[first];
    const double* J = &problem->values[entry.values];
    for (int j = 0; j < entry.columns; ++j)
      for (int r = 0; r < entry.height; ++r) problem->y_free[entry.row + r] += *J++ * v[j];
  }

  // contacts and constraints on their carriers
  starts_.clear();
  for (const ContactPoint& contact : stages_.contacts.points) {
    solvers::CorrectiveContact& row = problem->contacts.emplace_back();
    row.first_part = static_cast<int>(problem->parts.size());
    Start& start = starts_.emplace_back();
    const Vector3d n = contact.R_WC.col(2);
    start.a = MakeSide(contact.a, contact.a.p_W - contact.radius_a * n, -1, problem);
    start.b = MakeSide(contact.b, contact.b.p_W + contact.radius_b * n, 1, problem);
    start.a.radius = contact.radius_a;
    start.b.radius = contact.radius_b;
    start.R_WC = contact.R_WC;
    start.gap = contact.gap;
    start.apart = contact.b.p_W - contact.a.p_W;
    start.source = contact.normal_source;
    start.axis = contact.axis_W;
    for (const Side* side : {&start.a, &start.b})
      if (side->is_frame && side->radius > 0)
        start.axis = start_[side->moved].X_WB.R.transpose() * contact.axis_W;
    row.num_parts = static_cast<int>(problem->parts.size()) - row.first_part;
    row.friction = contact.friction;
  }
  terms_.clear();
  first_term_.assign(1, 0);
  errors_.clear();
  for (const ConstraintRow& constraint : stages_.constraints.rows) {
    solvers::CorrectiveContact& row = problem->contacts.emplace_back();
    row.first_part = static_cast<int>(problem->parts.size());
    for (int t = constraint.first_term; t < constraint.first_term + constraint.num_terms; ++t) {
      const ConstraintTerm& given = stages_.constraints.terms[t];
      if (given.attachment.block == kWorldBlock) continue;
      Term& term = terms_.emplace_back();
      term.linear = given.linear_W;
      term.angular = given.angular_W;
      term.factor = given.factor;
      term.is_velocity = given.velocity >= 0;
      if (term.is_velocity) {
        term.side.first_part = static_cast<int>(problem->parts.size());
        term.side.num_parts = 1;
        const Carrier& carrier = carriers_[FindCarrier(
            {given.attachment.block, CarrierKind::kVelocity, given.velocity})];
        MappedPart& part = problem->parts.emplace_back();
        part.block = carrier.active;
        part.row = carrier.row;
        part.height = 1;
        part.J[2] = given.factor;
      } else {
        term.side = MakeSide(given.attachment, given.attachment.p_W, 1, problem);
      }
    }
    first_term_.push_back(static_cast<int>(terms_.size()));
    row.num_parts = static_cast<int>(problem->parts.size()) - row.first_part;
    errors_.push_back(0);
  }
  Reset(problem);
}

void CorrectiveGeometry::Reset(CorrectiveProblem* problem) {
  moved_.assign(start_.begin(), start_.end());
  for (std::size_t c = 0; c < starts_.size(); ++c) {
    const ContactPoint& contact = stages_.contacts.points[c];
    solvers::CorrectiveContact& row = problem->contacts[c];
    row.R_WC = contact.R_WC;
    row.gap = contact.gap;
    row.slip_W.setZero();
    row.u_reference.setZero();
    WriteParts(starts_[c].a, contact.a.p_W, -1, problem);
    WriteParts(starts_[c].b, contact.b.p_W, 1, problem);
  }
  for (std::size_t k = 0; k < errors_.size(); ++k) {
    UpdateConstraint(static_cast<int>(k), problem->y_free, problem);
    solvers::CorrectiveContact& row = problem->contacts[starts_.size() + k];
    row.gap = errors_[k];
    row.u_reference.setZero();
  }
}

// J of one side's parts: the velocity of the point `point` that goes with it, times `sign`.
void CorrectiveGeometry::WriteParts(const Side& side, const Vector3d& point, double sign,
                                    CorrectiveProblem* problem) const {
  for (int k = 0; k < side.num_parts; ++k) {
    MappedPart& part = problem->parts[side.first_part + k];
    if (!side.is_frame) {
      const double w = sign * side.weight[k];
      part.J[0] = part.J[4] = part.J[8] = w;
      continue;
    }
    const Vector3d arm = point - moved_[side.moved].X_WB.p;
    Eigen::Map<Eigen::Matrix<double, 3, 6>> J(part.J.data());
    J.leftCols<3>() = -sign * CrossMatrix(arm);
    J.rightCols<3>() = sign * Matrix3d::Identity();
  }
}

// Trial positions of a block under the impulses F, exactly as the step would end there.
void CorrectiveGeometry::MoveBlock(int block, std::span<const double> F) {
  const BlockStep& step = *stages_.blocks.steps[block];
  const int active = stages_.participation.index_of_block[block];
  const std::span<const double> v_free =
      stages_.blocks.spaces.Part(block, stages_.reduction.v_star);
  v_.assign(v_free.begin(), v_free.end());
  if (active >= 0) {
    const solvers::ConstraintSystem::Block& of = stages_.system.blocks[active];
    dv_.resize(stages_.system.num_velocities);
    compliance_->CalcVelocityChange(active, F, dv_);
    v_p_.resize(of.size);
    for (int i = 0; i < of.size; ++i)
      v_p_[i] = stages_.system.v_star[of.first + i] + dv_[of.first + i];
    step.Complete(v_p_, v_);
  }
  const BlockState start = model_.StateOf(*state_, block);
  q_.assign(start.q.begin(), start.q.end());
  v_end_.assign(start.v.begin(), start.v.end());
  internals_.assign(start.internals.begin(), start.internals.end());
  step.Integrate(v_, {q_, v_end_, &internals_});
  const FrameSet& frames = *model_.abilities[block].frames;
  frames.CalcFrames({q_, v_end_, internals_},
                    {&moved_[first_frame_[block]], static_cast<std::size_t>(frames.num_frames())});
}

void CorrectiveGeometry::UpdatePoses(std::span<const double> F, int first, int last) {
  const int num_contacts = static_cast<int>(starts_.size());
  is_due_.assign(model_.blocks.size(), 0);
  const auto mark = [this](const Side& side) {
    if (side.is_frame) is_due_[carriers_[side.carrier[0]].key.block] = 1;
  };
  for (int i = first; i < last; ++i) {
    if (i < num_contacts) {
      mark(starts_[i].a);
      mark(starts_[i].b);
      continue;
    }
    const int k = i - num_contacts;
    for (int t = first_term_[k]; t < first_term_[k + 1]; ++t) mark(terms_[t].side);
  }
  for (std::size_t b = 0; b < is_due_.size(); ++b)
    if (is_due_[b]) MoveBlock(static_cast<int>(b), F);
}

CorrectiveGeometry::Moved CorrectiveGeometry::Move(const Side& side,
                                                   std::span<const double> y) const {
  Moved moved{side.start, Vector3d::Zero()};
  if (side.is_frame) {
    moved.core = moved_[side.moved].X_WB * side.core;
    moved.spin = VectorAt(y, carriers_[side.carrier[0]].row);
    return moved;
  }
  for (int k = 0; k < side.num_parts; ++k)
    moved.core += h_ * side.weight[k] * VectorAt(y, carriers_[side.carrier[k]].row);
  return moved;
}

// Where a node of a side is, at velocities y; at the start without any.
Vector3d CorrectiveGeometry::NodeAt(const Side& side, int k, std::span<const double> y) const {
  const Carrier& carrier = carriers_[side.carrier[k]];
  const Vector3d start =
      VectorAt(model_.Positions(*state_, carrier.key.block), 3 * carrier.key.index);
  return y.empty() ? start : Vector3d(start + h_ * VectorAt(y, carrier.row));
}

bool CorrectiveGeometry::CalcTurn(const Side& side, std::span<const double> y,
                                  Matrix3d* turn) const {
  turn->setIdentity();
  if (side.is_frame) {
    *turn = moved_[side.moved].X_WB.R * start_[side.moved].X_WB.R.transpose();
    return true;
  }
  if (side.num_parts < 3) return side.num_parts == 0;  // the world stands still
  Matrix3d before, after;
  if (!CalcTriad(NodeAt(side, 0, {}), NodeAt(side, 1, {}), NodeAt(side, 2, {}), &before) ||
      !CalcTriad(NodeAt(side, 0, y), NodeAt(side, 1, y), NodeAt(side, 2, y), &after))
    return false;
  *turn = after * before.transpose();
  return true;
}

Matrix3d CorrectiveGeometry::CalcFrame(const Start& start, std::span<const double> y,
                                       const Moved& a, const Moved& b) const {
  Matrix3d turn, other;
  switch (start.source) {
    case NormalSource::kFixed:
      return start.R_WC;
    case NormalSource::kA:
    case NormalSource::kB:
      CalcTurn(start.source == NormalSource::kA ? start.a : start.b, y, &turn);
      return turn * start.R_WC;
    case NormalSource::kBoth: {
      const bool is_edges = !start.a.is_frame && !start.b.is_frame && start.a.num_parts == 2 &&
                            start.b.num_parts == 2;
      if (!is_edges) {
        CalcTurn(start.a, y, &turn);
        CalcTurn(start.b, y, &other);
        return CalcMeanTurn(turn, other) * start.R_WC;
      }
      Vector3d n = (NodeAt(start.a, 1, y) - NodeAt(start.a, 0, y))
                       .cross(NodeAt(start.b, 1, y) - NodeAt(start.b, 0, y));
      const double norm = std::sqrt(n.squaredNorm());
      if (!(norm > 0)) return start.R_WC;
      n /= norm;
      if (n.dot(start.R_WC.col(2)) < 0) n = -n;
      return TurnOnto(start.R_WC.col(2), n) * start.R_WC;
    }
    case NormalSource::kBetween: {
      Vector3d n = b.core - a.core - start.apart;
      for (const Side* side : {&start.a, &start.b}) {
        if (!side->is_frame || !(side->radius > 0) || start.axis.isZero(0)) continue;
        const Vector3d axis = moved_[side->moved].X_WB.R * start.axis;
        n -= axis.dot(n) * axis;
      }
      const double norm = std::sqrt(n.squaredNorm());
      if (!(norm > 0)) return start.R_WC;
      return TurnOnto(start.R_WC.col(2), n / norm) * start.R_WC;
    }
  }
  return start.R_WC;
}

void CorrectiveGeometry::UpdateContact(int contact, std::span<const double> y,
                                       CorrectiveProblem* problem) {
  const Start& start = starts_[contact];
  solvers::CorrectiveContact& row = problem->contacts[contact];
  const Moved a = Move(start.a, y), b = Move(start.b, y);
  row.R_WC = CalcFrame(start, y, a, b);
  const Vector3d n = row.R_WC.col(2);
  const Vector3d arm_a = start.a.radius * n, arm_b = -start.b.radius * n;
  row.gap = start.gap + n.dot(b.core - a.core - start.apart) - start.a.radius - start.b.radius;
  // round sides roll: what turns past the contact has moved along it
  row.slip_W = (b.core - start.b.start) - (a.core - start.a.start) +
               h_ * (b.spin.cross(arm_b) - a.spin.cross(arm_a));
  WriteParts(start.a, a.core + arm_a, -1, problem);
  WriteParts(start.b, b.core + arm_b, 1, problem);
}

void CorrectiveGeometry::UpdateConstraint(int constraint, std::span<const double> y,
                                          CorrectiveProblem* problem) {
  const int num_contacts = static_cast<int>(starts_.size());
  solvers::CorrectiveContact& row = problem->contacts[num_contacts + constraint];
  double moved = 0;
  for (int t = first_term_[constraint]; t < first_term_[constraint + 1]; ++t) {
    const Term& term = terms_[t];
    const Side& side = term.side;
    if (term.is_velocity) {
      moved += h_ * term.factor * y[problem->parts[side.first_part].row];
      continue;
    }
    const Moved at = Move(side, y);
    moved += term.linear.dot(at.core - side.start) + h_ * term.angular.dot(at.spin);
    for (int k = 0; k < side.num_parts; ++k) {
      MappedPart& part = problem->parts[side.first_part + k];
      part.J = {};
      if (!side.is_frame) {
        for (int r = 0; r < 3; ++r) part.J[3 * r + 2] = side.weight[k] * term.linear[r];
        continue;
      }
      const Vector3d turning =
          term.angular + (at.core - moved_[side.moved].X_WB.p).cross(term.linear);
      for (int r = 0; r < 3; ++r) {
        part.J[3 * r + 2] = turning[r];
        part.J[3 * (r + 3) + 2] = term.linear[r];
      }
    }
  }
  row.gap = errors_[constraint] + moved;
}

void CorrectiveGeometry::Update(std::span<const double> y, std::span<const double> F, int first,
                                int last, CorrectiveProblem* problem) {
  const int num_contacts = static_cast<int>(starts_.size());
  UpdatePoses(F, first, last);
  for (int i = first; i < last; ++i) {
    if (i < num_contacts) {
      UpdateContact(i, y, problem);
    } else {
      UpdateConstraint(i - num_contacts, y, problem);
    }
  }
}

}  // namespace pliant::physics
