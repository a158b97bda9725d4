#pragma once

#include <memory>
#include <vector>

#include "physics/dynamics/model.h"
#include "physics/stepping/stepper.h"

namespace pliant::physics {

class ContactDetector;

// Value of a probe: one number, a vector, or (contact points) a list of rows.
struct ProbeValue {
  std::vector<double> numbers{};            // 1, 3, 4 or 6 numbers
  std::vector<std::vector<double>> rows{};  // contact points: px py pz nx ny nz gap jx jy jz
  bool is_rows = false;
};

// Evaluates probes of a model at states. Caches the bounding volumes of the contact search between
// calls, which changes no value.
//
//   position, velocity   centre of mass, a vertex, or a point fixed on a rigid body [m], [m/s]
//   orientation          (w, x, y, z), w ≥ 0; of a deformable body that of the best-fitting
//                        rotation
//   angular_velocity     [rad/s]; of a deformable body that of the best-fitting rigid motion
//   contact_force        on the body, W [N]
//   wrench               contact force, then torque about the centre of mass [N·m]
//   energy               [J]
//   momentum             linear, then angular about the world's origin
//   volume               [m³]
//   field                MIN, MAX or volume-weighted MEAN over the elements; of contact over the
//                        surface's triangles, by area
//   extent               coordinate of the body's extent along a direction, see CalcExtent [m]
//   mass_within          mass of the elements whose centres are in a box [kg]
//   penetration          largest overlap at this state [m], ≥ 0
//   contact_points       rows of the step that led here; the normal points from the first body
//                        named to the second, the impulse is on the second
//   reaction             of a joint on its child link, force then torque about the joint's
//                        origin, W; of a constraint on its second body
//   joint                position, velocity, or effort of its actuators [N·m], [N]
class ProbeSampler {
 public:
  explicit ProbeSampler(const Model& model);  // `model` outlives it
  ~ProbeSampler();

  // `report` is of the step of length h [s] that led to `state`; empty at the start.
  ProbeValue Sample(const Probe& probe, const State& state, const StepReport& report, double h);

 private:
  const Model& model_;
  std::unique_ptr<ContactDetector> detector_;  // made when first needed
};

// One sample. For many, keep a ProbeSampler.
ProbeValue SampleProbe(const Model& model, const Probe& probe, const State& state,
                       const StepReport& report, double h);

// Number of values that a probe yields; 0 for rows.
int CountProbeNumbers(const Probe& probe);

// Energies of a body, or of the world when body is −1.
Energies CalcEnergies(const Model& model, const State& state, int body);

// Vertex values of a measure for a deformable body, vertex by vertex. Deformation is a
// volume-weighted average over the elements, or the value of the particle if elements are points;
// principal stretches and directions are those of the average of F Fᵀ. Contact is that of `report`,
// a step of length h [s], and zero in the interior (see CalcContactField).
std::vector<double> CalcVertexField(const Model& model, const State& state,
                                    const StepReport& report, int body, FieldMeasure measure,
                                    double h);

// Contact force on a body [N], and torque about its centre of mass [N·m], from `other` (−1: from
// all). Forces on a body that touches itself cancel.
struct ContactWrench {
  Eigen::Vector3d force = Eigen::Vector3d::Zero();
  Eigen::Vector3d torque = Eigen::Vector3d::Zero();
  int contacts = 0;
};
ContactWrench CalcContactWrench(const Model& model, const State& state, const StepReport& report,
                                int body, int other, double h);

}  // namespace pliant::physics
