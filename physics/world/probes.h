#pragma once

#include <string>
#include <vector>

#include "physics/dynamics/model.h"
#include "physics/stepping/stepper.h"

namespace pliant::physics {

// Value of a probe: one number, a vector, or (contact points) a list of rows.
struct ProbeValue {
  std::vector<double> numbers;             // 1, 3, 4 or 6 numbers
  std::vector<std::vector<double>> rows;   // contact points: px py pz nx ny nz gap jx jy jz
  bool is_rows = false;
};

// Reads a probe at a state; `report` is of the step that led to it (h its length [s]).
ProbeValue SampleProbe(const Model& model, const Probe& probe, const State& state,
                       const StepReport& report, double h);

// Number of numbers a probe yields; 0 for rows.
int CountProbeNumbers(const Probe& probe);

// Energies of a body, or of the world when body is −1 [J]. Potential energy is zero at the world origin's height.
struct Energies {
  double kinetic = 0, elastic = 0, potential = 0;
};
Energies CalcEnergies(const Model& model, const State& state, int body);

// Vertex values of a measure for a deformable body, averaged by volume from its elements: one per node.
std::vector<double> CalcVertexField(const Model& model, const State& state, int body, FieldMeasure measure);

// Contact force on a body [N], and torque about its centre of mass [N·m], from `other` (−1: from all).
struct ContactWrench {
  Eigen::Vector3d force = Eigen::Vector3d::Zero();
  Eigen::Vector3d torque = Eigen::Vector3d::Zero();
  int contacts = 0;
};
ContactWrench CalcContactWrench(const Model& model, const State& state, const StepReport& report,
                                int body, int other, double h);

}  // namespace pliant::physics
