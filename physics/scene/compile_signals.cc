// Scripted inputs and probes.

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/dynamics/abilities/field_measures.h"
#include "physics/scene/compiler.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {
namespace {

constexpr double kMaxForce = 1e15;  // [N], [N·m]

std::string CountText(int count) {
  return absl::StrCat(count, count == 1 ? " number is" : " numbers are");
}

// Motion of a scripted body within a step that is a jump [m].
constexpr double kJump = 0.05;

// Reads times, which must not decrease.
bool ReadTimes(const v1::ScriptedInput& given, const std::string& path, SceneLog* log,
               Script* script) {
  if (given.times().empty()) return Missing(path + ".times", "a list of times in seconds", log);
  for (int i = 0; i < given.times_size(); ++i) {
    if (i > 0 && given.times(i) < given.times(i - 1)) {
      log->Error(
          absl::StrCat(path, ".times[", i, "]"),
          absl::StrCat(NumberText(given.times(i)), " comes after ", NumberText(given.times(i - 1)),
                       "; expected times that do not decrease"));
      return false;
    }
    script->times.push_back(given.times(i));
  }
  if (given.values_size() == given.times_size()) return true;
  log->Error(
      path + ".values",
      absl::StrCat(given.values_size(), given.values_size() == 1 ? " entry is" : " entries are",
                   " given for ", given.times_size(), " times; expected one for each"));
  return false;
}

// Numbers that a script has at each time; poses have three or seven.
int CountNumbers(Script::Kind kind) {
  switch (kind) {
    case Script::Kind::kPose:
    case Script::Kind::kForce:
    case Script::Kind::kTorque:
      return 3;
    case Script::Kind::kTwist:
      return 6;
    default:
      return 1;
  }
}

std::string ExpectedNumbers(Script::Kind kind) {
  switch (kind) {
    case Script::Kind::kPose:
      return "3 (a position) or 7 (a position and a quaternion w, x, y, z)";
    case Script::Kind::kForce:
    case Script::Kind::kTorque:
      return "3, along x, y and z";
    case Script::Kind::kTwist:
      return "6: angular along x, y and z, then linear";
    default:
      return "1";
  }
}

// Reads values: for poses three or seven numbers, the same at each time; otherwise as CountNumbers.
bool ReadValues(const v1::ScriptedInput& given, const std::string& path, SceneLog* log,
                Script* script) {
  const bool pose = script->kind == Script::Kind::kPose;
  const int first = given.values(0).value_size();
  for (int i = 0; i < given.values_size(); ++i) {
    const std::string at = absl::StrCat(path, ".values[", i, "]");
    const auto& numbers = given.values(i).value();
    const int count = numbers.size();
    if (!(count == CountNumbers(script->kind) || (pose && count == 7))) {
      log->Error(
          at, absl::StrCat(CountText(count), " given; expected ", ExpectedNumbers(script->kind)));
      return false;
    }
    if (count != first) {
      log->Error(
          at, absl::StrCat(CountText(count), " given; expected ", first, " as at the first time"));
      return false;
    }
    std::vector<double> value(numbers.begin(), numbers.end());
    const double largest = pose ? kMaxLength : kMaxForce;
    for (int k = 0; k < (pose ? 3 : count); ++k) {
      if (std::abs(value[k]) <= largest) continue;
      log->Error(absl::StrCat(at, "[", k, "]"),
                 absl::StrCat(NumberText(value[k]), " is not allowed; expected at most ",
                              NumberText(largest), ". Is the unit right?"));
      return false;
    }
    if (count == 7) {
      Eigen::Quaterniond rotation;
      if (!ReadQuaternion(at, value.data() + 3, log, &rotation)) return false;
      value[3] = rotation.w();
      value[4] = rotation.x();
      value[5] = rotation.y();
      value[6] = rotation.z();
    }
    script->values.push_back(std::move(value));
  }
  return true;
}

// A point in the frame of a body called `name`; an empty list leaves it unchanged.
bool ReadBodyPoint(const google::protobuf::RepeatedField<double>& numbers, const std::string& path,
                   const std::string& name, bool is_deformable, SceneLog* log, bool* has_point,
                   Eigen::Vector3d* p_BP) {
  if (numbers.empty()) return true;
  if (is_deformable) {
    log->Error(path, absl::StrCat(Quoted(name),
                                  " is deformable and has no frame. Name a `vertex` instead"));
    return false;
  }
  *has_point = true;
  return ReadVector(path, numbers, "position in metres", kMaxLength, log, p_BP);
}

// A measure of field probes, and the reason why a body may lack it.
struct MeasureName {
  v1::FieldMeasure measure;
  FieldMeasure of_elements;
  const char* without;
};
constexpr char kNoStrain[] = "its material keeps no strain";
constexpr char kNoSurface[] = "it has no surface of triangles. Use contact_force";
constexpr MeasureName kMeasures[] = {
    {v1::FIELD_MEASURE_VON_MISES_STRAIN, FieldMeasure::kVonMisesStrain, kNoStrain},
    {v1::FIELD_MEASURE_VON_MISES_STRESS, FieldMeasure::kVonMisesStress, kNoStrain},
    {v1::FIELD_MEASURE_VOLUME_RATIO, FieldMeasure::kVolumeRatio, kNoStrain},
    {v1::FIELD_MEASURE_PRINCIPAL_STRETCH, FieldMeasure::kPrincipalStretch, kNoStrain},
    {v1::FIELD_MEASURE_GREEN_STRAIN, FieldMeasure::kGreenStrain, kNoStrain},
    {v1::FIELD_MEASURE_PRINCIPAL_STRETCHES, FieldMeasure::kPrincipalStretches, kNoStrain},
    {v1::FIELD_MEASURE_CONTACT_PRESSURE, FieldMeasure::kContactPressure, kNoSurface},
    {v1::FIELD_MEASURE_CONTACT_TRACTION, FieldMeasure::kContactTraction, kNoSurface},
    {v1::FIELD_MEASURE_CAUCHY_STRESS, FieldMeasure::kCauchyStress, kNoStrain},
    {v1::FIELD_MEASURE_PLASTIC_STRAIN, FieldMeasure::kPlasticStrain, "its material does not yield"},
    {v1::FIELD_MEASURE_PRESSURE, FieldMeasure::kPressure, kNoStrain},
    {v1::FIELD_MEASURE_SPEED, FieldMeasure::kSpeed, "its elements are not particles. Use velocity"},
};

std::string NameOf(const MeasureName& one) {
  constexpr int kPrefix = sizeof("FIELD_MEASURE_") - 1;
  return v1::FieldMeasure_Name(one.measure).substr(kPrefix);
}

// Lookup of the names in probes. The functions return −1 after reporting an unknown name.
struct ProbeNames {
  std::function<int(const std::string& name, const std::string& path)> find_body;
  std::function<int(int body, int vertex, const std::string& path)> find_vertex;
  std::function<bool(int body)> is_deformable;
  const JointIndex* joints;     // null: an error kept robots from being built
  bool has_constraints = true;  // false: an error kept some from being built
};

// Reads probes of a model, which may still be under construction.
class ProbeReader {
 public:
  ProbeReader(const Model& model, ProbeNames names, SceneLog* log)
      : model_(model), names_(std::move(names)), log_(*log) {}

  // Reads everything but the name and the rate.
  bool Read(const v1::Probe& given, const std::string& path, Probe* probe) const;

 private:
  bool CheckRigid(int body, const std::string& path) const {
    if (!names_.is_deformable(body)) return true;
    log_.Error(path,
               absl::StrCat(Quoted(model_.bodies[body].name),
                            " is deformable and has no single orientation; expected a rigid body"));
    return false;
  }

  bool CheckDeformable(int body, const std::string& path) const {
    if (names_.is_deformable(body)) return true;
    log_.Error(path, absl::StrCat(Quoted(model_.bodies[body].name),
                                  " is rigid; expected a deformable body"));
    return false;
  }
  // `path` is that of the probe's own message in what follows.
  bool FindBody(const std::string& name, const std::string& path, int* index) const {
    *index = names_.find_body(name, path);
    return *index >= 0;
  }
  bool FindBodyOrWorld(const std::string& name, const std::string& path, int* index) const {
    return name.empty() || FindBody(name, path, index);
  }
  bool ReadPoint(const v1::PointProbe& given, const std::string& path, Probe* probe) const;
  bool ReadContact(const v1::ContactForceProbe& given, const std::string& path, Probe* probe) const;
  bool ReadPair(const v1::PenetrationProbe& given, const std::string& path, Probe* probe) const;
  bool ReadReaction(const v1::ReactionProbe& given, const std::string& path, Probe* probe) const;
  bool ReadJoint(const v1::JointProbe& given, const std::string& path, Probe* probe) const;
  bool ReadEnergy(const v1::EnergyProbe& given, const std::string& path, Probe* probe) const;
  bool ReadField(const v1::FieldProbe& given, const std::string& path, Probe* probe) const;
  bool ReadExtent(const v1::ExtentProbe& given, const std::string& path, Probe* probe) const;
  bool ReadMassWithin(const v1::MassWithinProbe& given, const std::string& path,
                      Probe* probe) const;

  const Model& model_;
  const ProbeNames names_;
  SceneLog& log_;
};

bool ProbeReader::Read(const v1::Probe& given, const std::string& path, Probe* probe) const {
  switch (given.kind_case()) {
    case v1::Probe::kPosition:
      probe->kind = Probe::Kind::kPosition;
      return ReadPoint(given.position(), path + ".position", probe);
    case v1::Probe::kVelocity:
      probe->kind = Probe::Kind::kVelocity;
      return ReadPoint(given.velocity(), path + ".velocity", probe);
    case v1::Probe::kOrientation:
      probe->kind = Probe::Kind::kOrientation;
      return FindBody(given.orientation().body(), path + ".orientation.body", &probe->body) &&
             CheckRigid(probe->body, path + ".orientation.body");
    case v1::Probe::kAngularVelocity:
      probe->kind = Probe::Kind::kAngularVelocity;
      return FindBody(given.angular_velocity().body(), path + ".angular_velocity.body",
                      &probe->body);
    case v1::Probe::kContactForce:
      probe->kind = Probe::Kind::kContactForce;
      return ReadContact(given.contact_force(), path + ".contact_force", probe);
    case v1::Probe::kWrench:
      probe->kind = Probe::Kind::kWrench;
      return ReadContact(given.wrench(), path + ".wrench", probe);
    case v1::Probe::kReaction:
      probe->kind = Probe::Kind::kReaction;
      return ReadReaction(given.reaction(), path + ".reaction", probe);
    case v1::Probe::kJoint:
      probe->kind = Probe::Kind::kJoint;
      return ReadJoint(given.joint(), path + ".joint", probe);
    case v1::Probe::kEnergy:
      probe->kind = Probe::Kind::kEnergy;
      return ReadEnergy(given.energy(), path + ".energy", probe);
    case v1::Probe::kMomentum:
      probe->kind = Probe::Kind::kMomentum;
      return FindBodyOrWorld(given.momentum().body(), path + ".momentum.body", &probe->body);
    case v1::Probe::kVolume:
      probe->kind = Probe::Kind::kVolume;
      return FindBody(given.volume().body(), path + ".volume.body", &probe->body) &&
             CheckDeformable(probe->body, path + ".volume.body");
    case v1::Probe::kField:
      probe->kind = Probe::Kind::kField;
      return ReadField(given.field(), path + ".field", probe);
    case v1::Probe::kExtent:
      probe->kind = Probe::Kind::kExtent;
      return ReadExtent(given.extent(), path + ".extent", probe);
    case v1::Probe::kMassWithin:
      probe->kind = Probe::Kind::kMassWithin;
      return ReadMassWithin(given.mass_within(), path + ".mass_within", probe);
    case v1::Probe::kPressure:
      probe->kind = Probe::Kind::kPressure;
      return names_.has_constraints &&
             FindVolumeConstraint(model_, given.pressure().constraint(),
                                  path + ".pressure.constraint", &log_, &probe->constraint);
    case v1::Probe::kPenetration:
      probe->kind = Probe::Kind::kPenetration;
      return ReadPair(given.penetration(), path + ".penetration", probe);
    case v1::Probe::kContactPoints:
      probe->kind = Probe::Kind::kContactPoints;
      return ReadPair(given.contact_points(), path + ".contact_points", probe);
    case v1::Probe::KIND_NOT_SET:
      log_.Error(path,
                 "samples nothing; expected one of position, velocity, orientation, "
                 "angular_velocity, contact_force, wrench, reaction, energy, momentum, volume, "
                 "field, joint, penetration, contact_points, extent, mass_within or pressure");
      return false;
  }
  return false;
}

bool ProbeReader::ReadPoint(const v1::PointProbe& given, const std::string& path,
                            Probe* probe) const {
  if (!given.link().empty() && !given.body().empty()) {
    log_.Error(path + ".link", "conflicts with `body`; expected only one of the two");
    return false;
  }
  const bool is_link = !given.link().empty();
  if (!FindBody(is_link ? given.link() : given.body(), path + (is_link ? ".link" : ".body"),
                &probe->body))
    return false;
  if (given.has_vertex()) {
    probe->node = names_.find_vertex(probe->body, given.vertex(), path + ".vertex");
    if (probe->node < 0) return false;
  }
  return ReadBodyPoint(given.point(), path + ".point", model_.bodies[probe->body].name,
                       names_.is_deformable(probe->body), &log_, &probe->has_point, &probe->p_BP);
}

bool ProbeReader::ReadContact(const v1::ContactForceProbe& given, const std::string& path,
                              Probe* probe) const {
  if (!FindBody(given.body(), path + ".body", &probe->body)) return false;
  if (!FindBodyOrWorld(given.with(), path + ".with", &probe->other)) return false;
  if (probe->other != probe->body) return true;
  log_.Error(path + ".with",
             absl::StrCat(Quoted(given.with()), " is the body itself; expected another"));
  return false;
}

bool ProbeReader::ReadPair(const v1::PenetrationProbe& given, const std::string& path,
                           Probe* probe) const {
  const std::string at = path + ".bodies";
  const int count = given.bodies_size();
  if (count == 0) return true;
  if (count != 2) {
    log_.Error(at, absl::StrCat(count, count == 1 ? " name is" : " names are",
                                " given; expected 2, or none for the whole world"));
    return false;
  }
  probe->body = names_.find_body(given.bodies(0), at + "[0]");
  probe->other = names_.find_body(given.bodies(1), at + "[1]");
  if (probe->body < 0 || probe->other < 0) return false;
  if (probe->body != probe->other) return true;
  log_.Error(at + "[1]", absl::StrCat(Quoted(given.bodies(1)),
                                      " is named twice; expected two different bodies"));
  return false;
}

bool ProbeReader::ReadReaction(const v1::ReactionProbe& given, const std::string& path,
                               Probe* probe) const {
  if (given.joint().empty() == given.constraint().empty()) {
    log_.Error(path, "names neither or both; expected either `joint` or `constraint`");
    return false;
  }
  if (!given.joint().empty()) {
    if (names_.joints == nullptr) return false;
    if (const auto found = names_.joints->find(given.joint()); found != names_.joints->end()) {
      std::tie(probe->robot, probe->joint) = found->second;
      return true;
    }
    return FindJoint(*names_.joints, model_, given.joint(), path + ".joint", &log_, &probe->robot,
                     &probe->joint);
  }
  if (!names_.has_constraints) return false;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model_.constraints.size(); ++i) {
    names.push_back(model_.constraints[i].name);
    if (names.back() == given.constraint()) probe->constraint = static_cast<int>(i);
  }
  if (probe->constraint < 0) {
    log_.Error(path + ".constraint",
               absl::StrCat("no constraint is called ", Quoted(given.constraint()),
                            DidYouMean(given.constraint(), names)));
    return false;
  }
  if (model_.constraints[probe->constraint].kind != Constraint::Kind::kVolume) return true;
  log_.Error(path + ".constraint",
             absl::StrCat(Quoted(given.constraint()),
                          " is a volume constraint, whose forces balance. Probe its `pressure`"));
  return false;
}

bool ProbeReader::ReadJoint(const v1::JointProbe& given, const std::string& path,
                            Probe* probe) const {
  using Quantity = Probe::JointQuantity;
  probe->quantity = given.quantity() == v1::JointProbe::QUANTITY_VELOCITY ? Quantity::kVelocity
                    : given.quantity() == v1::JointProbe::QUANTITY_EFFORT ? Quantity::kEffort
                                                                          : Quantity::kPosition;
  if (given.robot().empty()) return Missing(path + ".robot", "the name of a robot", &log_);
  if (given.joint().empty()) return Missing(path + ".joint", "the name of a joint", &log_);
  return names_.joints != nullptr &&
         FindJoint(*names_.joints, model_, absl::StrCat(given.robot(), "/", given.joint()),
                   path + ".joint", &log_, &probe->robot, &probe->joint);
}

bool ProbeReader::ReadEnergy(const v1::EnergyProbe& given, const std::string& path,
                             Probe* probe) const {
  using Energy = Probe::Energy;
  probe->energy = given.kind() == v1::EnergyProbe::KIND_KINETIC     ? Energy::kKinetic
                  : given.kind() == v1::EnergyProbe::KIND_ELASTIC   ? Energy::kElastic
                  : given.kind() == v1::EnergyProbe::KIND_POTENTIAL ? Energy::kPotential
                                                                    : Energy::kTotal;
  return FindBodyOrWorld(given.body(), path + ".body", &probe->body);
}

bool ProbeReader::ReadField(const v1::FieldProbe& given, const std::string& path,
                            Probe* probe) const {
  const MeasureName* named = nullptr;
  std::vector<std::string> names;
  for (const MeasureName& one : kMeasures) {
    if (one.measure == given.measure()) named = &one;
    names.push_back(NameOf(one));
  }
  if (named == nullptr) return Missing(path + ".measure", JoinWithOr(names), &log_);
  probe->measure = named->of_elements;
  using Reduce = Probe::Reduce;
  probe->reduce = given.reduce() == v1::FieldProbe::REDUCE_MIN    ? Reduce::kMin
                  : given.reduce() == v1::FieldProbe::REDUCE_MEAN ? Reduce::kMean
                                                                  : Reduce::kMax;
  probe->body = names_.find_body(given.body(), path + ".body");
  if (probe->body < 0 || !CheckDeformable(probe->body, path + ".body")) return false;

  const Body& body = model_.bodies[probe->body];
  if (body.block == kWorldBlock) return true;  // not built, because of an error
  const ElementSet& elements = *model_.blocks[body.block]->abilities().elements;
  const auto has = [&](const MeasureName& one) {
    return IsOfContact(one.of_elements) ? !body.surface.triangles.empty()
                                        : elements.HasField(one.of_elements, body.part);
  };
  if (has(*named)) return true;
  names.clear();
  for (const MeasureName& one : kMeasures)
    if (has(one)) names.push_back(NameOf(one));
  log_.Error(path + ".measure",
             absl::StrCat(NameOf(*named), " is not known of ", Quoted(body.name), ": ",
                          named->without, "; expected ", JoinWithOr(names)));
  return false;
}

bool ProbeReader::ReadExtent(const v1::ExtentProbe& given, const std::string& path,
                             Probe* probe) const {
  bool ok = true;
  if (given.direction().empty()) {
    ok = Missing(path + ".direction", "3 numbers, such as [1, 0, 0]", &log_);
  } else {
    ok = ReadVector(path + ".direction", given.direction(), "direction", kMaxLength, &log_,
                    &probe->direction);
    const double norm = std::sqrt(probe->direction.squaredNorm());
    if (ok && !(norm > 1e-9)) {
      log_.Error(path + ".direction", "is zero; expected a vector that points somewhere");
      ok = false;
    }
    probe->direction /= norm;
  }
  if (given.has_quantile()) {
    probe->quantile = given.quantile();
    if (!(given.quantile() >= 0 && given.quantile() <= 1)) {
      log_.Error(path + ".quantile", absl::StrCat(NumberText(given.quantile()),
                                                  " is not allowed; expected a part of the mass, "
                                                  "from 0 to 1"));
      ok = false;
    }
  }
  probe->body = names_.find_body(given.body(), path + ".body");
  return probe->body >= 0 && CheckDeformable(probe->body, path + ".body") && ok;
}

bool ProbeReader::ReadMassWithin(const v1::MassWithinProbe& given, const std::string& path,
                                 Probe* probe) const {
  bool ok = true;
  const v1::Box& box = given.box();
  if (box.size().empty()) {
    ok = Missing(path + ".box.size", "3 numbers in metres, each a full length", &log_);
  } else {
    ok = ReadVector(path + ".box.size", box.size(), "full length in metres", kMaxLength, &log_,
                    &probe->half_size);
    for (int i = 0; i < box.size_size(); ++i)
      ok &= CheckLength(absl::StrCat(path, ".box.size[", i, "]"), true, box.size(i), "full length",
                        &log_);
    probe->half_size *= 0.5;
  }
  ok &= ReadPose(path + ".box.pose", box.pose(), &log_, &probe->X_WF);
  probe->body = names_.find_body(given.body(), path + ".body");
  return probe->body >= 0 && CheckDeformable(probe->body, path + ".body") && ok;
}

// Indexes the joints of a built model by their names in scenes, robot/joint.
JointIndex IndexJoints(const Model& model) {
  JointIndex joints;
  for (std::size_t r = 0; r < model.robots.size(); ++r) {
    const Robot& robot = model.robots[r];
    for (std::size_t j = 0; j < robot.joints.size(); ++j) {
      if (robot.joints[j].kind == RobotJoint::Kind::kActivation) continue;
      joints[absl::StrCat(robot.name, "/", robot.joints[j].name)] = {static_cast<int>(r),
                                                                     static_cast<int>(j)};
    }
  }
  return joints;
}

int FindBuiltBody(const Model& model, const std::string& name, const std::string& path,
                  SceneLog* log) {
  if (name.empty()) {
    Missing(path, "the name of a body", log);
    return -1;
  }
  const int body = FindBody(model, name);
  if (body >= 0) return body;
  std::vector<std::string> names;
  for (const Body& one : model.bodies) names.push_back(one.name);
  std::sort(names.begin(), names.end());
  log->Error(path, absl::StrCat("no body is called ", Quoted(name), DidYouMean(name, names)));
  return -1;
}

int FindBuiltVertex(const Model& model, int body, int vertex, const std::string& path,
                    SceneLog* log) {
  const Body& of = model.bodies[body];
  // without a mesh, the nodes of the body count as vertices
  const NodeSet* nodes = model.abilities_of(of).nodes;
  const int vertices = !of.mesh.vertices.empty() ? static_cast<int>(of.mesh.vertices.size())
                       : nodes != nullptr        ? nodes->nodes_of(of.part).count
                                                 : 0;
  if (vertices == 0) {
    log->Error(path, absl::StrCat(Quoted(of.name),
                                  " is rigid and has no vertices. Name a `point` in its frame "
                                  "instead"));
  } else if (vertex < 0 || vertex >= vertices) {
    log->Error(path, absl::StrCat(vertex, " is not a vertex of ", Quoted(of.name),
                                  "; expected a number from 0 to ", vertices - 1));
  } else {
    return vertex;
  }
  return -1;
}

}  // namespace

void SceneCompiler::CompileScript() {
  absl::flat_hash_map<int, int> driven;  // script by KINEMATIC body
  for (int i = 0; i < scene_.script_size(); ++i) {
    const v1::ScriptedInput& given = scene_.script(i);
    const std::string path = absl::StrCat("script[", i, "]");
    Script script;
    if (!ReadTarget(given.target(), path + ".target", &script)) continue;
    if (!ReadTimes(given, path, &log_, &script) || !ReadValues(given, path, &log_, &script))
      continue;
    if (script.kind == Script::Kind::kPose) {
      if (const auto [first, fresh] = driven.try_emplace(script.body, i); !fresh) {
        log_.Error(path + ".target.pose",
                   absl::StrCat(Quoted(given.target().pose()), " is driven by script[",
                                first->second, "] already; expected one pose script per body"));
        continue;
      }
    }
    if (script.kind == Script::Kind::kPose) WarnOfJumps(script, path);
    if (script.kind == Script::Kind::kPressure && !CheckPressures(script, path)) continue;
    model_->script.push_back(std::move(script));
  }
}

void SceneCompiler::WarnOfJumps(const Script& script, const std::string& path) {
  const Body& body = model_->bodies[script.body];
  const double h = model_->time_step;
  Eigen::Vector3d last = body.X_WB.p;
  double last_time = 0;
  for (std::size_t i = 0; i < script.times.size(); ++i) {
    const std::vector<double>& value = script.values[i];
    const Eigen::Vector3d p(value[0], value[1], value[2]);
    const double distance = (p - last).norm(), steps = (script.times[i] - last_time) / h;
    const double jump = distance / std::max(1.0, steps);
    if (jump > kJump) {
      log_.Warning(absl::StrCat(path, ".values[", i, "]"),
                   absl::StrCat("moves ", Quoted(body.name), " by ", NumberText(jump),
                                " m within a step, at ", NumberText(script.times[i]),
                                " s; what it meets there overlaps it and parts at "
                                "contact.recovery_speed. Give the motion more time"));
      return;  // one warning is enough
    }
    last = p;
    last_time = script.times[i];
  }
}

bool SceneCompiler::ReadTarget(const v1::Target& target, const std::string& path, Script* script) {
  std::string name, at;
  switch (target.kind_case()) {
    case v1::Target::kJoint:
    case v1::Target::kTwist:
    case v1::Target::kGripper:
    case v1::Target::kActivation:
    case v1::Target::kPressure:
      return ReadJointTarget(target, path, script);
    case v1::Target::KIND_NOT_SET:
      log_.Error(path,
                 "drives nothing; expected joint, pose, force, torque, twist, gripper, "
                 "activation or pressure");
      return false;
    case v1::Target::kPose:
      script->kind = Script::Kind::kPose;
      name = target.pose();
      at = path + ".pose";
      break;
    case v1::Target::kForce:
      script->kind = Script::Kind::kForce;
      name = target.force();
      at = path + ".force";
      break;
    case v1::Target::kTorque:
      if (joint_index_.contains(target.torque())) return ReadJointTarget(target, path, script);
      script->kind = Script::Kind::kTorque;
      name = target.torque();
      at = path + ".torque";
      break;
  }
  script->body = ResolveBody(name, at);
  if (script->body < 0) return false;
  const Body& body = model_->bodies[script->body];
  const bool is_deformable = IsDeformable(script->body);

  const char* motion = is_deformable                       ? "deformable"
                       : body.motion == Motion::kFixed     ? "FIXED"
                       : body.motion == Motion::kKinematic ? "KINEMATIC"
                                                           : "FREE";
  if (script->kind == Script::Kind::kPose && (is_deformable || body.motion != Motion::kKinematic)) {
    log_.Error(at, absl::StrCat(Quoted(name), " is ", motion, "; expected a KINEMATIC body"));
    return false;
  }
  if (script->kind != Script::Kind::kPose && !is_deformable && body.motion != Motion::kFree) {
    log_.Error(at, absl::StrCat(Quoted(name), " is ", motion,
                                " and cannot be pushed; expected a FREE or deformable body"));
    return false;
  }
  if (script->kind == Script::Kind::kTorque && is_deformable) {
    log_.Error(at, absl::StrCat(Quoted(name),
                                " is deformable, and a torque on it is not supported yet. "
                                "Use forces on its vertices"));
    return false;
  }
  if (target.has_vertex()) {
    if (script->kind != Script::Kind::kForce) {
      log_.Error(path + ".vertex", "applies only to `force`. Remove it");
      return false;
    }
    if (!is_deformable) {
      log_.Error(
          path + ".vertex",
          absl::StrCat(Quoted(name),
                       " is rigid and has no vertices. Name a `point` in its frame instead"));
      return false;
    }
    script->node = ResolveVertex(script->body, target.vertex(), path + ".vertex");
    if (script->node < 0) return false;
  }
  return ReadPoint(target.point(), path + ".point", script->body,
                   script->kind == Script::Kind::kForce, &script->has_point, &script->p_BP);
}

bool SceneCompiler::CheckPressures(const Script& script, const std::string& path) {
  const Constraint& constraint = model_->constraints[script.index];
  const VolumeLaw& law = *volumes_.at(constraint.body_a)[constraint.volume].law;
  for (std::size_t i = 0; i < script.values.size(); ++i) {
    if (!CheckGaugePressure(absl::StrCat(path, ".values[", i, "]"), script.values[i][0], law,
                            &log_))
      return false;
  }
  return true;
}

// Reads targets of joints, controllers and volume constraints.
bool SceneCompiler::ReadJointTarget(const v1::Target& target, const std::string& path,
                                    Script* script) {
  if (target.has_vertex() || !target.point().empty()) {
    log_.Error(path + (target.has_vertex() ? ".vertex" : ".point"),
               "applies only to `force`. Remove it");
    return false;
  }
  if (target.has_torque()) {
    script->kind = Script::Kind::kJointForce;
    return ResolveJoint(target.torque(), path + ".torque", &script->robot, &script->joint);
  }
  if (target.has_pressure()) {
    script->kind = Script::Kind::kPressure;
    return has_constraints_ && FindVolumeConstraint(*model_, target.pressure(), path + ".pressure",
                                                    &log_, &script->index);
  }
  if (!has_drives_) return false;
  if (target.has_activation()) {
    script->kind = Script::Kind::kActuator;
    script->index = FindActuator(*model_, target.activation());
    const auto is_activation = [this](const Actuator& actuator) {
      return model_->joint_of(actuator).kind == RobotJoint::Kind::kActivation;
    };
    if (script->index >= 0 && is_activation(model_->actuators[script->index])) return true;
    std::vector<std::string> names;
    for (const Actuator& actuator : model_->actuators)
      if (is_activation(actuator)) names.push_back(actuator.name);
    log_.Error(path + ".activation",
               absl::StrCat("no activation is called ", Quoted(target.activation()),
                            "; expected body/name", DidYouMean(target.activation(), names)));
    return false;
  }
  if (target.has_joint()) {
    script->kind = Script::Kind::kActuator;
    const std::string at = path + ".joint";
    if (!ResolveJoint(target.joint(), at, &script->robot, &script->joint)) return false;
    script->index = FindDrive(script->robot, script->joint);
    if (script->index >= 0) return true;
    log_.Error(at, absl::StrCat(Quoted(target.joint()),
                                " has no actuator. Give the robot one in `actuators`, or script "
                                "a `torque`"));
    return false;
  }
  const bool is_twist = target.has_twist();
  const std::string& name = is_twist ? target.twist() : target.gripper();
  const std::string at = path + (is_twist ? ".twist" : ".gripper");
  script->kind = is_twist ? Script::Kind::kTwist : Script::Kind::kGripper;
  script->index = FindController(*model_, name);
  const Controller::Kind kind =
      is_twist ? Controller::Kind::kDifferentialIk : Controller::Kind::kGripper;
  if (script->index >= 0 && model_->controllers[script->index].kind == kind) return true;
  std::vector<std::string> names;
  for (const Controller& controller : model_->controllers)
    if (controller.kind == kind) names.push_back(controller.name);
  log_.Error(at,
             absl::StrCat("no ", is_twist ? "differential_ik" : "gripper", " controller is called ",
                          Quoted(name), "; expected robot/controller", DidYouMean(name, names)));
  return false;
}

bool SceneCompiler::ReadPoint(const google::protobuf::RepeatedField<double>& numbers,
                              const std::string& path, int body, bool allowed, bool* has_point,
                              Eigen::Vector3d* p_BP) {
  if (!allowed && !numbers.empty()) {
    log_.Error(path, "applies only to `force`. Remove it");
    return false;
  }
  return ReadBodyPoint(numbers, path, model_->bodies[body].name, IsDeformable(body), &log_,
                       has_point, p_BP);
}

void SceneCompiler::CompileProbes() {
  const ProbeReader reader(
      *model_,
      {[this](const std::string& name, const std::string& path) { return ResolveBody(name, path); },
       [this](int body, int vertex, const std::string& path) {
         return ResolveVertex(body, vertex, path);
       },
       [this](int body) { return IsDeformable(body); }, has_robots_ ? &joint_index_ : nullptr,
       has_constraints_},
      &log_);
  absl::flat_hash_map<std::string, int> names;
  for (int i = 0; i < scene_.probes_size(); ++i) {
    const v1::Probe& given = scene_.probes(i);
    const std::string path = absl::StrCat("probes[", i, "]");
    Probe probe;
    probe.name = given.name();
    if (given.name().empty()) {
      Missing(path + ".name", "a name", &log_);
    } else if (given.name().find_first_of(",\"") != std::string::npos) {
      log_.Error(path + ".name", absl::StrCat(Quoted(given.name()),
                                              " contains a comma or a quote, which separate the "
                                              "columns of a table; expected a name without them"));
    } else if (CheckName(path + ".name", given.name(), &log_)) {
      if (const auto [first, fresh] = names.try_emplace(given.name(), i); !fresh) {
        log_.Error(path + ".name",
                   absl::StrCat(Quoted(given.name()), " is also the name of probes[", first->second,
                                "]; expected a unique name"));
      }
    }
    if (given.has_rate()) {
      CheckPositive(path + ".rate", given.rate(), "rate in hertz", &log_, 1e9);
      probe.rate = given.rate();
    }
    if (reader.Read(given, path, &probe)) model_->probes.push_back(std::move(probe));
  }
}

ProbesResult CompileProbes(const google::protobuf::RepeatedPtrField<v1::Probe>& given,
                           const std::string& name, const std::string& field, const Model& model) {
  SceneLog log(name);
  const JointIndex joints = IndexJoints(model);
  const ProbeReader reader(
      model,
      {[&](const std::string& name, const std::string& path) {
         return FindBuiltBody(model, name, path, &log);
       },
       [&](int body, int vertex, const std::string& path) {
         return FindBuiltVertex(model, body, vertex, path, &log);
       },
       [&](int body) { return model.abilities_of(model.bodies[body]).nodes != nullptr; }, &joints},
      &log);
  ProbesResult result;
  for (int i = 0; i < given.size(); ++i) {
    const std::string path = absl::StrCat(field, "[", i, "]");
    CheckEveryField(given[i], path, &log);
    if (!given[i].name().empty()) CheckName(path + ".name", given[i].name(), &log);
    Probe probe;
    probe.name = given[i].name();
    if (!reader.Read(given[i], path, &probe)) continue;
    if (probe.kind == Probe::Kind::kField && !IsOfContact(probe.measure) &&
        model.abilities_of(model.bodies[probe.body]).elements == nullptr) {
      log.Error(path + ".field.body", absl::StrCat(Quoted(model.bodies[probe.body].name),
                                                   " has no elements; expected one that has"));
      continue;
    }
    result.probes.push_back(std::move(probe));
  }
  if (log.failed()) result.probes.clear();
  result.messages = log.TakeMessages();
  return result;
}

}  // namespace pliant::physics
