#include "physics/stepping/report/step_report.h"

#include <utility>

namespace pliant::physics {
void CompromiseCounts::Add(const CompromiseCounts& others) {
  for (std::size_t k = 0; k < counts_.size(); ++k) counts_[k] += others.counts_[k];
}

void StepReport::Clear() {
  StepReport fresh;
  const auto keep = [](auto& list, auto& fresh_list) {
    list.clear();
    fresh_list.swap(list);
  };
  keep(contacts, fresh.contacts);
  keep(constraint_forces, fresh.constraint_forces);
  keep(efforts, fresh.efforts);
  keep(applied, fresh.applied);
  keep(v_start, fresh.v_start);
  keep(iteration_residuals, fresh.iteration_residuals);
  keep(linear_residuals, fresh.linear_residuals);
  *this = std::move(fresh);
}

void StepTotals::Add(const StepReport& report) {
  ++ended[static_cast<int>(report.reason)];
  compromises.Add(report.compromises);
}

}  // namespace pliant::physics
