#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>

#include "physics/scene/robot_files/mjcf/mjcf_model.h"
#include "physics/scene/robot_files/parts/link_checks.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr int kMaxCopies = 100'000;
constexpr std::size_t kMaxVisits = 1'000'000;

// Position of the walk in the tree.
struct Site {
  int link = -1;        // −1: the world
  RigidTransform X_BF;  // of the enclosing <frame>, or the link
  std::string child_class;
  std::string suffix;  // of names, from replicate
};

struct Mass {
  double mass = 0;
  Vector3d center = Vector3d::Zero();
  Matrix3d inertia = Matrix3d::Zero();
  std::set<std::string> doubts;  // see MjcfGeom

  void Add(double m, const Vector3d& c, const Matrix3d& I) {
    const double total = mass + m;
    if (!(total > 0)) return;
    const Vector3d d = c - center;
    inertia += I + mass / total * m * (d.squaredNorm() * Matrix3d::Identity() - d * d.transpose());
    center += m / total * d;
    mass = total;
  }
};

class BodyWalker {
 public:
  explicit BodyWalker(MjcfModel* model) : model_(model), log_(model->log), draft_(model->draft) {}

  // Sets springs and dampers that depend on the inertia of all links.
  void SetSpringDampers() {
    if (spring_dampers_.empty() || !log_->ok()) return;
    std::vector<int> wanted;
    for (const SpringDamper& spring : spring_dampers_) wanted.push_back(spring.link);
    const std::vector<double> inertias = CalcEffectiveInertias(draft_->robot.links, wanted);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const double time = spring_dampers_[k].time_constant,
                   ratio = spring_dampers_[k].damping_ratio;
      Joint& joint = draft_->robot.links[wanted[k]].joint;
      joint.spring_stiffness = inertias[k] / (time * time * ratio * ratio);
      joint.damping = 2 * inertias[k] / time;
    }
  }

  bool complete() const { return !stopped_ && !incomplete_; }

  // Frees roots without a joint: those with joints below them, or the only one.
  void FreeBases() {
    std::vector<RobotLink>& links = draft_->robot.links;
    std::vector<int> roots;
    std::vector<char> carries(links.size(), 0);
    for (std::size_t i = links.size(); i-- > 0;) {
      const RobotLink& link = links[i];
      const bool moves = link.joint.type != JointType::kFixed;
      if (link.parent >= 0) {
        carries[link.parent] = carries[link.parent] || carries[i] || moves;
      } else if (!moves && static_cast<int>(i) != model_->world_link) {
        roots.push_back(static_cast<int>(i));
      }
    }
    bool any = false;
    for (const int i : roots) {
      RobotLink& link = links[i];
      if (!carries[i] && roots.size() > 1) continue;
      any = true;
      link.joint.type = JointType::kFree;
      link.joint.name.clear();
      for (const RobotShape& shape : link.collisions) {
        if (!std::holds_alternative<HalfSpace>(shape.shape.geometry)) continue;
        log_->Error(draft_->places[i], absl::StrCat("body \"", link.name,
                                                    "\": has a plane, and "
                                                    "cannot be free. Use a box, or fix the base"));
      }
    }
    bool free_joint = false;
    for (const RobotLink& link : links)
      free_joint = free_joint || (link.parent < 0 && link.joint.type == JointType::kFree);
    if (any || free_joint || links.empty()) return;
    log_->Warning(draft_->places[0],
                  "a free base has no effect: no body of the world is without "
                  "a joint. Add a <freejoint/> to the body that is the base");
  }

  void ReadWorld(const XmlElement& worldbody) {
    for (const XmlAttribute& attribute : worldbody.attributes) {
      if (attribute.name != "name")
        log_->LeftOut(worldbody.place, absl::StrCat(attribute.name, " of <worldbody>"));
    }
    Visit(worldbody, Site(), nullptr);
  }

 private:
  // Calls take(child, site) for the contents of an element, including <frame> and <replicate>.
  template <typename Take>
  void Walk(const XmlElement& element, const Site& site, Take&& take) {
    for (const XmlElement& child : element.children) {
      if (stopped_) return;
      if (child.name == "frame") {
        Site inner = site;
        inner.X_BF = site.X_BF * ReadMjcfPose(child, model_->settings, log_);
        SetClass(child, &inner);
        Walk(child, inner, take);
      } else if (child.name == "replicate") {
        Replicate(child, site, take);
      } else {
        if (++visits_ > kMaxVisits) {
          log_->Error(child.place, absl::StrCat("more than ", kMaxVisits,
                                                " elements after replication; expected fewer"));
          stopped_ = true;
          return;
        }
        take(child, site);
      }
    }
  }

  template <typename Take>
  void Replicate(const XmlElement& element, const Site& site, Take&& take) {
    int count = 0;
    Vector3d offset = Vector3d::Zero(), euler = Vector3d::Zero();
    if (!ReadInteger(AttributeOf(element, "count"), &count, log_, 0, kMaxCopies)) {
      if (element.Find("count") == nullptr)
        log_->Error(element.place, "<replicate>: count is missing; expected the number of copies");
      return;
    }
    ReadVector(AttributeOf(element, "offset"), &offset, log_, Range::kLength);
    ReadVector(AttributeOf(element, "euler"), &euler, log_, Range::kAngle);
    const std::size_t digits = std::to_string(std::max(count - 1, 0)).size();
    Vector3d p = Vector3d::Zero();
    for (int i = 0; i < count && !stopped_; ++i) {
      const Matrix3d R = RotationFromEuler(i * euler, model_->settings);
      std::string number = std::to_string(i);
      number.insert(0, digits - number.size(), '0');
      Site inner = site;
      inner.X_BF = site.X_BF * RigidTransform{R, p};
      inner.suffix = element.Get("sep") + number + site.suffix;
      SetClass(element, &inner);
      Walk(element, inner, take);
      p += R * offset;
    }
  }

  void SetClass(const XmlElement& element, Site* site) {
    const std::string* name = element.Find("childclass");
    if (name == nullptr) return;
    site->child_class = *name;
    if (!model_->defaults.Has(*name)) {
      log_->Error(element.place, absl::StrCat(element.Label(),
                                              " childclass: there is no default "
                                              "class \"",
                                              *name, "\". Define it, or correct the name"));
      site->child_class.clear();
    }
  }

  XmlElement Apply(const XmlElement& element, const Site& site) {
    return model_->defaults.Apply(element, site.child_class, log_);
  }

  std::string NameOf(const XmlElement& element, const Site& site) {
    const std::string name = element.Get("name");
    return name.empty() ? name : name + site.suffix;
  }

  // Reads the contents of a body or the world, except joints and inertia; `geoms` sums the mass of
  // shapes.
  void Visit(const XmlElement& element, const Site& site, Mass* geoms) {
    Walk(element, site, [&](const XmlElement& child, const Site& at) {
      if (child.name == "body") {
        AddBody(child, at);
      } else if (child.name == "geom") {
        AddGeom(child, at, geoms);
      } else if (child.name == "site") {
        AddSite(child, at);
      } else if (child.name == "flexcomp") {
        AddFlexcomp(child, at);
      } else if (child.name == "attach") {
        Attach(child, at, geoms);
      } else if (child.name != "joint" && child.name != "freejoint" && child.name != "inertial" &&
                 child.name != "camera" && child.name != "light") {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of a body"));
      } else if (site.link < 0 && child.name != "camera" && child.name != "light") {
        log_->Error(child.place,
                    absl::StrCat("<", child.name, "> is in the world; expected it in a <body>"));
      }
    });
  }

  void AddGeom(const XmlElement& source, const Site& site, Mass* geoms) {
    const XmlElement geom = Apply(source, site);
    std::string name = NameOf(source, site);
    // no element that is read refers to geoms
    if (!name.empty() && !geom_names_.insert(name).second) {
      log_->Mended(source.place, absl::StrCat("geom \"", name,
                                              "\": the name is already taken; it "
                                              "is read as one without a name"));
      name.clear();
    }
    if (name.empty()) name = absl::StrCat("geom", ++geoms_);
    MjcfGeom made = ReadMjcfGeom(geom, name, site.X_BF, model_);
    const int number = site.link < 0 ? WorldLink(source) : site.link;
    RobotLink& link = draft_->robot.links[number];
    for (const RobotShape& shape : made.collisions) {
      if (std::holds_alternative<HalfSpace>(shape.shape.geometry) && site.link >= 0 &&
          moves_[site.link]) {
        log_->Error(source.place, absl::StrCat(source.Label(),
                                               ": a plane cannot move; expected it "
                                               "in the world. Use a box"));
        return;
      }
    }
    std::move(made.collisions.begin(), made.collisions.end(), std::back_inserter(link.collisions));
    std::move(made.visuals.begin(), made.visuals.end(), std::back_inserter(link.visuals));
    if (geoms != nullptr && made.group >= model_->settings.first_inertia_group &&
        made.group <= model_->settings.last_inertia_group) {
      geoms->Add(made.mass, made.center, made.inertia);
      if (!made.doubt.empty()) geoms->doubts.insert(made.doubt);
    }
  }

  // Link of the world's static shapes.
  int WorldLink(const XmlElement& element) {
    if (model_->world_link < 0) {
      RobotLink link;
      link.name = "world";
      link.line = element.place.line;
      link.has_inertia = false;
      model_->world_link = AddLink(std::move(link), element.place, false);
    }
    return model_->world_link;
  }

  int AddLink(RobotLink link, const FilePlace& place, bool moves) {
    draft_->robot.links.push_back(std::move(link));
    draft_->places.push_back(place);
    moves_.push_back(moves);
    if (draft_->robot.links.size() > static_cast<std::size_t>(kMaxLinks) && !stopped_) {
      log_->Error(place, absl::StrCat("has more than ", kMaxLinks, " links; expected fewer"));
      stopped_ = true;
    }
    return static_cast<int>(draft_->robot.links.size()) - 1;
  }

  void AddSite(const XmlElement& source, const Site& at) {
    const XmlElement site = Apply(source, at);
    const std::string name = NameOf(source, at);
    RigidTransform X = at.X_BF * ReadMjcfPose(site, model_->settings, log_);
    std::vector<double> ends;
    if (ReadNumbers(AttributeOf(site, "fromto"), 6, 6, &ends, log_, Range::kLength)) {
      const Vector3d from(ends[0], ends[1], ends[2]), to(ends[3], ends[4], ends[5]);
      if ((from - to).squaredNorm() > 0)
        X = at.X_BF * RigidTransform{RotationFromZ(from - to), 0.5 * (from + to)};
    }
    if (name.empty()) return;
    if (!model_->sites.emplace(name, MjcfSite{at.link, X}).second) {
      log_->Mended(source.place, absl::StrCat("site \"", name,
                                              "\": the name is already taken; it "
                                              "is left out"));
      model_->ambiguous_sites.insert(name);
      return;
    }
    draft_->robot.frames.push_back({name, at.link, X});
  }

  void AddFlexcomp(const XmlElement& element, const Site& site) {
    std::optional<RobotDeformable> body = ReadMjcfFlexcomp(element, model_);
    if (!body.has_value()) return;
    body->name += site.suffix;
    body->X_WB = site.X_BF * body->X_WB;
    body->pinned_to = site.link;
    draft_->robot.deformables.push_back(*std::move(body));
  }

  // Adds one body of another model, or all that is in its world.
  void Attach(const XmlElement& element, const Site& site, Mass* geoms) {
    std::unique_ptr<MjcfModel::Attached> part = AttachMjcfModel(element, *model_);
    if (part == nullptr) {
      incomplete_ = true;
      return;
    }
    const std::string body = element.Get("body");
    const std::string name = element.Get("prefix") + body;
    Site at = site;
    at.child_class.clear();
    MjcfModel* const whole = std::exchange(model_, &part->model);
    bool is_found = body.empty();
    for (const XmlElement* world : FindSections(part->root, "worldbody")) {
      if (body.empty()) {
        Visit(*world, at, geoms);
      } else if (const XmlElement* found = FindBodyElement(*world, name); found != nullptr) {
        AddBody(*found, at);
        is_found = true;
        break;
      }
    }
    model_ = whole;
    if (!is_found) {
      log_->Error(element.place, absl::StrCat(element.Label(), ": model \"", element.Get("model"),
                                              "\" has no body \"", body,
                                              "\". Correct the name, or leave it out for all"));
      incomplete_ = true;
      return;
    }
    whole->world_link = part->model.world_link;
    const auto add_names = [&](const char* kind, const auto& from, auto* to) {
      for (const auto& [added, value] : from) {
        if (to->emplace(added, value).second) continue;
        log_->Error(element.place,
                    absl::StrCat(element.Label(), ": ", kind, " \"", added,
                                 "\": the name is already taken. Give the attachment a prefix"));
        incomplete_ = true;
        return;
      }
    };
    add_names("body", part->model.bodies, &whole->bodies);
    add_names("joint", part->model.joints, &whole->joints);
    add_names("site", part->model.sites, &whole->sites);
    whole->ambiguous_sites.insert(part->model.ambiguous_sites.begin(),
                                  part->model.ambiguous_sites.end());
    whole->attached.push_back(std::move(part));
  }

  static const XmlElement* FindBodyElement(const XmlElement& element, const std::string& name) {
    for (const XmlElement& child : element.children) {
      if (child.name == "body" && child.Get("name") == name) return &child;
      if (const XmlElement* found = FindBodyElement(child, name); found != nullptr) return found;
    }
    return nullptr;
  }

  void AddBody(const XmlElement& element, const Site& site) {
    // joints and inertia first, as the links depend on them
    struct Found {
      XmlElement element;
      Site site;
    };
    std::vector<Found> joints;
    std::optional<Found> inertial;
    Site inner;
    SetClass(element, &inner);
    if (inner.child_class.empty()) inner.child_class = site.child_class;
    inner.suffix = site.suffix;
    const auto collect = [&](const XmlElement& child, const Site& at) {
      if (child.name == "joint" && child.Get("type") == "fixed") {
        log_->Mended(child.place,
                     "<joint> of type \"fixed\", which the format does not have, is "
                     "left out: a body without joints is fixed");
      } else if (child.name == "joint" || child.name == "freejoint") {
        joints.push_back({child.name == "joint" ? Apply(child, at) : child, at});
        if (!child.Get("name").empty())
          SetName(child.Get("name") + at.suffix, &joints.back().element);
      } else if (child.name == "inertial") {
        inertial = Found{child, at};
      }
    };
    Walk(element, inner, collect);
    if (stopped_) return;

    std::string name = NameOf(element, site);
    ++bodies_;
    if (name.empty()) name = absl::StrCat("body", bodies_);
    if (name == "world" || model_->bodies.contains(name)) {
      log_->Error(element.place,
                  absl::StrCat("body \"", name, "\": the name is already taken. Rename one"));
      incomplete_ = true;
      return;
    }
    RigidTransform X_PB = site.X_BF * ReadMjcfPose(element, model_->settings, log_);
    if (model_->settings.global) {
      // the contents of the body are given in the world, too
      RigidTransform X_WB = ReadMjcfPose(element, model_->settings, log_);
      if (element.Find("pos") == nullptr && inertial.has_value()) {
        ReadVector(AttributeOf(inertial->element, "pos"), &X_WB.p, log_, Range::kLength);
        X_PB = site.X_BF * X_WB;
      }
      inner.X_BF = X_WB.Inverse();
      for (Found& joint : joints) joint.site.X_BF = inner.X_BF * joint.site.X_BF;
      if (inertial.has_value()) inertial->site.X_BF = inner.X_BF * inertial->site.X_BF;
    }
    // a parent of −1 is the world; the world's geoms are on a link of their own
    int parent = site.link;
    bool moves = parent >= 0 && moves_[parent];
    RobotLink link;
    for (std::size_t k = 0; k < joints.size(); ++k) {
      const MjcfJoint made = ReadMjcfJoint(joints[k].element, *model_);
      const bool last = k + 1 == joints.size();
      link = RobotLink();
      link.line = element.place.line;
      link.parent = parent;
      link.joint = made.joint;
      link.joint.name = JointName(joints[k].element, name, k, joints.size());
      if (!Place(made, joints[k].site.X_BF, X_PB, joints[k].element, joints.size(), parent,
                 &link)) {
        incomplete_ = true;
        return;
      }
      moves = true;
      const int number = static_cast<int>(draft_->robot.links.size());
      if (made.time_constant > 0)
        spring_dampers_.push_back({number, made.time_constant, made.damping_ratio});
      if (!model_->joints.emplace(link.joint.name, number).second) {
        log_->Error(
            joints[k].element.place,
            absl::StrCat("joint \"", link.joint.name, "\": the name is already taken. Rename one"));
        incomplete_ = true;
      }
      if (last) break;
      // massless link between two joints of the body
      link.name = absl::StrCat(name, ":", link.joint.name);
      link.has_inertia = false;
      parent = AddLink(std::move(link), element.place, true);
      X_PB = RigidTransform();
    }
    if (joints.empty()) {
      link.line = element.place.line;
      link.parent = parent;
      link.joint.type = JointType::kFixed;
      link.joint.X_PF = X_PB;
    }
    link.name = name;
    ReadBodyProperties(element, &link);
    const int number = AddLink(std::move(link), element.place, moves);
    model_->bodies[name] = number;
    inner.link = number;

    Mass geoms;
    Visit(element, inner, &geoms);
    SetInertia(element, inertial.has_value() ? &inertial->element : nullptr,
               inertial.has_value() ? inertial->site.X_BF : RigidTransform(), geoms,
               &draft_->robot.links[number]);
  }

  static void SetName(const std::string& name, XmlElement* element) {
    for (XmlAttribute& attribute : element->attributes) {
      if (attribute.name == "name") attribute.value = name;
    }
  }

  std::string JointName(const XmlElement& element, const std::string& body, std::size_t k,
                        std::size_t count) {
    const std::string name = element.Get("name");
    if (!name.empty()) return name;
    return count == 1 ? body + "_joint" : absl::StrCat(body, "_joint", k + 1);
  }

  // Places the joint's frames on parent and child, which coincide at the joint's reference.
  bool Place(const MjcfJoint& made, const RigidTransform& X_BJ, const RigidTransform& X_PB,
             const XmlElement& element, std::size_t count, int parent, RobotLink* link) {
    Joint& joint = link->joint;
    if (joint.type == JointType::kFree) {
      if (count > 1 || parent >= 0) {
        log_->Error(element.place,
                    absl::StrCat(element.Label(),
                                 ": a free joint must be the only joint of a body in the world. "
                                 "Remove the others, or move the body"));
        return false;
      }
      joint.X_PF = X_PB;
      return true;
    }
    // a <frame> around the joint turns its axis; F and M keep the axes of the body
    joint.axis = X_BJ.R * joint.axis;
    joint.X_BM.p = X_BJ * made.anchor;
    joint.X_PF = X_PB * RigidTransform{Matrix3d::Identity(), joint.X_BM.p};
    if (made.reference != 0) {
      RigidTransform back;
      if (joint.type == JointType::kRevolute) {
        back.R = RotationFromVector(-made.reference * joint.axis).toRotationMatrix();
      } else {
        back.p = -made.reference * joint.axis;
      }
      joint.X_PF = joint.X_PF * back;
      link->initial_position = made.reference;
    }
    return true;
  }

  void ReadBodyProperties(const XmlElement& element, RobotLink* link) {
    double compensation = 0;
    if (ReadNumber(AttributeOf(element, "gravcomp"), &compensation, log_))
      link->gravity_scale = 1 - compensation;
    bool mocap = false;
    if (ReadBool(AttributeOf(element, "mocap"), &mocap, log_) && mocap)
      log_->LeftOut(element.place, "mocap of a body", "it stays where it is");
  }

  void SetInertia(const XmlElement& body, const XmlElement* inertial, const RigidTransform& X_BF,
                  const Mass& geoms, RobotLink* link) {
    const MjcfSettings& settings = model_->settings;
    const bool from_geoms =
        settings.inertia_from == MjcfSettings::InertiaFrom::kGeoms ||
        (settings.inertia_from == MjcfSettings::InertiaFrom::kAutomatic && inertial == nullptr);
    link->has_inertia = true;
    if (from_geoms) {
      link->mass = geoms.mass;
      link->p_BoBcm = geoms.center;
      link->inertia = geoms.inertia;
      link->has_inertia = geoms.mass > 0;
      for (const std::string& doubt : geoms.doubts) log_->WarnOnce(body.place, doubt);
    } else if (inertial != nullptr) {
      ReadInertial(*inertial, X_BF, link);
    } else {
      link->has_inertia = false;
    }
    const bool massive = link->mass > 0;
    if (!massive && settings.min_mass == 0) return;
    link->mass = std::max(link->mass, settings.min_mass);
    if (settings.min_inertia == 0 && !settings.balance_inertia) return;
    // both settings act on the principal moments
    Eigen::SelfAdjointEigenSolver<Matrix3d> solver(link->inertia);
    Vector3d moments = solver.eigenvalues().cwiseMax(settings.min_inertia);
    if (settings.balance_inertia && moments[0] + moments[1] < moments[2]) {
      moments.setConstant(moments.mean());
      log_->WarnOnce(body.place,
                     "physically impossible inertia is balanced, as the compiler element requests");
    }
    const Matrix3d& R = solver.eigenvectors();
    link->inertia = R * moments.asDiagonal() * R.transpose();
  }

  void ReadInertial(const XmlElement& element, const RigidTransform& X_BF, RobotLink* link) {
    const RigidTransform X_BI = X_BF * ReadMjcfPose(element, model_->settings, log_);
    link->p_BoBcm = X_BI.p;
    const XmlValue mass = AttributeOf(element, "mass");
    if (mass.text == nullptr)
      log_->Error(element.place, "<inertial>: mass is missing; expected kilograms");
    ReadNumber(mass, &link->mass, log_, Range::kNotNegative);
    Matrix3d tensor = Matrix3d::Zero();
    std::vector<double> I;
    if (ReadNumbers(AttributeOf(element, "fullinertia"), 6, 6, &I, log_)) {
      tensor << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
    } else if (ReadNumbers(AttributeOf(element, "diaginertia"), 3, 3, &I, log_)) {
      tensor.diagonal() << I[0], I[1], I[2];
    } else if (element.Find("fullinertia") == nullptr && element.Find("diaginertia") == nullptr) {
      log_->Mended(element.place,
                   "<inertial>: has no inertia; its mass is a point. Give diaginertia or "
                   "fullinertia in kg·m²");
    }
    link->inertia = X_BI.R * tensor * X_BI.R.transpose();
  }

  MjcfModel* model_;
  RobotLog* log_;
  RobotDraft* draft_;
  std::set<std::string> geom_names_;
  std::vector<bool> moves_;  // of each link
  struct SpringDamper {
    int link;
    double time_constant, damping_ratio;
  };
  std::vector<SpringDamper> spring_dampers_;
  bool stopped_ = false;     // by a limit
  bool incomplete_ = false;  // an error left out a body or a joint
  int geoms_ = 0;
  int bodies_ = 0;
  std::size_t visits_ = 0;
};

}  // namespace

int MjcfModel::FindBody(const XmlElement& element, const char* attribute) const {
  const std::string name = element.Get(attribute);
  if (name.empty() || name == "world") return -1;
  const auto found = bodies.find(name);
  if (found != bodies.end()) return found->second;
  SayMissing(element, "body", name);
  return -2;
}

int MjcfModel::FindJoint(const XmlElement& element, const char* attribute) const {
  const std::string name = element.Get(attribute);
  const auto found = joints.find(name);
  if (found != joints.end()) return found->second;
  SayMissing(element, "joint", name);
  return -2;
}

const MjcfSite* MjcfModel::FindSite(const XmlElement& element, const char* attribute) const {
  const std::string name = element.Get(attribute);
  const auto found = sites.find(name);
  if (ambiguous_sites.contains(name)) {
    log->Error(element.place, absl::StrCat(element.Label(), ": there are several sites \"", name,
                                           "\". Rename them"));
    return nullptr;
  }
  if (found != sites.end()) return &found->second;
  SayMissing(element, "site", name);
  return nullptr;
}

void MjcfModel::SayMissing(const XmlElement& element, const std::string& kind,
                           const std::string& name) const {
  // it belongs to a body that is not attached
  if (is_partial) return;
  // an element that was left out may have defined it
  if (log->left_something_out()) {
    log->Warning(element.place, absl::StrCat(element.Label(), ": is left out, because there is no ",
                                             kind, " \"", name, "\""));
    return;
  }
  log->Error(element.place, absl::StrCat(element.Label(), ": there is no ", kind, " \"", name,
                                         "\". Define it, or correct the name"));
}

namespace {

void SetPoses(const std::vector<RigidTransform>& X_WB, MjcfModel* model) {
  model->X_WB = X_WB;
  for (const auto& part : model->attached) SetPoses(X_WB, &part->model);
}

}  // namespace

bool ReadMjcfBodies(const std::vector<const XmlElement*>& worldbodies, MjcfModel* model) {
  BodyWalker walker(model);
  for (const XmlElement* worldbody : worldbodies) walker.ReadWorld(*worldbody);
  if (!walker.complete()) return false;
  if (model->options->free_base) walker.FreeBases();
  std::vector<RobotLink>& links = model->draft->robot.links;
  double total = 0;
  for (const RobotLink& link : links) total += link.mass;
  if (model->settings.total_mass > 0 && total > 0) {
    const double factor = model->settings.total_mass / total;
    for (RobotLink& link : links) {
      link.mass *= factor;
      link.inertia *= factor;
    }
  }
  walker.SetSpringDampers();
  SetPoses(CalcLinkPoses(links), model);
  for (RobotDeformable& body : model->draft->robot.deformables)
    body.X_WB = model->PoseOf(body.pinned_to) * body.X_WB;
  return true;
}

}  // namespace pliant::physics
