#include "physics/stepping/corrective_geometry.h"

#include <algorithm>
#include <cmath>

#include "physics/spatial/demand.h"

namespace pliant::physics {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using solvers::CorrectiveProblem;
using solvers::MappedPart;

namespace {

// Offset that the contact law adds to the geometric gap [m].
double CalcGapOffset(const solvers::ConstraintSystem::Contact& contact) {
  return contact.allowed_overlap + contact.gap_shift;
}

Attachment AttachToNode(int block, int node, const Vector3d& p_W) {
  Attachment attachment;
  attachment.block = block;
  attachment.p_W = p_W;
  attachment.nodes.Add(node, 1);
  return attachment;
}

}  // namespace

int CorrectiveGeometry::FindDof(const DofKey& key) const {
  const auto found =
      std::lower_bound(dofs_.begin(), dofs_.end(), key,
                       [](const MappedDof& dof, const DofKey& wanted) { return dof.key < wanted; });
  return static_cast<int>(found - dofs_.begin());
}

void CorrectiveGeometry::CollectDofs() {
  keys_.clear();
  const auto add = [this](const Attachment& side) {
    if (side.block == kWorldBlock) return;
    if (side.nodes.empty()) keys_.push_back({side.block, DofKind::kFrame, side.frame});
    for (int k = 0; k < side.nodes.size(); ++k) {
      if (side.nodes.weight(k) != 0)
        keys_.push_back({side.block, DofKind::kNode, side.nodes.node(k)});
    }
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
        keys_.push_back({term.attachment.block, DofKind::kVelocity, term.velocity});
      }
    }
  }
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
}

// Appends the rows of H of one degree of freedom, and its free motion.
void CorrectiveGeometry::AppendRows(const MappedDof& dof, CorrectiveProblem* problem) {
  const auto& [block, kind, index] = dof.key;
  const BlockStep& step = *stages_.blocks.steps[block];
  const auto append = [&, block = block](int row) {
    for (int r = 0; r < 3; ++r) problem->y_free[row + r] = rows_.prescribed[r];
    rows_.ForEachPart([&](int group, int num_columns, const double* J) {
      const int first = stages_.participation.FindVelocity(block, group);
      // groups that do not participate affect no mapped degree of freedom
      if (first < 0) return;
      problem->entries.push_back({dof.active, row, 3,
                                  first - stages_.system.blocks[dof.active].first, num_columns,
                                  problem->values.size()});
      problem->values.insert(problem->values.end(), J, J + 3 * std::size_t(num_columns));
    });
  };
  switch (kind) {
    case DofKind::kNode: {
      rows_.Clear();
      step.AppendRows(
          AttachToNode(block, index, VectorAt(model_.StateOf(*state_, block).q, 3 * index)),
          &rows_);
      append(dof.row);
      break;
    }
    case DofKind::kFrame: {
      Attachment frame;
      frame.block = block;
      frame.frame = index;
      frame.p_W = start_[first_frame_[block] + index].X_WB.p;
      rows_.Clear();
      stages_.blocks.abilities[block].frames->AppendAngularRows(frame, &rows_);
      append(dof.row);
      rows_.Clear();
      step.AppendRows(frame, &rows_);
      append(dof.row + 3);
      break;
    }
    case DofKind::kVelocity: {
      const int group = step.space().group_of_velocity(index);
      const int first = stages_.participation.FindVelocity(block, group);
      if (first < 0) break;
      problem->entries.push_back({dof.active, dof.row, 1,
                                  first + index - step.space().group_offset(group) -
                                      stages_.system.blocks[dof.active].first,
                                  1, problem->values.size()});
      problem->values.push_back(1);
      break;
    }
  }
}

CorrectiveGeometry::Side CorrectiveGeometry::MakeSide(const Attachment& attachment,
                                                      CorrectiveProblem* problem) {
  Side side;
  side.first_part = static_cast<int>(problem->parts.size());
  if (attachment.block == kWorldBlock) return side;
  const auto add = [&](const DofKey& key, double weight) {
    const int index = FindDof(key);
    const MappedDof& dof = dofs_[index];
    ++side.num_parts;
    part_dofs_.push_back(index);
    part_weights_.push_back(weight);
    MappedPart& part = problem->parts.emplace_back();
    part.block = dof.active;
    part.row = dof.row;
    part.height = dof.height;
  };
  if (attachment.nodes.empty()) {
    side.is_frame = true;
    side.frame = first_frame_[attachment.block] + attachment.frame;
    add({attachment.block, DofKind::kFrame, attachment.frame}, 1);
  }
  for (int k = 0; k < attachment.nodes.size(); ++k) {
    const double weight = attachment.nodes.weight(k);
    if (weight != 0) add({attachment.block, DofKind::kNode, attachment.nodes.node(k)}, weight);
  }
  return side;
}

void CorrectiveGeometry::Build(const State& state, double h, CorrectiveProblem* problem) {
  state_ = &state;
  h_ = h;
  problem->Clear();
  CollectDofs();
  PlaceFrames(state);
  NumberRows(problem);
  FillRows(problem);
  part_dofs_.clear();
  part_weights_.clear();
  MapContacts(state, problem);
  MapConstraints(problem);
  Reset(problem);
}

// Computes the frames at the start of the step, of blocks with mapped frames.
void CorrectiveGeometry::PlaceFrames(const State& state) {
  first_frame_.assign(model_.blocks.size(), -1);
  int count = 0;
  for (const DofKey& key : keys_) {
    if (key.kind != DofKind::kFrame || first_frame_[key.block] >= 0) continue;
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
}

// Numbers the rows of H, block by block; prescribed ones come last.
void CorrectiveGeometry::NumberRows(CorrectiveProblem* problem) {
  dofs_.clear();
  for (const DofKey& key : keys_) {
    const int height = key.kind == DofKind::kFrame ? 6 : key.kind == DofKind::kNode ? 3 : 1;
    dofs_.push_back({key, height, stages_.participation.index_of_block[key.block], -1});
  }
  int rows = 0;
  std::size_t next = 0;
  for (int a = 0; a < static_cast<int>(stages_.system.blocks.size()); ++a) {
    const Participation::Block& active = stages_.participation.blocks[a];
    const int first_row = rows;
    for (; next < dofs_.size() && dofs_[next].key.block <= active.block; ++next) {
      if (dofs_[next].key.block != active.block) continue;
      dofs_[next].row = rows;
      rows += dofs_[next].height;
    }
    problem->blocks.push_back({active.size, stages_.system.blocks[a].A.dense.data(), first_row,
                               rows - first_row, active.first});
  }
  for (MappedDof& dof : dofs_) {
    if (dof.row >= 0) continue;
    dof.row = rows;
    rows += dof.height;
  }
  problem->y_free.assign(rows, 0.0);
}

// Fills H, and the rates of its rows in free motion.
void CorrectiveGeometry::FillRows(CorrectiveProblem* problem) {
  for (const MappedDof& dof : dofs_) {
    const std::size_t before = problem->entries.size();
    AppendRows(dof, problem);
    PLIANT_DEMAND(dof.active >= 0 || problem->entries.size() == before);
  }
  for (const solvers::MappingCompliance::Entry& entry : problem->entries) {
    const int first = problem->blocks[entry.block].first_velocity + entry.first;
    const double* v = &stages_.system.v_star[first];
    const double* J = &problem->values[entry.values];
    for (int j = 0; j < entry.columns; ++j)
      for (int r = 0; r < entry.height; ++r) problem->y_free[entry.row + r] += *J++ * v[j];
  }
}

// Maps the contacts to degrees of freedom.
void CorrectiveGeometry::MapContacts(const State& state, CorrectiveProblem* problem) {
  contacts_.clear();
  positions_.assign(state.q.begin(), state.q.end());
  const TrialConfiguration at_start = At(start_, state.q);
  for (const ContactPoint& contact : stages_.contacts.points) {
    solvers::CorrectiveContact& row = problem->contacts.emplace_back();
    row.first_part = static_cast<int>(problem->parts.size());
    const Side a = MakeSide(contact.a, problem), b = MakeSide(contact.b, problem);
    contacts_.push_back({ContactKinematics(model_, contact, at_start), a, b});
    row.num_parts = static_cast<int>(problem->parts.size()) - row.first_part;
    row.friction = contact.friction;
  }
}

// Maps the constraints to degrees of freedom.
void CorrectiveGeometry::MapConstraints(CorrectiveProblem* problem) {
  terms_.clear();
  first_term_.assign(1, 0);
  errors_.clear();
  for (const ConstraintRow& constraint : stages_.constraints.rows) {
    solvers::CorrectiveContact& row = problem->contacts.emplace_back();
    row.first_part = static_cast<int>(problem->parts.size());
    for (int t = constraint.first_term; t < constraint.first_term + constraint.num_terms; ++t) {
      const ConstraintTerm& given = stages_.constraints.terms[t];
      if (given.attachment.block != kWorldBlock) terms_.push_back(MakeTerm(given, problem));
    }
    first_term_.push_back(static_cast<int>(terms_.size()));
    row.num_parts = static_cast<int>(problem->parts.size()) - row.first_part;
    errors_.push_back(0);
  }
}

CorrectiveGeometry::Term CorrectiveGeometry::MakeTerm(const ConstraintTerm& given,
                                                      CorrectiveProblem* problem) {
  Term term;
  term.linear = given.linear_W;
  term.angular = given.angular_W;
  term.factor = given.factor;
  term.is_velocity = given.velocity >= 0;
  if (term.is_velocity) {
    term.side.first_part = static_cast<int>(problem->parts.size());
    term.side.num_parts = 1;
    const int index = FindDof({given.attachment.block, DofKind::kVelocity, given.velocity});
    part_dofs_.push_back(index);
    part_weights_.push_back(1);
    MappedPart& part = problem->parts.emplace_back();
    part.block = dofs_[index].active;
    part.row = dofs_[index].row;
    part.height = 1;
    part.J[2] = given.factor;
    return term;
  }
  term.side = MakeSide(given.attachment, problem);
  term.point = term.start = given.attachment.p_W;
  if (term.side.is_frame)
    term.point = start_[term.side.frame].X_WB.Inverse() * given.attachment.p_W;
  return term;
}

void CorrectiveGeometry::Reset(CorrectiveProblem* problem) {
  moved_.assign(start_.begin(), start_.end());
  for (std::size_t c = 0; c < contacts_.size(); ++c) {
    const ContactPoint& contact = stages_.contacts.points[c];
    solvers::CorrectiveContact& row = problem->contacts[c];
    row.R_WC = contact.R_WC;
    row.gap = contact.gap + CalcGapOffset(stages_.system.contacts[c]);
    row.slip_W.setZero();
    row.u_reference.setZero();
    WriteParts(contacts_[c].a, contact.a.p_W, -1, problem);
    WriteParts(contacts_[c].b, contact.b.p_W, 1, problem);
  }
  for (std::size_t k = 0; k < errors_.size(); ++k) {
    UpdateConstraint(static_cast<int>(k), problem->y_free, problem);
    solvers::CorrectiveContact& row = problem->contacts[contacts_.size() + k];
    row.gap = errors_[k];
    row.u_reference.setZero();
  }
}

// Writes J of one side's parts: the velocity of its material point at `point`, times `sign`.
void CorrectiveGeometry::WriteParts(const Side& side, const Vector3d& point, double sign,
                                    CorrectiveProblem* problem) const {
  for (int k = side.first_part; k < side.first_part + side.num_parts; ++k) {
    MappedPart& part = problem->parts[k];
    if (!side.is_frame) {
      part.J[0] = part.J[4] = part.J[8] = sign * part_weights_[k];
      continue;
    }
    Eigen::Map<Eigen::Matrix<double, 3, 6>>(part.J.data()) =
        sign * CalcPointJacobian(moved_[side.frame].X_WB, point);
  }
}

// Trial positions of a block under the impulses F, computed as at the end of a step.
void CorrectiveGeometry::MoveBlock(int block, std::span<const double> F) {
  const int active = stages_.participation.index_of_block[block];
  v_p_.clear();
  if (active >= 0) {
    const solvers::ConstraintSystem::Block& of = stages_.system.blocks[active];
    dv_.resize(stages_.system.num_velocities);
    compliance_->CalcVelocityChange(active, F, dv_);
    for (int i = of.first; i < of.first + of.size; ++i)
      v_p_.push_back(stages_.system.v_star[i] + dv_[i]);
  }
  CompleteBlock(stages_, block, v_p_, &v_);
  const BlockState end =
      trial_.Integrate(*stages_.blocks.steps[block], model_.StateOf(*state_, block), v_);
  const FrameSet& frames = *model_.abilities[block].frames;
  frames.CalcFrames(end,
                    {&moved_[first_frame_[block]], static_cast<std::size_t>(frames.num_frames())});
}

void CorrectiveGeometry::UpdatePoses(std::span<const double> F, int first, int last) {
  const int num_contacts = static_cast<int>(contacts_.size());
  is_due_.assign(model_.blocks.size(), 0);
  const auto mark = [this](const Side& side) {
    if (side.is_frame) is_due_[dofs_[part_dofs_[side.first_part]].key.block] = 1;
  };
  for (int i = first; i < last; ++i) {
    if (i < num_contacts) {
      mark(contacts_[i].a);
      mark(contacts_[i].b);
      continue;
    }
    const int k = i - num_contacts;
    for (int t = first_term_[k]; t < first_term_[k + 1]; ++t) mark(terms_[t].side);
  }
  for (std::size_t b = 0; b < is_due_.size(); ++b)
    if (is_due_[b]) MoveBlock(static_cast<int>(b), F);
}

// Moves the nodes of a side with their velocities y.
void CorrectiveGeometry::MoveNodes(const Side& side, std::span<const double> y) {
  if (side.is_frame) return;
  for (int k = side.first_part; k < side.first_part + side.num_parts; ++k) {
    const MappedDof& dof = dofs_[part_dofs_[k]];
    const int first = model_.position_offsets[dof.key.block] + 3 * dof.key.index;
    for (int r = 0; r < 3; ++r) positions_[first + r] = state_->q[first + r] + h_ * y[dof.row + r];
  }
}

Vector3d CorrectiveGeometry::SpinOf(const Side& side, std::span<const double> y) const {
  return side.is_frame ? VectorAt(y, dofs_[part_dofs_[side.first_part]].row)
                       : Vector3d(Vector3d::Zero());
}

CorrectiveGeometry::Moved CorrectiveGeometry::Move(const Term& term,
                                                   std::span<const double> y) const {
  const Side& side = term.side;
  Moved moved{term.start, SpinOf(side, y)};
  if (side.is_frame) {
    moved.point = moved_[side.frame].X_WB * term.point;
    return moved;
  }
  for (int k = side.first_part; k < side.first_part + side.num_parts; ++k)
    moved.point += h_ * part_weights_[k] * VectorAt(y, dofs_[part_dofs_[k]].row);
  return moved;
}

void CorrectiveGeometry::UpdateContact(int contact, std::span<const double> y,
                                       CorrectiveProblem* problem) {
  const auto& [kinematics, a, b] = contacts_[contact];
  solvers::CorrectiveContact& row = problem->contacts[contact];
  MoveNodes(a, y);
  MoveNodes(b, y);
  const PlacedContact placed = kinematics.Place(At(moved_, positions_));
  row.R_WC = placed.R_WC;
  row.gap = placed.gap + CalcGapOffset(stages_.system.contacts[contact]);
  // spin of round sides adds to the slip at the contact
  row.slip_W = (placed.core_B - kinematics.core_start_b()) -
               (placed.core_A - kinematics.core_start_a()) +
               h_ * (SpinOf(b, y).cross(placed.p_B - placed.core_B) -
                     SpinOf(a, y).cross(placed.p_A - placed.core_A));
  WriteParts(a, placed.p_A, -1, problem);
  WriteParts(b, placed.p_B, 1, problem);
}

void CorrectiveGeometry::UpdateConstraint(int constraint, std::span<const double> y,
                                          CorrectiveProblem* problem) {
  const int num_contacts = static_cast<int>(contacts_.size());
  solvers::CorrectiveContact& row = problem->contacts[num_contacts + constraint];
  double moved = 0;
  for (int t = first_term_[constraint]; t < first_term_[constraint + 1]; ++t) {
    const Term& term = terms_[t];
    const Side& side = term.side;
    if (term.is_velocity) {
      moved += h_ * term.factor * y[problem->parts[side.first_part].row];
      continue;
    }
    const Moved at = Move(term, y);
    moved += term.linear.dot(at.point - term.start) + h_ * term.angular.dot(at.spin);
    for (int k = side.first_part; k < side.first_part + side.num_parts; ++k) {
      MappedPart& part = problem->parts[k];
      part.J = {};
      if (!side.is_frame) {
        for (int r = 0; r < 3; ++r) part.J[3 * r + 2] = part_weights_[k] * term.linear[r];
        continue;
      }
      const Vector3d rotation_term =
          term.angular + (at.point - moved_[side.frame].X_WB.p).cross(term.linear);
      for (int r = 0; r < 3; ++r) {
        part.J[3 * r + 2] = rotation_term[r];
        part.J[3 * (r + 3) + 2] = term.linear[r];
      }
    }
  }
  row.gap = errors_[constraint] + moved;
}

void CorrectiveGeometry::Update(std::span<const double> y, std::span<const double> F, int first,
                                int last, CorrectiveProblem* problem) {
  const int num_contacts = static_cast<int>(contacts_.size());
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
