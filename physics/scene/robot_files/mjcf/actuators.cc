#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include <Eigen/Geometry>

#include "physics/scene/robot_files/mjcf/mjcf_model.h"

namespace pliant::physics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Force of an actuator, gain · control + bias0 + bias1 · length + bias2 · velocity, in its own
// coordinates.
struct Affine {
  double gain = 1;
  double bias[3] = {};
  double damping_ratio = 0;  // instead of bias2
  bool supported = true;
};

class ActuatorReader {
 public:
  explicit ActuatorReader(MjcfModel* model) : model_(model), log_(model->log) {}

  // Sets damping that is given as a ratio, once all actuators are read.
  void SetDampingRatios() {
    std::vector<RobotActuator>& actuators = model_->draft->robot.actuators;
    std::vector<int> wanted;
    for (const auto& [number, ratio] : ratios_) wanted.push_back(actuators[number].link);
    if (wanted.empty() || !log_->ok()) return;
    const std::vector<double> inertias = CalcEffectiveInertias(model_->draft->robot.links, wanted);
    for (std::size_t k = 0; k < ratios_.size(); ++k) {
      RobotActuator& actuator = actuators[ratios_[k].first];
      actuator.damping = ratios_[k].second * 2 * std::sqrt(actuator.stiffness * inertias[k]);
    }
  }

  void Read(const XmlElement& source) {
    if (!IsMjcfActuator(source.name)) {
      log_->LeftOut(source.place, absl::StrCat("<", source.name, "> actuator"));
      return;
    }
    const XmlElement element = model_->defaults.Apply(source, "", log_);
    const char* where = element.Find("joint") != nullptr           ? "joint"
                        : element.Find("jointinparent") != nullptr ? "jointinparent"
                                                                   : nullptr;
    if (where == nullptr) {
      log_->LeftOut(source.place, absl::StrCat("<", source.name, "> actuator on ", Target(element)),
                    "only joints are driven");
      return;
    }
    Affine force = ReadForce(element);
    if (!force.supported) return;
    const int link = model_->FindJoint(element, where);
    if (link < 0) return;
    const Joint& joint = model_->draft->robot.links[link].joint;
    if (CountVelocities(joint.type) != 1) {
      log_->LeftOut(source.place,
                    absl::StrCat("<", source.name, "> actuator on a free or ball joint"));
      return;
    }
    std::vector<double> gears = {1};
    ReadNumbers(AttributeOf(element, "gear"), 1, 6, &gears, log_);
    const double gear = gears[0];
    if (gear == 0) {
      log_->Error(source.place,
                  absl::StrCat(element.Label(), " gear: is 0; expected a factor other than 0"));
      return;
    }
    RobotActuator actuator;
    actuator.name = source.Get("name");
    actuator.link = link;
    actuator.gear = gear;
    if (!Fill(element, force, &actuator)) return;
    double limit = std::abs(gear) * ReadLimit(element, "forcerange", "forcelimited");
    if (actuator.kind == RobotActuator::Kind::kTorque)
      limit =
          std::min(limit, std::abs(actuator.gear) * ReadLimit(element, "ctrlrange", "ctrllimited"));
    actuator.effort_limit = std::min(limit, joint.effort_limit);
    model_->draft->robot.actuators.push_back(std::move(actuator));
  }

 private:
  static std::string Target(const XmlElement& element) {
    for (const char* name : {"tendon", "site", "cranksite", "body"}) {
      if (element.Find(name) != nullptr) return absl::StrCat("a ", name);
    }
    return "nothing";
  }

  Affine LeaveOut(const XmlElement& element, const std::string& what) {
    log_->LeftOut(element.place, what);
    Affine force;
    force.supported = false;
    return force;
  }

  Affine ReadForce(const XmlElement& element) {
    const std::string& kind = element.name;
    Affine force;
    if (kind == "motor") return force;
    if (kind == "position") {
      double stiffness = 1, damping = 0;
      ReadNumber(AttributeOf(element, "kp"), &stiffness, log_, Range::kNotNegative);
      ReadNumber(AttributeOf(element, "kv"), &damping, log_, Range::kNotNegative);
      ReadNumber(AttributeOf(element, "dampratio"), &force.damping_ratio, log_,
                 Range::kNotNegative);
      double lag = 0;
      if (ReadNumber(AttributeOf(element, "timeconst"), &lag, log_) && lag != 0)
        log_->LeftOut(element.place, "timeconst of a position actuator");
      force.gain = stiffness;
      force.bias[1] = -stiffness;
      force.bias[2] = -damping;
      return force;
    }
    if (kind == "velocity") {
      double damping = 1;
      ReadNumber(AttributeOf(element, "kv"), &damping, log_, Range::kNotNegative);
      force.gain = damping;
      force.bias[2] = -damping;
      return force;
    }
    if (kind == "general") return ReadGeneral(element);
    return LeaveOut(element, absl::StrCat("<", kind, "> actuator"));
  }

  Affine ReadGeneral(const XmlElement& element) {
    Affine force;
    const std::string dynamics = element.Get("dyntype"), gain = element.Get("gaintype"),
                      bias = element.Get("biastype");
    if ((!dynamics.empty() && dynamics != "none") || (!gain.empty() && gain != "fixed") ||
        (!bias.empty() && bias != "none" && bias != "affine")) {
      return LeaveOut(element,
                      absl::StrCat("<general> actuator with dyntype, gaintype or biastype beyond "
                                   "none, fixed and affine"));
    }
    std::vector<double> numbers;
    if (ReadNumbers(AttributeOf(element, "gainprm"), 1, 10, &numbers, log_))
      force.gain = numbers[0];
    if (bias == "affine" && ReadNumbers(AttributeOf(element, "biasprm"), 1, 10, &numbers, log_)) {
      for (std::size_t i = 0; i < 3 && i < numbers.size(); ++i) force.bias[i] = numbers[i];
    }
    return force;
  }

  // Sets the kind of actuator that a force law is; false if there is none.
  bool Fill(const XmlElement& element, const Affine& force, RobotActuator* actuator) {
    const double gear = actuator->gear;
    const double* b = force.bias;
    if (b[0] == 0 && b[1] == 0 && b[2] == 0) {
      actuator->kind = RobotActuator::Kind::kTorque;
      actuator->gear = gear * force.gain;
      if (actuator->gear != 0) return true;
    } else if (b[0] == 0 && b[1] == 0 && b[2] < 0 && force.gain == -b[2]) {
      actuator->kind = RobotActuator::Kind::kVelocity;
      actuator->damping = -b[2] * gear * gear;
      return true;
    } else if (b[0] == 0 && b[1] < 0 && force.gain == -b[1] && b[2] <= 0) {
      actuator->kind = RobotActuator::Kind::kPosition;
      actuator->stiffness = -b[1] * gear * gear;
      actuator->damping = -b[2] * gear * gear;
      if (force.damping_ratio > 0)
        ratios_.push_back({model_->draft->robot.actuators.size(), force.damping_ratio});
      return true;
    }
    log_->LeftOut(element.place,
                  absl::StrCat("<", element.name,
                               "> actuator that is neither a motor nor a position or velocity "
                               "servo"));
    return false;
  }

  // Largest magnitude in a range that acts as a limit; infinite if none does.
  double ReadLimit(const XmlElement& element, const char* range_name, const char* limited_name) {
    std::vector<double> range;
    const bool has =
        ReadNumbers(AttributeOf(element, range_name), 2, 2, &range, log_, Range::kInfinite);
    const std::string limited = element.Get(limited_name);
    const bool automatic =
        (limited.empty() || limited == "auto") && has && model_->settings.automatic_limits;
    if (!has || !(limited == "true" || automatic)) return kInfinity;
    if (range[0] > range[1]) {
      log_->Mended(element.place, absl::StrCat(element.Label(), " ", range_name, ": ", range[0],
                                               " is above ", range[1], "; read in reverse"));
    }
    return std::max(std::abs(range[0]), std::abs(range[1]));
  }

  MjcfModel* model_;
  RobotLog* log_;
  std::vector<std::pair<std::size_t, double>> ratios_;  // damping ratios by number of the actuator
};

}  // namespace

void ReadMjcfActuators(const XmlElement& section, MjcfModel* model) {
  ActuatorReader reader(model);
  for (const XmlElement& child : section.children) reader.Read(child);
  reader.SetDampingRatios();
}

void ReadMjcfKeyframes(const XmlElement& section, MjcfModel* model) {
  const std::vector<RobotLink>& links = model->draft->robot.links;
  std::size_t count = 0;
  for (const RobotLink& link : links) count += CountPositions(link.joint.type);
  for (const XmlElement& key : section.children) {
    std::vector<double> q;
    if (key.Find("qpos") == nullptr) {
      model->log->LeftOut(key.place, "<key> without qpos");
      continue;
    }
    // qpos may include bodies that were left out, so read any length
    if (!ReadNumbers(AttributeOf(key, "qpos"), 1, 10'000'000, &q, model->log)) continue;
    if (q.size() != count) {
      const std::string text =
          absl::StrCat(key.Label(), ": qpos has ", q.size(), " numbers; expected ", count);
      if (model->log->left_something_out()) {
        model->log->Warning(key.place, text + ", of what was read. It is left out");
      } else {
        model->log->Error(key.place, text);
      }
      continue;
    }
    RobotKeyframe frame;
    frame.name = key.Get("name");
    const double* at = q.data();
    for (const RobotLink& link : links) {
      const int n = CountPositions(link.joint.type);
      std::vector<double> positions(at, at + n);
      if (link.joint.type == JointType::kFree || link.joint.type == JointType::kBall) {
        const bool free = link.joint.type == JointType::kFree;
        // in qpos, they are the pose in the world, position first
        const double* w = at + (free ? 3 : 0);
        const double length = std::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
        Eigen::Quaterniond own = Eigen::Quaterniond::Identity();
        if (length > 0) {
          own = {w[0] / length, w[1] / length, w[2] / length, w[3] / length};
        } else {
          model->log->Mended(key.place, absl::StrCat(key.Label(),
                                                     ": qpos has a zero quaternion; "
                                                     "it is read as no rotation"));
        }
        if (free) {
          const RigidTransform& X_WF = link.joint.X_PF;
          const Eigen::Vector3d p =
              X_WF.R.transpose() * (Eigen::Vector3d(at[0], at[1], at[2]) - X_WF.p);
          own = Eigen::Quaterniond(Eigen::Matrix3d(X_WF.R.transpose())) * own;
          std::copy(p.data(), p.data() + 3, positions.begin() + 4);
        }
        positions[0] = own.w();
        positions[1] = own.x();
        positions[2] = own.y();
        positions[3] = own.z();
      }
      frame.positions.push_back(std::move(positions));
      at += n;
    }
    model->draft->robot.keyframes.push_back(std::move(frame));
  }
}

}  // namespace pliant::physics
