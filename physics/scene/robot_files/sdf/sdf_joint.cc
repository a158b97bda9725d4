#include "physics/scene/robot_files/sdf/sdf_joint.h"

#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/scene/robot_files/parts/defects.h"
#include "physics/scene/robot_files/parts/drake_tags.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kNoLimit = 1e15;  // files write 1e16 for none
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class JointReader {
 public:
  JointReader(FrameGraph* frames, RobotDraft* draft, RobotLog* log)
      : frames_(frames), draft_(draft), log_(log) {}

  void Read(const std::vector<SdfJoint>& joints) {
    for (const SdfJoint& joint : joints) {
      if (joint.element->Get("type") == "gearbox") continue;
      ReadJoint(joint);
    }
    for (const SdfJoint& joint : joints) {
      if (joint.element->Get("type") == "gearbox") {
        ReadGearbox(joint);
      } else {
        ReadMimics(joint);
      }
    }
  }

 private:
  // Finds <parent> or <child>, which a drake:joint may write with the prefix.
  static const XmlElement* FindEnd(const XmlElement& element, const std::string& end) {
    const XmlElement* child = element.Child(end);
    return child == nullptr ? element.Child("drake:" + end) : child;
  }

  // Finds the link at an end; −2 after an error.
  int FindEndLink(const SdfJoint& joint, const char* end) {
    const XmlElement* child = FindEnd(*joint.element, end);
    if (child == nullptr || child->text.empty()) {
      log_->Error(joint.element->place, absl::StrCat(joint.element->Label(), ": <", end,
                                                     "> is missing; expected a link or frame"));
      return -2;
    }
    const int frame = frames_->Find(child->text, joint.scope);
    if (frame == FrameGraph::kNone) {
      log_->Error(child->place,
                  absl::StrCat(joint.element->Label(), ": its ", end, " \"", child->text,
                               "\" does not exist. Define it, or correct the name"));
      return -2;
    }
    return frames_->FindLink(frame, log_);
  }

  void ReadJoint(const SdfJoint& source) {
    const XmlElement& element = *source.element;
    JointDraft draft;
    draft.place = element.place;
    draft.joint.name = source.prefix + element.Get("name");
    draft.parent = FindEndLink(source, "parent");
    draft.child = FindEndLink(source, "child");
    if (draft.parent == -2 || draft.child == -2) return;
    if (draft.child == -1) {
      log_->Error(element.place, absl::StrCat(element.Label(),
                                              ": its child is the world; expected "
                                              "the world as parent. Swap them"));
      return;
    }
    if (draft.parent == draft.child) {
      log_->Error(element.place, absl::StrCat(element.Label(),
                                              ": its parent and child are the same link. Name "
                                              "two"));
      return;
    }
    // static models do not move, even if they have joints
    if (draft_->fixed[draft.child]) {
      log_->LeftOut(element.place, "joint of a static model's link");
      return;
    }
    const RigidTransform& X_WJ = frames_->X_WF(source.frame);
    draft.joint.X_PF = draft.parent < 0 ? X_WJ : X_WL(draft.parent).Inverse() * X_WJ;
    draft.joint.X_BM = X_WL(draft.child).Inverse() * X_WJ;
    if (element.name == "drake:joint") {
      // its ends are F and M, whatever the poses of the links
      const auto X_WE = [&](const char* end) {
        return frames_->X_WF(frames_->Find(FindEnd(element, end)->text, source.scope));
      };
      draft.joint.X_PF =
          draft.parent < 0 ? X_WE("parent") : X_WL(draft.parent).Inverse() * X_WE("parent");
      draft.joint.X_BM = X_WL(draft.child).Inverse() * X_WE("child");
    }
    RobotActuator gains;
    const bool has_gains = ReadDrakeActuation(element, &draft.joint, &gains, log_);
    if (!ReadType(source, &draft.joint)) return;
    if (has_gains) {
      if (CountVelocities(draft.joint.type) == 1) {
        gains.name = draft.joint.name;
        gains.link = draft.child;
        gains.effort_limit = draft.joint.effort_limit;
        draft_->robot.actuators.push_back(std::move(gains));
      } else {
        log_->LeftOut(element.place,
                      "<drake:controller_gains> of a joint without one degree of freedom");
      }
    }
    for (const XmlElement& child : element.children) {
      static const char* const kKnown[] = {"parent",
                                           "child",
                                           "pose",
                                           "axis",
                                           "axis2",
                                           "drake:mimic",
                                           "thread_pitch",
                                           "screw_thread_pitch",
                                           "drake:parent",
                                           "drake:child",
                                           "drake:damping",
                                           "drake:rotor_inertia",
                                           "drake:gear_ratio",
                                           "drake:controller_gains"};
      bool known = false;
      for (const char* name : kKnown) known = known || child.name == name;
      if (!known) log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of a joint"));
    }
    joint_numbers_[source.frame] = static_cast<int>(draft_->joints.size());
    draft_->joints.push_back(std::move(draft));
  }

  const RigidTransform& X_WL(int link) const { return frames_->X_WF(link_frame(link)); }
  int link_frame(int link) const {
    if (link_frames_.empty()) {
      link_frames_.assign(draft_->robot.links.size(), FrameGraph::kWorld);
      for (int i = 0; i < frames_->size(); ++i) {
        const int own = frames_->frame(i).link;
        if (own >= 0) link_frames_[own] = i;
      }
    }
    return link_frames_[link];
  }

  bool ReadType(const SdfJoint& source, Joint* joint) {
    const XmlElement& element = *source.element;
    static const std::map<std::string, JointType> kTypes = {
        {"revolute", JointType::kRevolute},   {"continuous", JointType::kRevolute},
        {"prismatic", JointType::kPrismatic}, {"screw", JointType::kScrew},
        {"fixed", JointType::kFixed},         {"ball", JointType::kBall},
        {"universal", JointType::kUniversal}, {"revolute2", JointType::kUniversal},
        {"planar", JointType::kPlanar}};
    const std::string type = element.Get("type");
    const auto found = kTypes.find(type);
    if (found == kTypes.end() || (type == "planar") != (element.name == "drake:joint")) {
      log_->Error(element.place,
                  absl::StrCat(element.Label(), ": type \"", type,
                               "\" is unknown; expected revolute, continuous, prismatic, screw, "
                               "fixed, ball, universal, revolute2 or gearbox, or planar for "
                               "<drake:joint>"));
      return false;
    }
    joint->type = found->second;
    const XmlElement* axis = element.Child("axis");
    const bool one = CountVelocities(joint->type) == 1;
    if (one && axis == nullptr)
      log_->WarnOnce(element.place, absl::StrCat(type, " joint without <axis>: z is assumed"));
    if ((one || joint->type == JointType::kUniversal) && axis != nullptr)
      ReadDirection(*axis, source, &joint->axis);
    if (axis != nullptr) ReadAxisProperties(element, *axis, type == "continuous", joint);
    if (joint->type == JointType::kUniversal) {
      const XmlElement* second = element.Child("axis2");
      joint->axis2 = FrameFromNormal(joint->axis).col(0);
      if (second == nullptr) {
        log_->Error(element.place, absl::StrCat(element.Label(),
                                                ": <axis2> is missing; expected "
                                                "a second axis"));
        return false;
      }
      ReadDirection(*second, source, &joint->axis2);
      if (joint->axis.cross(joint->axis2).squaredNorm() < 1e-12) {
        log_->Error(second->place, absl::StrCat(element.Label(),
                                                ": <axis2> is parallel to <axis>; "
                                                "expected another direction"));
        return false;
      }
    }
    if (joint->type == JointType::kScrew) ReadPitch(element, joint);
    std::vector<double> damping;
    if (ReadNumbers(TextOfChild(element, "drake:damping"), 3, 3, &damping, log_,
                    Range::kNotNegative)) {
      joint->damping = damping[0];
      if (damping[1] != damping[0] || damping[2] != damping[0]) {
        log_->WarnOnce(element.place,
                       "<drake:damping> differs between directions; the first is used for all");
      }
    }
    return true;
  }

  void ReadDirection(const XmlElement& axis, const SdfJoint& source, Vector3d* out) {
    const XmlElement* xyz = axis.Child("xyz");
    if (xyz == nullptr || !ReadAxis(TextOf(*xyz), out, log_)) return;
    std::string expressed_in = xyz->Get("expressed_in");
    bool in_parent_model = false;
    ReadBool(TextOfChild(axis, "use_parent_model_frame"), &in_parent_model, log_);
    if (in_parent_model && expressed_in.empty()) expressed_in = "__model__";
    if (expressed_in.empty()) return;
    const int frame = frames_->Find(expressed_in, source.scope);
    if (frame == FrameGraph::kNone) {
      log_->Error(xyz->place, absl::StrCat(source.element->Label(), ": its axis is expressed in \"",
                                           expressed_in,
                                           "\", which does not exist. Name a frame of the model"));
      return;
    }
    const Vector3d in_world = frames_->X_WF(frame).R * *out;
    *out = frames_->X_WF(source.frame).R.transpose() * in_world;
    *out /= std::sqrt(out->squaredNorm());
  }

  void ReadPitch(const XmlElement& element, Joint* joint) {
    const double turn = 2 * kPi;
    double old = 0;
    if (ReadNumber(TextOfChild(element, "screw_thread_pitch"), &joint->pitch, log_)) return;
    // the old pitch is in radians per metre, with the opposite sign
    if (ReadNumber(TextOfChild(element, "thread_pitch"), &old, log_)) {
      if (old == 0) {
        log_->Error(
            element.place,
            absl::StrCat(element.Label(), ": <thread_pitch> is 0; expected radians per metre"));
        return;
      }
      joint->pitch = -turn / old;
      return;
    }
    log_->Error(element.place, absl::StrCat(element.Label(),
                                            ": <screw_thread_pitch> is missing; "
                                            "expected metres per turn"));
  }

  void ReadAxisProperties(const XmlElement& element, const XmlElement& axis, bool continuous,
                          Joint* joint) {
    if (const XmlElement* limit = axis.Child("limit")) {
      double lower = -kInfinity, upper = kInfinity;
      ReadNumber(TextOfChild(*limit, "lower"), &lower, log_, Range::kInfinite);
      ReadNumber(TextOfChild(*limit, "upper"), &upper, log_, Range::kInfinite);
      if (!continuous) {
        SetLimits(lower <= -kNoLimit ? -kInfinity : lower, upper >= kNoLimit ? kInfinity : upper,
                  limit->place, element.Label(), joint, log_);
      }
      // a negative value means no limit
      const std::pair<const char*, double*> bounds[] = {
          {"effort", &joint->effort_limit},
          {"velocity", &joint->velocity_limit},
          {"drake:acceleration", &joint->acceleration_limit}};
      for (const auto& [name, bound] : bounds) {
        double value = kInfinity;
        ReadNumber(TextOfChild(*limit, name), &value, log_, Range::kInfinite);
        *bound = value < 0 || value >= kNoLimit ? kInfinity : value;
      }
      for (const char* name : {"stiffness", "dissipation"}) {
        if (limit->Child(name) != nullptr)
          log_->LeftOut(limit->place, absl::StrCat("<", name, "> of a joint limit"),
                        "limits are as rigid as possible");
      }
    }
    if (const XmlElement* dynamics = axis.Child("dynamics")) {
      ReadNumber(TextOfChild(*dynamics, "damping"), &joint->damping, log_, Range::kNotNegative);
      ReadNumber(TextOfChild(*dynamics, "friction"), &joint->friction_loss, log_,
                 Range::kNotNegative);
      ReadNumber(TextOfChild(*dynamics, "spring_reference"), &joint->spring_rest, log_);
      ReadNumber(TextOfChild(*dynamics, "spring_stiffness"), &joint->spring_stiffness, log_,
                 Range::kNotNegative);
    }
    for (const XmlElement& child : axis.children) {
      if (child.name != "xyz" && child.name != "limit" && child.name != "dynamics" &&
          child.name != "mimic" && child.name != "use_parent_model_frame" &&
          child.name != "initial_position") {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of an axis"));
      }
    }
    if (const XmlElement* initial = axis.Child("initial_position"))
      log_->LeftOut(initial->place, "<initial_position>", "give it as joint_positions");
  }

  // Finds a joint to mimic, which must have one degree of freedom; null after an error.
  const JointDraft* FindLeader(const SdfJoint& source, const XmlElement& mimic) {
    const std::string name = mimic.Get("joint");
    const int frame = frames_->Find(name, source.scope);
    const auto found = joint_numbers_.find(frame);
    if (frame == FrameGraph::kNone || found == joint_numbers_.end()) {
      log_->Error(mimic.place, absl::StrCat(source.element->Label(), ": mimics joint \"", name,
                                            "\", which does not exist. Correct the name"));
      return nullptr;
    }
    const JointDraft* leader = &draft_->joints[found->second];
    if (CountVelocities(leader->joint.type) != 1 || frame == source.frame) {
      log_->Error(mimic.place,
                  absl::StrCat(source.element->Label(), ": mimics joint \"", name,
                               "\"; expected another joint, with one degree of freedom"));
      return nullptr;
    }
    return leader;
  }

  void ReadMimics(const SdfJoint& source) {
    const auto own = joint_numbers_.find(source.frame);
    if (own == joint_numbers_.end()) return;
    const JointDraft& follower = draft_->joints[own->second];
    const XmlElement* axis = source.element->Child("axis");
    const XmlElement* mimic = source.element->Child("drake:mimic");
    const bool standard = mimic == nullptr && axis != nullptr;
    if (standard) mimic = axis->Child("mimic");
    if (mimic == nullptr) return;
    const JointDraft* leader = FindLeader(source, *mimic);
    if (leader == nullptr) return;
    if (CountVelocities(follower.joint.type) != 1) {
      log_->Error(mimic->place, absl::StrCat(source.element->Label(),
                                             ": only a joint with one degree of freedom can mimic "
                                             "another. Remove it"));
      return;
    }
    double multiplier = 1, offset = 0, reference = 0;
    if (standard) {
      ReadNumber(TextOfChild(*mimic, "multiplier"), &multiplier, log_);
      ReadNumber(TextOfChild(*mimic, "offset"), &offset, log_);
      ReadNumber(TextOfChild(*mimic, "reference"), &reference, log_);
    } else {
      ReadNumber(AttributeOf(*mimic, "multiplier"), &multiplier, log_);
      ReadNumber(AttributeOf(*mimic, "offset"), &offset, log_);
    }
    RobotCoupler coupler;
    coupler.name = follower.joint.name + "_mimic";
    coupler.terms = {{follower.child, 1.0}, {leader->child, -multiplier}};
    coupler.offset = offset - multiplier * reference;
    draft_->robot.couplers.push_back(std::move(coupler));
  }

  // Reads θ2 = −ratio θ1, for the angles of child and parent relative to the reference body, and
  // finds the joints of these angles.
  void ReadGearbox(const SdfJoint& source) {
    const XmlElement& element = *source.element;
    const int wheels[2] = {FindEndLink(source, "parent"), FindEndLink(source, "child")};
    const XmlElement* body = element.Child("gearbox_reference_body");
    const int frame = body == nullptr ? FrameGraph::kNone : frames_->Find(body->text, source.scope);
    if (wheels[0] == -2 || wheels[1] == -2) return;
    if (frame == FrameGraph::kNone) {
      log_->Error(element.place, absl::StrCat(element.Label(),
                                              ": <gearbox_reference_body> is "
                                              "missing or does not exist; expected the "
                                              "link that holds both wheels"));
      return;
    }
    const int reference = frames_->FindLink(frame, log_);
    double ratio = 1;
    ReadNumber(TextOfChild(element, "gearbox_ratio"), &ratio, log_);
    RobotCoupler coupler;
    coupler.name = source.prefix + element.Get("name");
    const double factors[2] = {ratio, 1};
    for (int i = 0; i < 2; ++i) {
      const char* axis_name = i == 0 || element.Child("axis2") == nullptr ? "axis" : "axis2";
      Vector3d axis = Vector3d::UnitZ();
      if (const XmlElement* given = element.Child(axis_name)) ReadDirection(*given, source, &axis);
      const Vector3d axis_W = frames_->X_WF(source.frame).R * axis;
      bool found = false;
      for (const JointDraft& joint : draft_->joints) {
        const bool down = joint.parent == reference && joint.child == wheels[i];
        const bool up = joint.child == reference && joint.parent == wheels[i];
        if ((!down && !up) || joint.joint.type != JointType::kRevolute) continue;
        const Vector3d own_W =
            (X_WL(joint.child).R * joint.joint.X_BM.R) * joint.joint.axis * (down ? 1 : -1);
        const double along = own_W.dot(axis_W);
        if (std::abs(along) < 1 - 1e-6) continue;
        coupler.terms.push_back({joint.child, along > 0 ? factors[i] : -factors[i]});
        found = true;
        break;
      }
      if (!found) {
        log_->Error(element.place,
                    absl::StrCat(element.Label(), ": its ", i == 0 ? "parent" : "child",
                                 " does not turn on the reference body about <", axis_name,
                                 ">; expected a revolute joint between them"));
        return;
      }
    }
    draft_->robot.couplers.push_back(std::move(coupler));
  }

  FrameGraph* frames_;
  RobotDraft* draft_;
  RobotLog* log_;
  std::unordered_map<int, int> joint_numbers_;  // frame of a joint → joint of the draft
  mutable std::vector<int> link_frames_;
};

}  // namespace

void ReadSdfJoints(const std::vector<SdfJoint>& joints, FrameGraph* frames, RobotDraft* draft,
                   RobotLog* log) {
  JointReader(frames, draft, log).Read(joints);
}

}  // namespace pliant::physics
