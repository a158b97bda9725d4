#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/scene/robot_files/mjcf/mjcf_model.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Σ coefficient · position over joints.
struct FixedTendon {
  std::vector<std::pair<int, double>> terms;
  double rest = 0;  // its length at the initial positions
};

class ConstraintReader {
 public:
  explicit ConstraintReader(MjcfModel* model) : model_(model), log_(model->log) {}

  void ReadTendons(const XmlElement& section) {
    for (const XmlElement& source : section.children) {
      const XmlElement element = Apply(source, "tendon");
      if (element.Find("armature") != nullptr)
        log_->LeftOut(source.place, "armature of a tendon", "joints move as if it had no mass");
      if (source.name != "fixed") {
        log_->LeftOut(source.place, absl::StrCat("<", source.name, "> tendon"));
        continue;
      }
      FixedTendon tendon;
      bool ok = true;
      for (const XmlElement& child : source.children) {
        double coefficient = 0;
        if (child.Find("coef") == nullptr)
          log_->Error(child.place, "<joint> of a tendon: coef is missing; expected a number");
        ReadNumber(AttributeOf(child, "coef"), &coefficient, log_);
        const int link = model_->FindJoint(child, "joint");
        ok = ok && link >= 0;
        if (link < 0) continue;
        if (!HasOneFreedom(link)) {
          log_->Error(child.place, absl::StrCat("tendon of joint \"", child.Get("joint"),
                                                "\"; expected a hinge or a slide"));
          continue;
        }
        tendon.terms.push_back({link, coefficient});
        tendon.rest += coefficient * links()[link].initial_position;
      }
      for (const char* attribute : {"range", "stiffness", "damping", "frictionloss"}) {
        if (element.Find(attribute) != nullptr)
          log_->LeftOut(source.place, absl::StrCat(attribute, " of a fixed tendon"));
      }
      if (ok) tendons_[source.Get("name")] = std::move(tendon);
    }
  }

  void ReadEqualities(const XmlElement& section) {
    for (const XmlElement& source : section.children) {
      const XmlElement element = Apply(source, "equality");
      bool active = true;
      ReadBool(AttributeOf(element, "active"), &active, log_);
      if (!active) {
        log_->LeftOut(source.place, absl::StrCat("<", source.name, "> that is not active"));
      } else if (source.name == "connect" || source.name == "weld") {
        ReadLoop(element);
      } else if (source.name == "joint") {
        ReadJointEquality(element);
      } else if (source.name == "tendon") {
        ReadTendonEquality(element);
      } else {
        log_->LeftOut(source.place, absl::StrCat("<", source.name, "> equality"));
      }
    }
  }

  void ReadContacts(const XmlElement& section) {
    for (const XmlElement& child : section.children) {
      if (child.name != "exclude") {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of <contact>"),
                      "give friction and stiffness in the `pairs` of the scene");
        continue;
      }
      const int a = model_->FindBody(child, "body1"), b = model_->FindBody(child, "body2");
      if (a == -2 || b == -2) continue;
      const int world = model_->world_link;
      const int first = a < 0 ? world : a, second = b < 0 ? world : b;
      if (first >= 0 && second >= 0 && first != second)
        model_->draft->robot.excluded_contacts.push_back(
            {std::min(first, second), std::max(first, second)});
    }
  }

 private:
  const std::vector<RobotLink>& links() const { return model_->draft->robot.links; }

  bool HasOneFreedom(int link) const { return CountVelocities(links()[link].joint.type) == 1; }

  XmlElement Apply(const XmlElement& source, const std::string& kind) {
    // defaults of this section are found by its name, not the element's
    XmlElement renamed;
    renamed.name = kind;
    renamed.place = source.place;
    renamed.attributes = source.attributes;
    XmlElement result = model_->defaults.Apply(renamed, "", log_);
    result.name = source.name;
    return result;
  }

  void ReadLoop(const XmlElement& element) {
    RobotLoop loop;
    loop.name = element.Get("name");
    loop.kind = element.name == "weld" ? RobotLoop::Kind::kWeld : RobotLoop::Kind::kBall;
    if (element.Find("site1") != nullptr) {
      const MjcfSite* a = model_->FindSite(element, "site1");
      const MjcfSite* b = a == nullptr ? nullptr : model_->FindSite(element, "site2");
      if (a == nullptr || b == nullptr) return;
      loop.link_a = a->link;
      loop.X_AF = a->X;
      loop.link_b = b->link;
      loop.X_BF = b->X;
    } else {
      if (element.Find("body1") == nullptr) {
        log_->Error(element.place,
                    absl::StrCat(element.Label(), ": has no body1; expected a body or two sites"));
        return;
      }
      loop.link_a = model_->FindBody(element, "body1");
      if (loop.link_a == -2) return;
      loop.link_b = model_->FindBody(element, "body2");
      if (loop.link_b == -2) return;
      PlaceLoop(element, &loop);
    }
    if (loop.link_a == loop.link_b) {
      log_->Error(element.place, absl::StrCat(element.Label(),
                                              ": attaches a body to itself; expected "
                                              "two bodies"));
      return;
    }
    model_->draft->robot.loops.push_back(std::move(loop));
  }

  // Places frames that coincide at the initial positions, or as given by relpose.
  void PlaceLoop(const XmlElement& element, RobotLoop* loop) {
    const RigidTransform X_AB =
        model_->PoseOf(loop->link_a).Inverse() * model_->PoseOf(loop->link_b);
    Vector3d anchor = Vector3d::Zero();
    const bool has_anchor =
        ReadVector(AttributeOf(element, "anchor"), &anchor, log_, Range::kLength);
    if (loop->kind == RobotLoop::Kind::kBall) {
      if (!has_anchor) {
        log_->Error(element.place, absl::StrCat(element.Label(),
                                                ": has no anchor; expected a point "
                                                "in the frame of body1"));
      }
      loop->X_AF.p = anchor;
      loop->X_BF.p = X_AB.Inverse() * anchor;
      return;
    }
    // the anchor of a weld is in the frame of body2
    RigidTransform relative = X_AB;
    std::vector<double> pose;
    if (ReadNumbers(AttributeOf(element, "relpose"), 7, 7, &pose, log_, Range::kLength)) {
      const auto R = RotationFromQuaternion(pose[3], pose[4], pose[5], pose[6]);
      // a zero quaternion means the initial pose
      if (R.has_value()) relative = {*R, {pose[0], pose[1], pose[2]}};
    }
    loop->X_BF.p = anchor;
    loop->X_AF = relative * loop->X_BF;
  }

  // Reads y − y0 = a0 + a1 (x − x0); higher coefficients must be zero.
  bool ReadPolynomial(const XmlElement& element, double* a0, double* a1) {
    std::vector<double> a = {0, 1, 0, 0, 0};
    std::vector<double> given;
    if (ReadNumbers(AttributeOf(element, "polycoef"), 1, 5, &given, log_))
      std::copy(given.begin(), given.end(), a.begin());
    *a0 = a[0];
    *a1 = a[1];
    if (a[2] == 0 && a[3] == 0 && a[4] == 0) return true;
    log_->LeftOut(element.place,
                  absl::StrCat("<", element.name, "> equality that is not linear (polycoef)"));
    return false;
  }

  void ReadJointEquality(const XmlElement& element) {
    RobotCoupler coupler;
    coupler.name = element.Get("name");
    double a0 = 0, a1 = 1;
    const int first = model_->FindJoint(element, "joint1");
    if (first < 0 || !ReadPolynomial(element, &a0, &a1)) return;
    int second = -1;
    if (element.Find("joint2") != nullptr) {
      second = model_->FindJoint(element, "joint2");
      if (second < 0) return;
    }
    if (!HasOneFreedom(first) || (second >= 0 && !HasOneFreedom(second)) || first == second) {
      log_->Error(element.place,
                  absl::StrCat(element.Label(),
                               ": expected two different joints, each a hinge or a slide"));
      return;
    }
    coupler.terms.push_back({first, 1.0});
    coupler.offset = a0 + links()[first].initial_position;
    if (second >= 0) {
      coupler.terms.push_back({second, -a1});
      coupler.offset -= a1 * links()[second].initial_position;
    }
    model_->draft->robot.couplers.push_back(std::move(coupler));
  }

  const FixedTendon* FindTendon(const XmlElement& element, const char* attribute) {
    const auto found = tendons_.find(element.Get(attribute));
    if (found != tendons_.end()) return &found->second;
    model_->SayMissing(element, "fixed tendon", element.Get(attribute));
    return nullptr;
  }

  void ReadTendonEquality(const XmlElement& element) {
    RobotCoupler coupler;
    coupler.name = element.Get("name");
    double a0 = 0, a1 = 1;
    const FixedTendon* first = FindTendon(element, "tendon1");
    if (first == nullptr || !ReadPolynomial(element, &a0, &a1)) return;
    coupler.terms = first->terms;
    coupler.offset = a0 + first->rest;
    if (element.Find("tendon2") != nullptr) {
      const FixedTendon* second = FindTendon(element, "tendon2");
      if (second == nullptr) return;
      for (const auto& own : second->terms) {
        const auto& [link, coefficient] = own;
        const auto same = std::find_if(coupler.terms.begin(), coupler.terms.end(),
                                       [&](const auto& term) { return term.first == own.first; });
        if (same != coupler.terms.end()) {
          same->second -= a1 * coefficient;
        } else {
          coupler.terms.push_back({link, -a1 * coefficient});
        }
      }
      coupler.offset -= a1 * second->rest;
    }
    if (!coupler.terms.empty()) model_->draft->robot.couplers.push_back(std::move(coupler));
  }

  MjcfModel* model_;
  RobotLog* log_;
  std::map<std::string, FixedTendon> tendons_;
};

}  // namespace

void ReadMjcfConstraints(const std::vector<const XmlElement*>& tendons,
                         const std::vector<const XmlElement*>& equalities,
                         const std::vector<const XmlElement*>& contacts, MjcfModel* model) {
  ConstraintReader reader(model);
  for (const XmlElement* section : tendons) reader.ReadTendons(*section);
  for (const XmlElement* section : equalities) reader.ReadEqualities(*section);
  for (const XmlElement* section : contacts) reader.ReadContacts(*section);
}

}  // namespace pliant::physics
