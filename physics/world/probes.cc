#include "physics/world/probes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "physics/contact/contact_detection.h"
#include "physics/dynamics/abilities/field_measures.h"
#include "physics/geometry/triangle_bvh.h"
#include "physics/spatial/demand.h"
#include "physics/world/body_motion.h"
#include "physics/world/contact_fields.h"
#include "physics/world/mass_distribution.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

ProbeValue Number(double value) {
  return {.numbers = {value}};
}
ProbeValue Vector(const Vector3d& v) {
  return {.numbers = {v.x(), v.y(), v.z()}};
}

ProbeValue SamplePosition(const Model& model, const Probe& probe, const State& state) {
  if (probe.node >= 0) return Vector(CalcVertexPosition(model, state, probe.body, probe.node));
  if (probe.has_point) return Vector(CalcPointPosition(model, state, probe.body, probe.p_BP));
  return Vector(CalcCenterOfMass(model, state, probe.body));
}

ProbeValue SampleVelocity(const Model& model, const Probe& probe, const State& state) {
  if (probe.node >= 0) return Vector(CalcVertexVelocity(model, state, probe.body, probe.node));
  if (probe.has_point) return Vector(CalcPointVelocity(model, state, probe.body, probe.p_BP));
  return Vector(CalcCenterOfMassVelocity(model, state, probe.body));
}

double SelectEnergy(const Energies& energies, Probe::Energy kind) {
  switch (kind) {
    case Probe::Energy::kKinetic:
      return energies.kinetic;
    case Probe::Energy::kElastic:
      return energies.elastic;
    case Probe::Energy::kPotential:
      return energies.potential;
    case Probe::Energy::kTotal:
      break;
  }
  return energies.kinetic + energies.elastic + energies.potential;
}

// Motion of one rigid body, without the rest of its tree.
struct Motions {
  Vector3d center, momentum, spin;  // p_WBcm; m v; I ω about Bcm
  double kinetic;
};
Motions CalcRigidMotion(const Model& model, const State& state, int body) {
  const Body& b = model.bodies[body];
  const FrameMotion motion = CalcBodyMotion(model, state, body);
  const Vector3d center = motion.X_WB * b.p_BoBcm;
  const Vector3d v = motion.CalcPointVelocity(center);
  const Vector3d spin = motion.X_WB.R * (b.inertia * (motion.X_WB.R.transpose() * motion.omega_W));
  return {center, b.mass * v, spin, 0.5 * (b.mass * v.squaredNorm() + motion.omega_W.dot(spin))};
}

ProbeValue SampleMomentum(const Model& model, const State& state, int body) {
  Eigen::Matrix<double, 6, 1> sum = Eigen::Matrix<double, 6, 1>::Zero();
  if (body >= 0 && !model.abilities_of(model.bodies[body]).nodes) {
    const Motions of = CalcRigidMotion(model, state, body);
    sum << of.momentum, of.center.cross(of.momentum) + of.spin;
    return {.numbers = {sum.data(), sum.data() + 6}};
  }
  for (int block = 0; block < static_cast<int>(model.blocks.size()); ++block) {
    if (body >= 0 && model.bodies[body].block != block) continue;
    const int part = body >= 0 ? model.bodies[body].part : DynamicsBlock::kWholeBlock;
    sum += model.blocks[block]->CalcMomentum(model.StateOf(state, block), part);
  }
  return {.numbers = {sum.data(), sum.data() + 6}};
}

double SampleVolume(const Model& model, const State& state, int body) {
  if (body >= 0) return CalcBodyVolume(model, state, body);
  double volume = 0;
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    if (model.abilities_of(model.bodies[i]).elements)
      volume += CalcBodyVolume(model, state, static_cast<int>(i));
  }
  return volume;
}

// Values of a field and their weights: rest volumes of elements, or present areas of triangles.
struct WeightedField {
  std::vector<double> values, weights;
};

// Values of a measure in the elements of one body.
std::vector<double> CalcElementValues(const Model& model, const State& state, const Body& body,
                                      FieldMeasure measure) {
  const ElementSet& elements = *model.abilities_of(body).elements;
  const std::size_t components = CountComponents(measure);
  std::vector<double> values(components * elements.num_elements());
  elements.CalcElementField(measure, model.StateOf(state, body.block), values);
  const IndexRange range = elements.elements_of(body.part);
  values.erase(values.begin() + components * (range.first + range.count), values.end());
  values.erase(values.begin(), values.begin() + components * range.first);
  return values;
}

WeightedField CalcElementField(const Model& model, const Probe& probe, const State& state) {
  const Body& body = model.bodies[probe.body];
  const ElementSet& elements = *model.abilities_of(body).elements;
  WeightedField field{CalcElementValues(model, state, body, probe.measure), {}};
  const IndexRange range = elements.elements_of(body.part);
  const std::span<const double> volumes =
      elements.element_volumes().subspan(range.first, range.count);
  field.weights.assign(volumes.begin(), volumes.end());
  return field;
}

WeightedField CalcTriangleField(const Model& model, const Probe& probe, const State& state,
                                const StepReport& report, double h) {
  const ContactField contact = CalcContactField(model, state, report, probe.body, h);
  const Body& body = model.bodies[probe.body];
  const VertexPositions x = model.Positions(state, body.block);
  WeightedField field;
  for (const auto& t : body.surface.triangles) {
    const Vector3d a = VertexAt(x, t[0]);
    const Vector3d area = (VertexAt(x, t[1]) - a).cross(VertexAt(x, t[2]) - a);
    field.weights.push_back(0.5 * std::sqrt(area.squaredNorm()));
  }
  if (probe.measure == FieldMeasure::kContactPressure) {
    field.values = contact.triangle_pressure;
  } else {
    for (const Vector3d& traction : contact.triangle_traction)
      field.values.insert(field.values.end(), traction.data(), traction.data() + 3);
  }
  return field;
}

// Reduces each component on its own.
std::vector<double> Reduce(const WeightedField& field, int components, Probe::Reduce reduce) {
  PLIANT_DEMAND(!field.weights.empty());
  std::vector<double> result(field.values.begin(), field.values.begin() + components);
  if (reduce == Probe::Reduce::kMean) std::fill(result.begin(), result.end(), 0.0);
  double total = 0;
  for (std::size_t e = 0; e < field.weights.size(); ++e) {
    total += field.weights[e];
    for (int c = 0; c < components; ++c) {
      const double value = field.values[components * e + c];
      switch (reduce) {
        case Probe::Reduce::kMin:
          result[c] = std::min(result[c], value);
          break;
        case Probe::Reduce::kMax:
          result[c] = std::max(result[c], value);
          break;
        case Probe::Reduce::kMean:
          result[c] += field.weights[e] * value;
      }
    }
  }
  if (reduce == Probe::Reduce::kMean) {
    for (double& value : result) value /= total;
  }
  return result;
}

std::vector<double> SampleField(const Model& model, const Probe& probe, const State& state,
                                const StepReport& report, double h) {
  const WeightedField field = IsOfContact(probe.measure)
                                  ? CalcTriangleField(model, probe, state, report, h)
                                  : CalcElementField(model, probe, state);
  return Reduce(field, CountComponents(probe.measure), probe.reduce);
}

// Whether a contact is between the bodies that a probe names: none (all), one, or a pair.
bool Concerns(const Probe& probe, int body_a, int body_b) {
  if (probe.body < 0) return true;
  if (probe.other < 0) return body_a == probe.body || body_b == probe.body;
  return (body_a == probe.body && body_b == probe.other) ||
         (body_b == probe.body && body_a == probe.other);
}

ProbeValue SampleContactPoints(const Probe& probe, const StepReport& report) {
  ProbeValue value{.is_rows = true};
  for (const ContactForce& contact : report.contacts) {
    if (!Concerns(probe, contact.body_a, contact.body_b)) continue;
    // the normal points away from the body named first
    const double sign = probe.body >= 0 && contact.body_a != probe.body ? -1 : 1;
    const Vector3d n = sign * contact.normal_W;
    const Vector3d j = sign * contact.impulse_W;
    const Vector3d& p = contact.p_W;
    value.rows.push_back(
        {p.x(), p.y(), p.z(), n.x(), n.y(), n.z(), contact.gap, j.x(), j.y(), j.z()});
  }
  return value;
}

ProbeValue Wrench(const Vector3d& force, const Vector3d& torque) {
  return {.numbers = {force.x(), force.y(), force.z(), torque.x(), torque.y(), torque.z()}};
}

// Force that a constraint exerts on B, and torque about the point at which it holds B.
ProbeValue SampleConstraintReaction(int constraint, const StepReport& report, double h) {
  Vector3d force = Vector3d::Zero(), torque = Vector3d::Zero();
  for (const ConstraintForce& row : report.constraint_forces) {
    if (row.source != ConstraintSource::kConstraint || row.index != constraint) continue;
    force += row.impulse / h * row.linear_W;
    torque += row.impulse / h * row.angular_W;
    // couplers act on joints: their effort is reported as the torque's z
    if (row.linear_W.isZero(0) && row.angular_W.isZero(0)) torque.z() += row.impulse / h;
  }
  return Wrench(force, torque);
}

// Force that the parent exerts on a joint's child through the joint, and torque about the joint's
// origin.
ProbeValue SampleJointReaction(const Model& model, const RobotJoint& joint, const State& state,
                               const StepReport& report, double h) {
  if (report.v_start.empty()) return Wrench(Vector3d::Zero(), Vector3d::Zero());
  const int first = model.velocity_offsets[joint.block];
  const std::span<const double> v = model.Velocities(state, joint.block);
  std::vector<double> vdot(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) vdot[i] = (v[i] - report.v_start[first + i]) / h;

  // external forces on its links
  std::vector<BlockForce> forces;
  const auto add = [&](int body, const Vector3d& p_W, const Vector3d& force,
                       const Vector3d& torque) {
    if (body < 0 || model.bodies[body].block != joint.block) return;
    BlockForce& applied = forces.emplace_back();
    applied.frame = model.bodies[body].frame;
    applied.p_W = p_W;
    applied.force_W = force;
    applied.torque_W = torque;
  };
  for (const ContactForce& contact : report.contacts) {
    add(contact.body_a, contact.p_W, -contact.impulse_W / h, Vector3d::Zero());
    add(contact.body_b, contact.p_W, contact.impulse_W / h, Vector3d::Zero());
  }
  for (const ConstraintForce& row : report.constraint_forces) {
    if (row.source == ConstraintSource::kSpring)
      add(row.index, row.p_B, row.impulse / h * row.linear_W, Vector3d::Zero());
    if (row.source != ConstraintSource::kConstraint) continue;
    const Constraint& constraint = model.constraints[row.index];
    const Vector3d force = row.impulse / h * row.linear_W;
    const Vector3d torque = row.impulse / h * row.angular_W;
    add(constraint.body_a, row.p_A, -force, -torque);
    add(constraint.body_b, row.p_B, force, torque);
  }
  for (const auto& [block, force] : report.applied)
    if (block == joint.block) forces.push_back(force);

  const BlockAbilities& abilities = model.abilities[joint.block];
  std::vector<double> reactions(6 * static_cast<std::size_t>(abilities.frames->num_frames()));
  abilities.joints->CalcReactions(model.StateOf(state, joint.block), vdot, model.gravity, forces,
                                  reactions);
  const double* r = &reactions[6 * static_cast<std::size_t>(model.bodies[joint.body].frame)];
  return Wrench({r[3], r[4], r[5]}, {r[0], r[1], r[2]});
}

double SampleJoint(const Model& model, const Probe& probe, const State& state,
                   const StepReport& report) {
  const RobotJoint& joint = model.robots[probe.robot].joints[probe.joint];
  switch (probe.quantity) {
    case Probe::JointQuantity::kPosition:
      return model.Positions(state, joint.block)[joint.position];
    case Probe::JointQuantity::kVelocity:
      return model.Velocities(state, joint.block)[joint.velocity];
    case Probe::JointQuantity::kEffort:
      break;
  }
  double effort = 0;
  for (std::size_t i = 0; i < report.efforts.size(); ++i) {
    const Actuator& actuator = model.actuators[i];
    if (actuator.robot == probe.robot && actuator.joint == probe.joint) effort += report.efforts[i];
  }
  return effort;
}

}  // namespace

ProbeSampler::ProbeSampler(const Model& model) : model_(model) {}
ProbeSampler::~ProbeSampler() = default;

ProbeValue ProbeSampler::Sample(const Probe& probe, const State& state, const StepReport& report,
                                double h) {
  switch (probe.kind) {
    case Probe::Kind::kPosition:
      return SamplePosition(model_, probe, state);
    case Probe::Kind::kVelocity:
      return SampleVelocity(model_, probe, state);
    case Probe::Kind::kOrientation: {
      const Eigen::Quaterniond r = CalcOrientation(model_, state, probe.body);
      return {.numbers = {r.w(), r.x(), r.y(), r.z()}};
    }
    case Probe::Kind::kAngularVelocity:
      return Vector(CalcAngularVelocity(model_, state, probe.body));
    case Probe::Kind::kContactForce:
      return Vector(CalcContactWrench(model_, state, report, probe.body, probe.other, h).force);
    case Probe::Kind::kWrench: {
      const ContactWrench w = CalcContactWrench(model_, state, report, probe.body, probe.other, h);
      return {.numbers = {w.force.x(), w.force.y(), w.force.z(), w.torque.x(), w.torque.y(),
                          w.torque.z()}};
    }
    case Probe::Kind::kEnergy:
      return Number(SelectEnergy(CalcEnergies(model_, state, probe.body), probe.energy));
    case Probe::Kind::kMomentum:
      return SampleMomentum(model_, state, probe.body);
    case Probe::Kind::kVolume:
      return Number(SampleVolume(model_, state, probe.body));
    case Probe::Kind::kField:
      return {.numbers = SampleField(model_, probe, state, report, h)};
    case Probe::Kind::kExtent:
      return Number(CalcExtent(model_, state, probe.body, probe.direction, probe.quantile));
    case Probe::Kind::kMassWithin:
      return Number(CalcMassWithin(model_, state, probe.body, probe.X_WF, probe.half_size));
    case Probe::Kind::kPressure: {
      const Constraint& constraint = model_.constraints[probe.constraint];
      const Body& body = model_.bodies[constraint.body_a];
      return Number(model_.abilities_of(body).volumes->CalcPressure(
          model_.StateOf(state, body.block), constraint.volume));
    }
    case Probe::Kind::kContactPoints:
      return SampleContactPoints(probe, report);
    case Probe::Kind::kReaction:
      if (probe.constraint >= 0) return SampleConstraintReaction(probe.constraint, report, h);
      return SampleJointReaction(model_, model_.robots[probe.robot].joints[probe.joint], state,
                                 report, h);
    case Probe::Kind::kJoint:
      return Number(SampleJoint(model_, probe, state, report));
    case Probe::Kind::kPenetration:
      break;
  }

  // overlaps in this state, not at the start of the last step
  if (!detector_) detector_ = std::make_unique<ContactDetector>(model_);
  double deepest = 0;
  for (const ContactPoint& contact : detector_->Detect(state, h)) {
    // a speculative gap is measured along the normal at the predicted time of contact
    if (contact.is_speculative()) continue;
    if (Concerns(probe, contact.body_a, contact.body_b)) deepest = std::max(deepest, -contact.gap);
  }
  return Number(deepest);
}

ProbeValue SampleProbe(const Model& model, const Probe& probe, const State& state,
                       const StepReport& report, double h) {
  return ProbeSampler(model).Sample(probe, state, report, h);
}

int CountProbeNumbers(const Probe& probe) {
  switch (probe.kind) {
    case Probe::Kind::kPosition:
    case Probe::Kind::kVelocity:
    case Probe::Kind::kAngularVelocity:
    case Probe::Kind::kContactForce:
      return 3;
    case Probe::Kind::kOrientation:
      return 4;
    case Probe::Kind::kWrench:
    case Probe::Kind::kMomentum:
    case Probe::Kind::kReaction:
      return 6;
    case Probe::Kind::kJoint:
    case Probe::Kind::kEnergy:
    case Probe::Kind::kVolume:
    case Probe::Kind::kPenetration:
    case Probe::Kind::kExtent:
    case Probe::Kind::kMassWithin:
    case Probe::Kind::kPressure:
      return 1;
    case Probe::Kind::kField:
      return CountComponents(probe.measure);
    case Probe::Kind::kContactPoints:
      return 0;
  }
  return 0;
}

Energies CalcEnergies(const Model& model, const State& state, int body) {
  Energies sum;
  if (body >= 0 && !model.abilities_of(model.bodies[body]).nodes) {
    const Motions of = CalcRigidMotion(model, state, body);
    sum.kinetic = of.kinetic;
    const Body& b = model.bodies[body];
    const FrameSet* frames = model.abilities_of(b).frames;
    const double weighed = frames == nullptr ? 1 : frames->gravity_scale(b.frame);
    sum.potential = -weighed * b.mass * model.gravity.dot(of.center);
    return sum;
  }
  for (int block = 0; block < static_cast<int>(model.blocks.size()); ++block) {
    if (body >= 0 && model.bodies[body].block != block) continue;
    const int part = body >= 0 ? model.bodies[body].part : DynamicsBlock::kWholeBlock;
    const Energies of_block =
        model.blocks[block]->CalcEnergies(model.StateOf(state, block), model.gravity, part);
    sum.kinetic += of_block.kinetic;
    sum.elastic += of_block.elastic;
    sum.potential += of_block.potential;
  }
  return sum;
}

std::vector<double> CalcVertexField(const Model& model, const State& state,
                                    const StepReport& report, int body, FieldMeasure measure,
                                    double h) {
  if (IsOfContact(measure)) {
    ContactField field = CalcContactField(model, state, report, body, h);
    if (measure == FieldMeasure::kContactPressure) return std::move(field.vertex_pressure);
    std::vector<double> values;
    for (const Vector3d& traction : field.vertex_traction)
      values.insert(values.end(), traction.data(), traction.data() + 3);
    return values;
  }
  const Body& b = model.bodies[body];
  const ElementSet& set = *model.abilities_of(b).elements;
  // principal values at a vertex are those of the mean F Fᵀ, as directions cannot be averaged
  const bool is_principal =
      measure == FieldMeasure::kPrincipalStretches || measure == FieldMeasure::kPrincipalDirections;
  const FieldMeasure averaged = is_principal ? FieldMeasure::kLeftCauchyGreen : measure;
  const std::size_t components = CountComponents(averaged);
  const std::vector<double> elements = CalcElementValues(model, state, b, averaged);

  const IndexRange range = set.elements_of(b.part);
  const std::span<const double> volumes = set.element_volumes().subspan(range.first, range.count);
  const std::size_t nodes = model.abilities_of(b).nodes->nodes_of(b.part).count;
  std::vector<double> values(components * nodes, 0.0), weights(nodes, 0.0);
  const auto add = [&](std::size_t e, std::size_t node) {
    for (std::size_t c = 0; c < components; ++c)
      values[components * node + c] += volumes[e] * elements[components * e + c];
    weights[node] += volumes[e];
  };
  const bool are_points = set.are_points(b.part);
  for (std::size_t e = 0; e < volumes.size(); ++e) {
    if (are_points) {
      add(e, e);
    } else {
      for (const int node : b.mesh.tetrahedra[e]) add(e, node);
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (weights[i / components] > 0) values[i] /= weights[i / components];
  }
  if (!is_principal) return values;

  const std::size_t size = CountComponents(measure);
  std::vector<double> principal(size * nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    CalcPrincipal(measure, {&values[components * i], components}, {&principal[size * i], size});
  }
  return principal;
}

}  // namespace pliant::physics
