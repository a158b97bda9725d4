#include "physics/stepping/contact_problem.h"

#include "physics/stepping/posed_step.h"

namespace pliant::physics {

void PosedStep::Describe(std::span<const double> v_participating, const Impulses& impulses,
                         ContactProblem* problem) const {
  *problem = {};
  problem->h = settings_.h;
  problem->v_star = v_star_p_;
  problem->v.assign(v_participating.begin(), v_participating.end());
  for (const ActiveBlock& active : active_) {
    problem->blocks.push_back({active.first, active.size, {active.A.begin(), active.A.end()}});
  }
  const auto add_entries = [&](int first_entry, int num_entries, int row, int height) {
    for (int e = first_entry; e < first_entry + num_entries; ++e) {
      const Entry& entry = entries_[e];
      for (int i = 0; i < height; ++i) {
        for (int j = 0; j < entry.columns; ++j) {
          const double value = values_[entry.values + static_cast<std::size_t>(height * j + i)];
          if (value != 0) problem->J.push_back({row + i, entry.first + j, value});
        }
      }
    }
  };
  for (std::size_t c = 0; c < contacts_.size(); ++c) {
    const ContactPoint& point = contacts_[c];
    const ContactRows& rows = contact_rows_[c];
    problem->contacts.push_back({point.body_a, point.body_b, point.gap, point.friction,
                                 point.stiffness, point.relaxation_time, rows.bias,
                                 impulses.contacts[c]});
    add_entries(rows.first_entry, rows.num_entries, 3 * static_cast<int>(c), 3);
  }
  const int first_row = 3 * static_cast<int>(contacts_.size());
  for (std::size_t k = 0; k < constraints_.rows.size(); ++k) {
    const ConstraintRow& row = constraints_.rows[k];
    const ScalarRows& rows = scalar_rows_[k];
    problem->rows.push_back({row.error, row.stiffness, row.damping, row.target_rate,
                             row.feedforward, row.lower, row.upper, row.dry_friction, rows.bias,
                             impulses.constraints[k]});
    add_entries(rows.first_entry, rows.num_entries, first_row + static_cast<int>(k), 1);
  }
}

}  // namespace pliant::physics
