#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "physics/world/world.h"

namespace pliant::server {

// Sums over the steps of a run, as the report gives them.
class RunStatistics {
 public:
  // Adds a successful step of a world that watches its energy.
  void Add(const physics::StepReport& report);

  int steps() const { return static_cast<int>(step_seconds_.size()); }
  int not_converged() const { return steps() - converged_; }
  double mean_step_seconds() const;

  // Writes step_ms, phases_ms, participating, solver, energy, constraints, contacts, asleep. Times
  // are those of the steps alone, without the energies and probes that a run also evaluates.
  void WriteTo(nlohmann::ordered_json* report) const;

 private:
  // Mean and maximum of a quantity over the steps.
  struct Extent {
    double sum = 0, max = 0;
    void Add(double x);
  };

  std::vector<double> step_seconds_;
  std::array<double, physics::kPhaseNames.size()> phase_seconds_{};
  Extent participating_, asleep_, iterations_, linear_iterations_, newton_iterations_,
      projected_elements_, constraints_, contacts_;
  double residual_max_ = 0, newton_residual_max_ = 0, complementarity_max_ = 0,
         cone_violation_max_ = 0, joint_drift_max_ = 0;
  // [J]: at the start and now, work so far, largest gain of one step, and the sum of all gains
  double energy_start_ = 0, energy_end_ = 0, work_ = 0, gain_max_ = 0, gain_sum_ = 0;
  int converged_ = 0, stalled_ = 0, refactorisations_ = 0;
  physics::StepTotals totals_;
};

// {dofs, rigid_bodies, joints, deformables, vertices, tetrahedra, particles}
nlohmann::ordered_json DescribeModelSize(const physics::Model& model);

// "2 rigid bodies, 1 deformable with 30 vertices, 80 tetrahedra", from such a size.
std::string ListBodies(const nlohmann::ordered_json& size);

// {step, time, reason, body}, or null.
nlohmann::ordered_json DescribeFault(const std::optional<physics::WorldFault>& fault);

// Peak memory of this process [MB = 1e6 bytes].
double ReadPeakMemory();

// Human-readable summary of a finished run, from its report.
std::string Summarise(const nlohmann::ordered_json& report);

}  // namespace pliant::server
