#include <algorithm>

#include "physics/contact/constraint_rows.h"
#include "physics/dynamics/parallel.h"
#include "physics/stepping/posed_step.h"
#include "solvers/linalg/dense.h"

namespace pliant::physics {

using Eigen::Matrix3d;
using Eigen::Vector3d;

namespace {

// contacts that are worth a thread's while
constexpr int kContactsAtATime = 64;

}  // namespace

// Room for rows on a group, among the entries from `first_entry` on; both sides of a contact within a group share it.
double* PosedStep::RawRows::AddEntry(int first_entry, int height, int block,
                                     const BlockRows::Part& part) {
  for (std::size_t e = first_entry; e < entries.size(); ++e) {
    if (entries[e].block == block && entries[e].group == part.group &&
        entries[e].columns == part.num_columns)
      return &values[entries[e].values];
  }
  entries.push_back({block, part.group, 0, part.num_columns, values.size()});
  values.resize(values.size() + std::size_t(height) * part.num_columns, 0.0);
  return &values[entries.back().values];
}

template <typename F>
void PosedStep::ForEachStretch(int count, const F& f) const {
  const int stretches = CountStretches(count);
  ForEach(stretches, [&](int s) {
    const int begin = s * kContactsAtATime;
    f(s, begin, s + 1 < stretches ? begin + kContactsAtATime : count);
  });
}

// of few contacts there is one
int PosedStep::CountStretches(int count) const {
  return is_parallel_ ? std::max(1, count / kContactsAtATime) : 1;
}

// J = R_WCᵀ (J_B − J_A) of every contact; one between parts whose motion is prescribed on both sides constrains nothing
void PosedStep::BuildContactRows() {
  const int count = static_cast<int>(contacts_.size()), stretches = CountStretches(count);
  contact_rows_.resize(count);
  raw_of_stretch_.resize(std::max<std::size_t>(raw_of_stretch_.size(), stretches));
  if (stretches == 1) {
    for (int c = 0; c < count; ++c) BuildContactRows(c, &raw_);
  } else {
    ForEachStretch(count, [&](int s, int begin, int end) {
      RawRows& raw = raw_of_stretch_[s];
      raw.entries.clear();
      raw.values.clear();
      for (int c = begin; c < end; ++c) BuildContactRows(c, &raw);
    });
    // one after another
    std::size_t num_entries = 0, num_values = 0;
    for (int s = 0; s < stretches; ++s) {
      RawRows& raw = raw_of_stretch_[s];
      raw.first_entry = static_cast<int>(num_entries);
      raw.first_value = num_values;
      num_entries += raw.entries.size();
      num_values += raw.values.size();
    }
    raw_.entries.resize(num_entries);
    raw_.values.resize(num_values);
    ForEachStretch(count, [&](int s, int begin, int end) {
      RawRows& raw = raw_of_stretch_[s];
      for (RawEntry& entry : raw.entries) entry.values += raw.first_value;
      std::ranges::copy(raw.entries, raw_.entries.begin() + raw.first_entry);
      std::ranges::copy(raw.values, raw_.values.begin() + raw.first_value);
      for (int c = begin; c < end; ++c) contact_rows_[c].first_entry += raw.first_entry;
    });
  }
  // none of what constrains nothing
  std::size_t kept = 0;
  for (int c = 0; c < count; ++c) {
    if (contact_rows_[c].num_entries == 0) continue;
    if (static_cast<int>(kept) < c) {
      contacts_[kept] = contacts_[c];
      contact_rows_[kept] = contact_rows_[c];
    }
    ++kept;
  }
  contacts_.erase(contacts_.begin() + kept, contacts_.end());
  contact_rows_.resize(kept);
}

void PosedStep::BuildContactRows(int c, RawRows* raw) {
  const ContactPoint& contact = contacts_[c];
  ContactRows& result = contact_rows_[c];
  result = {static_cast<int>(raw->entries.size()), 0, Vector3d::Zero(), Matrix3d::Zero()};
  const Matrix3d& R_WC = contact.R_WC;
  for (const double sign : {-1.0, 1.0}) {
    const Attachment& side = sign < 0 ? contact.a : contact.b;
    if (side.block == kWorldBlock) continue;
    const BlockStep& step = *steps_[side.block];
    result.bias += sign * (R_WC.transpose() * step.CalcPrescribedVelocity(side));
    raw->of_block.Clear();
    step.AppendRows(side, &raw->of_block);
    for (const BlockRows::Part& part : raw->of_block.parts()) {
      double* to = raw->AddEntry(result.first_entry, 3, side.block, part);
      const double* J = raw->of_block.matrix(part);
      for (int j = 0; j < part.num_columns; ++j, J += 3, to += 3) {
        // most of a tree's velocities move none of its points
        if (J[0] == 0 && J[1] == 0 && J[2] == 0) continue;
        for (int r = 0; r < 3; ++r) {
          to[r] += sign * (R_WC(0, r) * J[0] + R_WC(1, r) * J[1] + R_WC(2, r) * J[2]);
        }
      }
    }
  }
  result.num_entries = static_cast<int>(raw->entries.size()) - result.first_entry;
}

void PosedStep::BuildConstraintRows() {
  scalar_rows_.clear();
  const auto append = [&](int first_entry, const Attachment& side, const Vector3d& direction) {
    for (const BlockRows::Part& part : raw_.of_block.parts()) {
      double* to = raw_.AddEntry(first_entry, 1, side.block, part);
      const double* J = raw_.of_block.matrix(part);
      for (int j = 0; j < part.num_columns; ++j, J += 3)
        to[j] += direction.x() * J[0] + direction.y() * J[1] + direction.z() * J[2];
    }
  };
  std::erase_if(constraints_.rows, [&](const ConstraintRow& row) {
    ScalarRows result{static_cast<int>(raw_.entries.size()), 0, 0, 0};
    for (int t = row.first_term; t < row.first_term + row.num_terms; ++t) {
      const ConstraintTerm& term = constraints_.terms[t];
      const Attachment& side = term.attachment;
      if (side.block == kWorldBlock) continue;
      const BlockStep& step = *steps_[side.block];
      raw_.of_block.Clear();
      if (term.velocity >= 0 && step.AppendVelocityRow(term.velocity, &raw_.of_block)) {
        append(result.first_entry, side, Vector3d(term.factor, 0, 0));
        continue;
      }
      if (term.velocity >= 0) {
        // one velocity of its group
        const int group = step.group_of_velocity(term.velocity);
        raw_.entries.push_back(
            {side.block, group, term.velocity - step.group_offset(group), 1, raw_.values.size()});
        raw_.values.push_back(term.factor);
        continue;
      }
      if (!term.linear_W.isZero(0)) {
        raw_.of_block.Clear();
        step.AppendRows(side, &raw_.of_block);
        append(result.first_entry, side, term.linear_W);
        result.bias += term.linear_W.dot(step.CalcPrescribedVelocity(side));
      }
      if (!term.angular_W.isZero(0)) {
        raw_.of_block.Clear();
        step.AppendAngularRows(side, &raw_.of_block);
        append(result.first_entry, side, term.angular_W);
        result.bias += term.angular_W.dot(step.CalcPrescribedAngularVelocity(side));
      }
    }
    result.num_entries = static_cast<int>(raw_.entries.size()) - result.first_entry;
    if (result.num_entries == 0) return true;
    scalar_rows_.push_back(result);
    return false;
  });
}

// Finds each row's place on the participants, and its compliance Σ J_g A_gg⁻¹ J_gᵀ
void PosedStep::PlaceEntries() {
  entries_.resize(raw_.entries.size());
  ForEachStretch(static_cast<int>(contact_rows_.size()), [this](int s, int begin, int end) {
    PlaceContactEntries(begin, end, &raw_of_stretch_[s].scratch);
  });
  for (ScalarRows& rows : scalar_rows_) {
    for (int e = rows.first_entry; e < rows.first_entry + rows.num_entries; ++e) {
      const RawEntry& raw = raw_.entries[e];
      const Group& group = PlaceEntry(e);
      // nothing of L⁻¹ J_gᵀ comes before the first velocity
      const int n = group.size, left = n - raw.offset;
      scratch_a_.assign(left, 0.0);
      std::copy_n(&values()[raw.values], raw.columns, scratch_a_.begin());
      solvers::SolveLower(left, group.factor + std::size_t(raw.offset) * (n + 1), n,
                          scratch_a_.data());
      rows.W += solvers::Dot(left, scratch_a_.data(), scratch_a_.data());
    }
  }
}

const PosedStep::Group& PosedStep::PlaceEntry(int e) {
  const RawEntry& raw = raw_.entries[e];
  const ActiveBlock& active = active_[active_of_block_[raw.block]];
  const auto begin = groups_.begin() + active.first_group;
  const auto found = std::lower_bound(begin, begin + active.num_groups, raw.group,
                                      [](const Group& group, int id) { return group.id < id; });
  entries_[e] = {active_of_block_[raw.block], found->first + raw.offset, raw.columns, raw.values};
  return *found;
}

void PosedStep::PlaceContactEntries(int begin, int end, std::vector<double>* scratch) {
  // two in a row on the same group are worked out together
  ContactRows* waiting = nullptr;
  const double* J_waiting = nullptr;
  Group of_waiting{};
  const auto work_out = [&] {
    if (waiting == nullptr) return;
    Matrix3d W;
    scratch->resize(4 * std::size_t(of_waiting.size));
    solvers::CalcCompliance(of_waiting.size, of_waiting.factor, of_waiting.size, J_waiting,
                            scratch->data(), W.data());
    waiting->W += W;
    waiting = nullptr;
  };
  for (int c = begin; c < end; ++c) {
    ContactRows& rows = contact_rows_[c];
    for (int e = rows.first_entry; e < rows.first_entry + rows.num_entries; ++e) {
      const Group& group = PlaceEntry(e);
      const double* J = &values()[raw_.entries[e].values];
      if (waiting == nullptr || of_waiting.factor != group.factor) {
        work_out();
        waiting = &rows;
        J_waiting = J;
        of_waiting = group;
        continue;
      }
      Matrix3d W, W_waiting;
      scratch->resize(8 * std::size_t(group.size));
      solvers::CalcTwoCompliances(group.size, group.factor, group.size, {J_waiting, J},
                                  scratch->data(), {W_waiting.data(), W.data()});
      waiting->W += W_waiting;
      rows.W += W;
      waiting = nullptr;
    }
  }
  work_out();
}

// The rows of one constraint along different axes share one compliance, as those of a contact do: along an axis in which
// nothing can move (a ball in a planar linkage) its own would vanish, and with it the regularisation.
void PosedStep::ShareCompliance() {
  const auto is_angular = [this](std::size_t k) {
    return !constraints_.terms[constraints_.rows[k].first_term].angular_W.isZero(0);
  };
  for (std::size_t begin = 0; begin < scalar_rows_.size();) {
    const ConstraintRow& first = constraints_.rows[begin];
    std::size_t end = begin + 1;
    double sum = scalar_rows_[begin].W;
    for (; first.source == ConstraintSource::kConstraint && end < scalar_rows_.size(); ++end) {
      const ConstraintRow& row = constraints_.rows[end];
      if (row.source != first.source || row.index != first.index ||
          is_angular(end) != is_angular(begin))
        break;
      sum += scalar_rows_[end].W;
    }
    // a row that moves nothing at all has no compliance; any will do
    const double mean = sum > 0 ? sum / static_cast<double>(end - begin) : 1;
    for (; begin < end; ++begin) scalar_rows_[begin].W = mean;
  }
}

}  // namespace pliant::physics
