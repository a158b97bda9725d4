#include "physics/scene/robot_files/urdf.h"

#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/rigid/compound_joint.h"
#include "physics/scene/robot_files/parts/defects.h"
#include "physics/scene/robot_files/parts/drake_tags.h"
#include "physics/scene/robot_files/parts/xml_values.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

class UrdfReader {
 public:
  UrdfReader(const XmlElement& root, const RobotFileOptions& options, RobotFiles* files,
             RobotMeshes* meshes, RobotDraft* draft, RobotLog* log)
      : root_(root), options_(options), files_(files), meshes_(meshes), draft_(draft), log_(log) {}

  void Read() {
    draft_->robot.name = root_.Get("name");
    draft_->robot.format = "URDF";
    if (draft_->robot.name.empty())
      log_->Warning(root_.place, "<robot>: has no name; expected name=\"…\"");
    for (const XmlElement& child : root_.children) {
      if (child.name == "material") ReadNamedMaterial(child);
      if (child.name == "link") AddLink(child);
    }
    for (const XmlElement& child : root_.children) {
      if (child.name == "joint" || child.name == "drake:joint") ReadJoint(child);
    }
    // collision meshes depend on whether their link is fixed
    fixed_ = FindFixedLinks(*draft_, options_.fixed_base);
    for (const auto& [element, link] : link_elements_) ReadLink(*element, link);
    DrakeModelTags tags;
    const auto find_link = [&](const std::string& name) { return FindLink(name); };
    for (const XmlElement& child : root_.children) {
      if (child.name == "transmission") {
        ReadTransmission(child);
      } else if (child.name == "frame") {
        ReadFrame(child);
      } else if (child.name == "link" || child.name == "joint" || child.name == "drake:joint" ||
                 child.name == "material") {
        continue;
      } else if (!tags.Take(child, find_link, draft_, log_)) {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, ">"));
      }
    }
    tags.ExcludeContacts(draft_, log_);
    AddMimics();
    if (draft_->robot.links.empty()) {
      log_->Error(root_.place, "<robot>: has no links; expected at least one <link>");
      return;
    }
    root_.Find("version");
    ReportUnreadAttributes(root_, log_);
    if (!connected_) return;
    BuildLinkTree(std::vector<RigidTransform>(draft_->robot.links.size()), /*one_root=*/true,
                  draft_, log_);
  }

 private:
  struct Mimic {
    FilePlace place;
    int joint;  // in the draft
    std::string leader;
    double multiplier = 1;
    double offset = 0;
  };

  int FindLink(const std::string& name) const {
    const auto found = links_.find(name);
    if (found != links_.end()) return found->second;
    return name == "world" ? -1 : -2;
  }

  RigidTransform ReadOrigin(const XmlElement& parent) {
    RigidTransform X;
    const XmlElement* origin = parent.Child("origin");
    return origin == nullptr ? X : ReadPose(*origin);
  }

  RigidTransform ReadPose(const XmlElement& element) {
    RigidTransform X;
    ReadVector(AttributeOf(element, "xyz"), &X.p, log_, Range::kLength);
    Vector3d rpy = Vector3d::Zero();
    std::vector<double> q;
    if (ReadVector(AttributeOf(element, "rpy"), &rpy, log_, Range::kAngle)) {
      X.R = RotationFromRollPitchYaw(rpy).toRotationMatrix();
    } else if (ReadNumbers(AttributeOf(element, "quat_xyzw"), 4, 4, &q, log_)) {
      X.R = ReadUnitQuaternion(AttributeOf(element, "quat_xyzw"), q[3], q[0], q[1], q[2], log_);
    }
    return X;
  }

  std::optional<Eigen::Vector4d> ReadColor(const XmlElement& material) {
    std::vector<double> rgba;
    if (!ReadNumbers(AttributeOfChild(material, "color", "rgba"), 4, 4, &rgba, log_))
      return std::nullopt;
    return Eigen::Vector4d(rgba[0], rgba[1], rgba[2], rgba[3]).cwiseMax(0).cwiseMin(1);
  }

  void ReadNamedMaterial(const XmlElement& material) {
    const auto color = ReadColor(material);
    if (color.has_value()) colors_[material.Get("name")] = *color;
    for (const XmlElement& child : material.children) {
      if (child.name != "color") log_->LeftOut(child.place, absl::StrCat("<", child.name, ">"));
    }
  }

  void AddLink(const XmlElement& element) {
    const std::string name = element.Get("name");
    if (name.empty()) {
      log_->Error(element.place, "<link>: has no name; expected name=\"…\"");
      connected_ = false;
      return;
    }
    // by convention, the frame to which a base may be welded
    if (name == "world" && element.children.empty()) return;
    const int number = static_cast<int>(draft_->robot.links.size());
    const auto [other, fresh] = links_.emplace(name, number);
    if (!fresh) {
      log_->Error(element.place,
                  absl::StrCat(element.Label(), ": the name is already taken, on line ",
                               draft_->places[other->second].line, ". Rename one"));
      connected_ = false;
      return;
    }
    RobotLink link;
    link.name = name;
    link.line = element.place.line;
    link_elements_.push_back({&element, number});
    draft_->robot.links.push_back(std::move(link));
    draft_->places.push_back(element.place);
  }

  void ReadLink(const XmlElement& element, int number) {
    RobotLink link = std::move(draft_->robot.links[number]);
    link.has_inertia = false;
    const XmlElement* const inertial = element.Child("inertial");
    const XmlElement* const contact = element.Child("contact");
    int shapes = 0;
    for (const XmlElement& child : element.children) {
      if (&child == inertial) {
        ReadInertial(child, &link);
      } else if (child.name == "inertial") {
        log_->Mended(
            child.place,
            absl::StrCat("link \"", link.name, "\": has more than one <inertial>; the one ",
                         "on line ", inertial->place.line, " is used. Remove the others"));
      } else if (child.name == "visual") {
        std::vector<RobotShape> made = ReadShape(child, element, false, number, ++shapes);
        for (RobotShape& shape : made) link.visuals.push_back(std::move(shape));
      } else if (child.name == "collision") {
        std::vector<RobotShape> made = ReadShape(child, element, true, number, ++shapes);
        for (RobotShape& shape : made) link.collisions.push_back(std::move(shape));
      } else if (child.name == "drake:deformable_properties") {
        log_->LeftOut(child.place, "<drake:deformable_properties> of a URDF link",
                      "SDF files and scenes have deformable bodies");
      } else if (&child != contact) {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of a link"));
      }
    }
    if (contact != nullptr) ReadContact(*contact, &link.collisions);
    draft_->robot.links[number] = std::move(link);
  }

  // Bullet's extension: the contact parameters of all shapes of a link. Those that a shape has from
  // its own <drake:proximity_properties> remain.
  void ReadContact(const XmlElement& contact, std::vector<RobotShape>* shapes) {
    double friction = -1, restitution = -1, stiffness = -1;
    for (const XmlElement& child : contact.children) {
      const XmlValue value = AttributeOf(child, "value");
      if (child.name == "lateral_friction") {
        ReadNumber(value, &friction, log_, Range::kNotNegative);
      } else if (child.name == "restitution") {
        ReadRestitution(value, &restitution, log_);
      } else if (child.name == "stiffness") {
        ReadContactStiffness(value, &stiffness, log_);
      } else {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of a <contact>"));
      }
    }
    for (RobotShape& made : *shapes) {
      Shape& shape = made.shape;
      if (shape.friction < 0) shape.friction = friction;
      if (shape.restitution < 0) shape.restitution = restitution;
      if (shape.stiffness < 0) shape.stiffness = stiffness;
    }
  }

  void ReadInertial(const XmlElement& element, RobotLink* link) {
    const RigidTransform X_BI = ReadOrigin(element);
    link->p_BoBcm = X_BI.p;
    const XmlValue mass = AttributeOfChild(element, "mass", "value");
    if (mass.text == nullptr) {
      log_->Mended(element.place, absl::StrCat("link \"", link->name,
                                               "\": <inertial> has no mass, and is left out. Give "
                                               "<mass value=\"…\"/> in kg"));
      return;
    }
    ReadNumber(mass, &link->mass, log_, Range::kNotNegative);
    link->has_inertia = true;
    const XmlElement* inertia = element.Child("inertia");
    if (inertia == nullptr) {
      log_->Warning(element.place,
                    absl::StrCat("link \"", link->name,
                                 "\": <inertial> has no <inertia>: treated as a point mass. "
                                 "Give ixx, iyy and izz in kg·m²"));
      return;
    }
    double I[6] = {};
    const char* names[] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    for (int i = 0; i < 6; ++i) {
      const XmlValue value = AttributeOf(*inertia, names[i]);
      if (value.text == nullptr && i < 3) {
        log_->Error(inertia->place, absl::StrCat("link \"", link->name, "\": <inertia> has no ",
                                                 names[i], "; expected kg·m²"));
      }
      ReadNumber(value, &I[i], log_);
    }
    Eigen::Matrix3d tensor;
    tensor << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
    link->inertia = X_BI.R * tensor * X_BI.R.transpose();
  }

  std::vector<RobotShape> ReadShape(const XmlElement& element, const XmlElement& link,
                                    bool collision, int number, int count) {
    RobotShape shape;
    shape.name = element.Get("name");
    if (shape.name.empty())
      shape.name = absl::StrCat(link.Get("name"), collision ? "_collision" : "_visual", count);
    shape.shape.X_BS = ReadOrigin(element);
    for (const XmlElement& child : element.children) {
      if (child.name == "material") {
        shape.color = ReadColor(child);
        const auto named = colors_.find(child.Get("name"));
        if (!shape.color.has_value() && named != colors_.end()) shape.color = named->second;
        if (child.Child("texture") != nullptr)
          log_->LeftOut(child.place, "<texture>", "shapes have plain colours");
      } else if (child.name != "origin" && child.name != "geometry" && child.name != "verbose" &&
                 child.name != "drake:proximity_properties" &&
                 child.name != "drake:perception_properties" &&
                 child.name != "drake:illustration_properties") {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of a ", element.name));
      }
    }
    const XmlElement* geometry = element.Child("geometry");
    if (geometry == nullptr || geometry->children.empty()) {
      log_->Error(element.place, absl::StrCat(link.Label(), ": <", element.name,
                                              "> has no geometry; expected <geometry> with box, "
                                              "sphere, cylinder, capsule or mesh"));
      return {};
    }
    std::vector<RobotShape> shapes;
    if (const XmlElement* mesh = geometry->Child("mesh")) {
      MeshRequest request;
      request.uri = mesh->Get("filename");
      request.folder = files_->folder();
      request.place = mesh->place;
      request.what = absl::StrCat(link.Label(), ": ", element.name, " mesh");
      request.use =
          mesh->Child("drake:declare_convex") == nullptr ? MeshUse::kAutomatic : MeshUse::kHull;
      if (!ReadScale(*mesh, &request.scale)) return {};
      if (collision) {
        shapes = meshes_->MakeCollisions(request, shape, fixed_[number]);
      } else {
        shapes = meshes_->MakeVisuals(request, shape);
      }
    } else if (ReadPrimitive(*geometry, link, &shape) &&
               !LeaveOutWithoutVolume(shape.shape.geometry, geometry->place, link.Label(), log_)) {
      shapes.push_back(std::move(shape));
    }
    if (collision) ReadProximity(element, &shapes, log_);
    return shapes;
  }

  bool ReadScale(const XmlElement& mesh, Vector3d* scale) {
    std::vector<double> numbers;
    const XmlValue value = AttributeOf(mesh, "scale");
    if (value.text == nullptr) return true;
    if (!ReadNumbers(value, 1, 3, &numbers, log_)) return false;
    if (numbers.size() == 1) numbers = {numbers[0], numbers[0], numbers[0]};
    if (numbers.size() == 2) {
      log_->Error(mesh.place, absl::StrCat("<mesh> scale: \"", *value.text,
                                           "\" is not allowed; expected three factors"));
      return false;
    }
    if (numbers[0] == 0 || numbers[1] == 0 || numbers[2] == 0) {
      log_->Mended(mesh.place, absl::StrCat("<mesh> scale: \"", *value.text,
                                            "\": a mesh scaled to a size of 0 is left out"));
      return false;
    }
    *scale = {numbers[0], numbers[1], numbers[2]};
    return true;
  }

  double ReadSize(const XmlElement& element, const char* attribute) {
    double size = 1;
    const XmlValue value = AttributeOf(element, attribute);
    if (value.text == nullptr) {
      log_->Error(element.place, absl::StrCat("<", element.name, ">: ", attribute,
                                              " is missing; expected a length in metres"));
    }
    ReadNumber(value, &size, log_, Range::kSizeOrZero);
    return size;
  }

  bool ReadPrimitive(const XmlElement& geometry, const XmlElement& link, RobotShape* shape) {
    Geometry& out = shape->shape.geometry;
    if (const XmlElement* box = geometry.Child("box")) {
      Vector3d size = Vector3d::Ones();
      if (box->Find("size") == nullptr)
        log_->Error(box->place, "<box>: size is missing; expected three lengths in metres");
      ReadVector(AttributeOf(*box, "size"), &size, log_, Range::kSizeOrZero);
      out = Box{0.5 * size};
      return true;
    }
    if (const XmlElement* sphere = geometry.Child("sphere")) {
      out = Sphere{ReadSize(*sphere, "radius")};
      return true;
    }
    if (const XmlElement* cylinder = geometry.Child("cylinder")) {
      out = Cylinder{ReadSize(*cylinder, "radius"), ReadSize(*cylinder, "length")};
      return true;
    }
    if (const XmlElement* plane = geometry.Child("plane")) {
      Vector3d normal = Vector3d::UnitZ();
      ReadAxis(AttributeOf(*plane, "normal"), &normal, log_, AxisLength::kAny);
      shape->shape.X_BS.R = shape->shape.X_BS.R * FrameFromNormal(normal);
      out = HalfSpace{};
      return true;
    }
    if (ReadDrakeGeometry(geometry, &out, log_)) return true;
    log_->Mended(
        geometry.place,
        absl::StrCat(link.Label(), ": geometry <", geometry.children[0].name,
                     "> is unknown, and left out; expected box, sphere, cylinder, capsule, "
                     "plane or mesh"));
    return false;
  }

  // Finds the link of <parent> or <child>; −2 after an error.
  int ReadJointEnd(const XmlElement& element, const char* end) {
    const XmlElement* child = element.Child(end);
    const std::string name = child == nullptr ? std::string() : child->Get("link");
    if (name.empty()) {
      log_->Error(element.place, absl::StrCat(element.Label(), ": <", end,
                                              "> is missing; expected <", end, " link=\"…\"/>"));
      return -2;
    }
    const int link = FindLink(name);
    const bool world = link == -1 && std::string_view(end) == "parent";
    if (link < 0 && !world) {
      log_->Error(child->place, absl::StrCat(element.Label(), ": its ", end, " link \"", name,
                                             "\" does not exist. Define it, or correct the name"));
      return -2;
    }
    return link;
  }

  void ReadJoint(const XmlElement& element) {
    JointDraft draft;
    draft.place = element.place;
    Joint& joint = draft.joint;
    joint.name = element.Get("name");
    if (joint.name.empty()) {
      log_->Error(element.place, "<joint>: has no name; expected name=\"…\"");
      connected_ = false;
      return;
    }
    const auto [other, fresh] =
        joints_.emplace(joint.name, static_cast<int>(draft_->joints.size()));
    if (!fresh) {
      // the mimics and transmissions that name it are refused below
      ambiguous_.insert(joint.name);
      for (int k = 2; joints_.contains(joint.name); ++k)
        joint.name = absl::StrCat(element.Get("name"), "_", k);
      joints_.emplace(joint.name, static_cast<int>(draft_->joints.size()));
      log_->Mended(element.place, absl::StrCat(element.Label(),
                                               ": the name is already taken; it is "
                                               "called \"",
                                               joint.name, "\""));
    }
    draft.parent = ReadJointEnd(element, "parent");
    draft.child = ReadJointEnd(element, "child");
    if (draft.parent == -2 || draft.child < 0) {
      joints_.erase(joint.name);
      connected_ = false;
      return;
    }
    joint.X_PF = ReadOrigin(element);
    const bool limited = ReadType(element, &joint);
    ReadLimits(element, limited, &joint);
    const XmlElement* dynamics = element.Child("dynamics");
    if (dynamics != nullptr) {
      ReadNumber(AttributeOf(*dynamics, "damping"), &joint.damping, log_, Range::kNotNegative);
      ReadNumber(AttributeOf(*dynamics, "friction"), &joint.friction_loss, log_,
                 Range::kNotNegative);
    }
    if (const XmlElement* mimic = element.Child("mimic"))
      ReadMimic(*mimic, static_cast<int>(draft_->joints.size()), joint);
    for (const XmlElement& child : element.children) {
      static const char* const kKnown[] = {
          "parent", "child",    "origin", "axis",
          "limit",  "dynamics", "mimic",  "drake:screw_thread_pitch"};
      bool known = false;
      for (const char* name : kKnown) known = known || child.name == name;
      if (!known) log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of a joint"));
    }
    draft_->joints.push_back(std::move(draft));
  }

  // Returns whether the type has limits.
  bool ReadType(const XmlElement& element, Joint* joint) {
    const std::string type = element.Get("type");
    static const std::map<std::string, JointType> kTypes = {
        {"revolute", JointType::kRevolute},   {"continuous", JointType::kRevolute},
        {"prismatic", JointType::kPrismatic}, {"fixed", JointType::kFixed},
        {"floating", JointType::kFree},       {"planar", JointType::kPlanar},
        {"ball", JointType::kBall},           {"spherical", JointType::kBall},
        {"universal", JointType::kUniversal}, {"screw", JointType::kScrew}};
    const auto found = kTypes.find(type);
    const CompoundJoint* added =
        found == kTypes.end() ? FindCompoundJoint(type, &joint->type) : nullptr;
    if (found == kTypes.end() && added == nullptr) {
      log_->Error(
          element.place,
          absl::StrCat(element.Label(), ": type \"", type,
                       "\" is unknown; expected revolute, continuous, prismatic, fixed, "
                       "floating, planar or spherical, or for <drake:joint> ball, universal, "
                       "screw"));
      return false;
    }
    if (added == nullptr) joint->type = found->second;
    joint->axis = Vector3d::UnitX();
    const bool has_axis = added != nullptr || joint->type == JointType::kRevolute ||
                          joint->type == JointType::kPrismatic ||
                          joint->type == JointType::kScrew || joint->type == JointType::kPlanar;
    const XmlElement* axis = element.Child("axis");
    if (has_axis && axis != nullptr) ReadAxis(AttributeOf(*axis, "xyz"), &joint->axis, log_);
    if (joint->type == JointType::kUniversal) joint->axis2 = Vector3d::UnitY();
    if (joint->type == JointType::kScrew) {
      const XmlValue pitch = DrakeValue(element, "drake:screw_thread_pitch");
      if (pitch.text == nullptr) {
        log_->Error(element.place, absl::StrCat(element.Label(),
                                                ": <drake:screw_thread_pitch> is missing; "
                                                "expected metres per turn"));
      }
      ReadNumber(pitch, &joint->pitch, log_);
    }
    return type == "revolute" || type == "prismatic" || type == "screw";
  }

  void ReadLimits(const XmlElement& element, bool limited, Joint* joint) {
    const XmlElement* limit = element.Child("limit");
    if (limit == nullptr) {
      if (limited && joint->type != JointType::kScrew) {
        log_->WarnOnce(element.place, absl::StrCat(element.Get("type"),
                                                   " joint without <limit>: treated as unlimited"));
      }
      return;
    }
    const XmlValue effort = AttributeOf(*limit, "effort");
    ReadNumber(effort, &joint->effort_limit, log_, Range::kInfinite);
    const XmlValue velocity = AttributeOf(*limit, "velocity");
    ReadNumber(velocity, &joint->velocity_limit, log_, Range::kInfinite);
    ReadNumber(AttributeOf(*limit, "drake:acceleration"), &joint->acceleration_limit, log_,
               Range::kInfinite);
    for (const auto& [name, bound] :
         {std::pair("effort", &joint->effort_limit), std::pair("velocity", &joint->velocity_limit),
          std::pair("drake:acceleration", &joint->acceleration_limit)}) {
      *bound =
          ReadBound(*bound, limit->place, absl::StrCat(element.Label(), ": limit ", name), log_);
    }
    if (joint->velocity_limit == 0) {
      log_->WarnOnce(limit->place, "a velocity limit of 0 is treated as no limit");
      joint->velocity_limit = std::numeric_limits<double>::infinity();
    }
    if (!limited) {
      // known, but of no effect
      limit->Find("lower");
      limit->Find("upper");
      return;
    }
    double lower = 0, upper = 0;
    const bool has_lower = ReadNumber(AttributeOf(*limit, "lower"), &lower, log_, Range::kInfinite);
    const bool has_upper = ReadNumber(AttributeOf(*limit, "upper"), &upper, log_, Range::kInfinite);
    if (!has_lower && !has_upper) {
      if (joint->type != JointType::kScrew) {
        log_->WarnOnce(limit->place,
                       absl::StrCat(element.Get("type"),
                                    " joint without lower and upper limit: treated as unlimited"));
      }
      return;
    }
    SetLimits(lower, upper, limit->place, element.Label(), joint, log_);
  }

  void ReadMimic(const XmlElement& element, int joint, const Joint& own) {
    Mimic mimic;
    mimic.place = element.place;
    mimic.joint = joint;
    mimic.leader = element.Get("joint");
    ReadNumber(AttributeOf(element, "multiplier"), &mimic.multiplier, log_);
    ReadNumber(AttributeOf(element, "offset"), &mimic.offset, log_);
    if (CountVelocities(own.type) != 1) {
      log_->Mended(element.place, "<mimic> of a joint without one degree of freedom is left out");
      return;
    }
    mimics_.push_back(std::move(mimic));
  }

  void AddMimics() {
    for (const Mimic& mimic : mimics_) {
      const JointDraft& follower = draft_->joints[mimic.joint];
      const auto found = joints_.find(mimic.leader);
      const auto refuse = [&](const std::string& why) {
        log_->Error(mimic.place, absl::StrCat("joint \"", follower.joint.name,
                                              "\": <mimic> joint \"", mimic.leader, "\" ", why));
      };
      if (found == joints_.end()) {
        log_->Mended(mimic.place,
                     absl::StrCat("joint \"", follower.joint.name, "\": <mimic> joint \"",
                                  mimic.leader, "\" does not exist; the joint moves on its own"));
        continue;
      }
      if (ambiguous_.contains(mimic.leader)) {
        refuse("may be one of several joints of this name. Rename them");
        continue;
      }
      const JointDraft& leader = draft_->joints[found->second];
      if (found->second == mimic.joint) {
        refuse("is the joint itself. Name another joint");
        continue;
      }
      if (CountVelocities(leader.joint.type) != 1) {
        refuse("does not have one degree of freedom. Name a joint with one");
        continue;
      }
      RobotCoupler coupler;
      coupler.name = follower.joint.name + "_mimic";
      coupler.terms = {{follower.child, 1.0}, {leader.child, -mimic.multiplier}};
      coupler.offset = mimic.offset;
      draft_->robot.couplers.push_back(std::move(coupler));
    }
  }

  void ReadTransmission(const XmlElement& element) {
    element.Find("name");  // known, and not needed
    const XmlElement* type = element.Child("type");
    const std::string kind = type == nullptr ? element.Get("type") : type->text;
    if (kind.find("SimpleTransmission") == std::string::npos) {
      log_->LeftOut(element.place, absl::StrCat("transmission of type \"", kind, "\""),
                    "only SimpleTransmission is supported");
      return;
    }
    const XmlElement* joint_element = element.Child("joint");
    const XmlElement* actuator_element = element.Child("actuator");
    if (joint_element == nullptr || actuator_element == nullptr) {
      log_->Warning(element.place, absl::StrCat(element.Label(),
                                                ": is left out; expected <joint> and <actuator>"));
      return;
    }
    const auto found = joints_.find(joint_element->Get("name"));
    if (found == joints_.end()) {
      log_->Mended(joint_element->place,
                   absl::StrCat(element.Label(), ": is left out, because there is no joint \"",
                                joint_element->Get("name"), "\". Correct the name"));
      return;
    }
    if (ambiguous_.contains(joint_element->Get("name"))) {
      log_->Error(joint_element->place,
                  absl::StrCat(element.Label(), ": there are several joints \"",
                               joint_element->Get("name"), "\". Rename them"));
      return;
    }
    JointDraft& draft = draft_->joints[found->second];
    if (CountVelocities(draft.joint.type) != 1) {
      log_->LeftOut(element.place, "transmission on a joint without one degree of freedom");
      return;
    }
    RobotActuator actuator;
    actuator.name = actuator_element->Get("name");
    if (actuator.name.empty()) actuator.name = draft.joint.name;
    actuator.link = draft.child;
    // commands are efforts on the joint; the reduction only matters for the rotor's inertia
    double reduction = 1;
    const XmlElement* place =
        actuator_element->Child("mechanicalReduction") != nullptr ? actuator_element : &element;
    const XmlValue given = TextOfChild(*place, "mechanicalReduction");
    if (given.text != nullptr && !ParseNumber(*given.text).has_value()) {
      log_->Mended(given.owner->place,
                   "<mechanicalReduction> has no number; the reduction is taken to be 1");
    } else {
      ReadNumber(given, &reduction, log_);
    }
    const bool own_ratio = actuator_element->Child("drake:gear_ratio") != nullptr;
    ReadDrakeActuation(*actuator_element, &draft.joint, &actuator, log_);
    if (!own_ratio && reduction != 0) draft.joint.gear_ratio = std::abs(reduction);
    actuator.effort_limit = draft.joint.effort_limit;
    draft_->robot.actuators.push_back(std::move(actuator));
    for (const XmlElement& child : element.children) {
      if (child.name == "leftActuator" || child.name == "rightActuator" ||
          child.name == "motorTorqueConstant") {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, ">"));
      }
    }
  }

  void ReadFrame(const XmlElement& element) {
    RobotFrame frame;
    frame.name = element.Get("name");
    const int link = FindLink(element.Get("link"));
    if (link == -2) {
      log_->Error(element.place, absl::StrCat(element.Label(), ": there is no link \"",
                                              element.Get("link"), "\". Correct the name"));
      return;
    }
    frame.link = link;
    frame.X_BF = ReadPose(element);
    draft_->robot.frames.push_back(std::move(frame));
  }

  const XmlElement& root_;
  const RobotFileOptions& options_;
  RobotFiles* files_;
  RobotMeshes* meshes_;
  RobotDraft* draft_;
  RobotLog* log_;
  std::map<std::string, Eigen::Vector4d> colors_;
  std::unordered_map<std::string, int> links_;
  std::unordered_map<std::string, int> joints_;  // in the draft
  std::set<std::string> ambiguous_;              // names of several joints
  bool connected_ = true;                        // all links and the ends of joints were read
  std::vector<std::pair<const XmlElement*, int>> link_elements_;
  std::vector<bool> fixed_;
  std::vector<Mimic> mimics_;
};

}  // namespace

void ReadUrdf(const XmlElement& root, const RobotFileOptions& options, RobotFiles* files,
              RobotMeshes* meshes, RobotDraft* draft, RobotLog* log) {
  UrdfReader(root, options, files, meshes, draft, log).Read();
}

}  // namespace pliant::physics
