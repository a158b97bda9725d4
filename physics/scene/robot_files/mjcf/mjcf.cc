#include "physics/scene/robot_files/mjcf/mjcf.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "physics/scene/robot_files/mjcf/includes.h"
#include "physics/scene/robot_files/mjcf/mjcf_model.h"

namespace pliant::physics {

namespace {

using Names = std::set<std::string_view>;

// Attributes of an element as of MuJoCo 4.0, supported here or not; empty for other elements.
const Names& FindKnownAttributes(std::string_view element) {
  static const std::map<std::string_view, Names> known = {
      {"body",
       {"name", "childclass", "pos", "quat", "axisangle", "xyaxes", "zaxis", "euler", "mocap",
        "gravcomp", "sleep", "user"}},
      {"inertial",
       {"pos", "quat", "axisangle", "xyaxes", "zaxis", "euler", "mass", "diaginertia",
        "fullinertia"}},
      {"freejoint", {"name", "group", "align"}},
      {"joint",
       {"name",
        "class",
        "type",
        "group",
        "pos",
        "axis",
        "springdamper",
        "limited",
        "actuatorfrclimited",
        "solreflimit",
        "solimplimit",
        "solreffriction",
        "solimpfriction",
        "stiffness",
        "range",
        "margin",
        "ref",
        "actuatorfrcrange",
        "springref",
        "springyield",
        "actuatorgravcomp",
        "armature",
        "damping",
        "frictionloss",
        "user"}},
      {"geom", {"name",       "class",        "type",     "contype",    "conaffinity", "condim",
                "group",      "priority",     "size",     "material",   "friction",    "mass",
                "density",    "shellinertia", "solmix",   "solref",     "solimp",      "margin",
                "gap",        "fromto",       "pos",      "quat",       "axisangle",   "xyaxes",
                "zaxis",      "euler",        "hfield",   "mesh",       "fitscale",    "rgba",
                "fluidshape", "fluidcoef",    "adhesion", "surfacevel", "castshadow",  "user"}},
      {"site",
       {"name", "class", "type", "group", "pos", "quat", "axisangle", "xyaxes", "zaxis", "euler",
        "size", "fromto", "mesh", "material", "rgba", "user"}}};
  static const Names none;
  const auto found = known.find(element);
  return found == known.end() ? none : found->second;
}

// Reports attributes that MJCF does not have, of the bodies, joints, shapes, inertias and sites in
// `element` and of their defaults.
void ReportUnknownAttributes(const XmlElement& element, RobotLog* log) {
  const Names& known = FindKnownAttributes(element.name);
  for (const XmlAttribute& attribute : element.attributes) {
    if (!known.empty() && !known.contains(attribute.name))
      ReportUnknownAttribute(element, attribute.name, log);
  }
  // elements of other kinds have joints and shapes with other attributes
  if (!IsOneOf(element.name, {"mujoco", "worldbody", "body", "frame", "replicate", "default"}))
    return;
  for (const XmlElement& child : element.children) ReportUnknownAttributes(child, log);
}

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxAttachedElements = 1'000'000;

// Prefixes the names of what a model has, and references to it.
void AddPrefix(const std::string& prefix, XmlElement* element) {
  const bool is_attach = element->name == "attach";
  for (XmlAttribute& attribute : element->attributes) {
    const bool refers = IsOneOf(
        attribute.name, {"name", "joint", "joint1", "joint2", "jointinparent", "body1", "body2",
                         "site", "site1", "site2", "tendon", "tendon1", "tendon2"});
    // an attached model keeps its name, and gets both prefixes
    if (is_attach ? attribute.name == "prefix" : refers) attribute.value.insert(0, prefix);
  }
  if (is_attach && element->Find("prefix") == nullptr)
    element->attributes.push_back({"prefix", prefix});
  for (XmlElement& child : element->children) AddPrefix(prefix, &child);
}

// Sections that refer to bodies and joints, of the model and of those attached to it.
void ReadWhatRefers(const XmlElement& root, MjcfModel* model) {
  for (const auto& part : model->attached) ReadWhatRefers(part->root, &part->model);
  ReadMjcfConstraints(FindSections(root, "tendon"), FindSections(root, "equality"),
                      FindSections(root, "contact"), model);
  for (const XmlElement* section : FindSections(root, "actuator"))
    ReadMjcfActuators(*section, model);
  for (const XmlElement* section : FindSections(root, "keyframe")) {
    if (model->depth == 0) {
      ReadMjcfKeyframes(*section, model);
    } else {
      model->log->LeftOut(section->place, "<keyframe> of an attached model");
    }
  }
}

}  // namespace

std::vector<const XmlElement*> FindSections(const XmlElement& root, const char* name) {
  std::vector<const XmlElement*> found;
  for (const XmlElement& child : root.children)
    if (child.name == name) found.push_back(&child);
  return found;
}

void ReadMjcfPreamble(const XmlElement& root, MjcfModel* model) {
  ReportUnknownAttributes(root, model->log);
  for (const XmlElement& child : root.children) {
    if (IsOneOf(child.name, {"compiler", "default", "asset", "worldbody", "contact", "equality",
                             "tendon", "actuator", "keyframe", "visual", "statistic", "size"}))
      continue;
    model->log->LeftOut(
        child.place, absl::StrCat("<", child.name, ">"),
        child.name == "option" ? "gravity, time step and solver are those of the scene" : "");
  }
  for (const XmlElement* section : FindSections(root, "compiler"))
    model->settings.Read(*section, model->log);
  for (const XmlElement* section : FindSections(root, "default"))
    model->defaults.Read(*section, model->log);
  for (const XmlElement* section : FindSections(root, "asset")) ReadMjcfAssets(*section, model);
}

std::unique_ptr<MjcfModel::Attached> AttachMjcfModel(const XmlElement& attach,
                                                     const MjcfModel& model) {
  const auto refuse = [&](const std::string& why) {
    model.log->Error(attach.place, absl::StrCat(attach.Label(), ": ", why));
    return nullptr;
  };
  const std::string name = attach.Get("model");
  const auto found = model.submodels.find(name);
  if (found == model.submodels.end())
    return refuse(absl::StrCat("there is no model \"", name, "\" among the assets. Define it"));
  if (model.depth >= kMaxDepth)
    return refuse(absl::StrCat("models are attached to each other more than ", kMaxDepth,
                               " deep; expected fewer"));
  *model.attached_elements += CountElements(found->second.root);
  if (*model.attached_elements > kMaxAttachedElements)
    return refuse(absl::StrCat("the attached models have more than ", kMaxAttachedElements,
                               " elements; expected fewer"));
  auto part = std::make_unique<MjcfModel::Attached>();
  part->root = found->second.root;
  MjcfModel& made = part->model;
  made.options = model.options;
  made.files = model.files;
  made.meshes = model.meshes;
  made.draft = model.draft;
  made.log = model.log;
  made.folder = found->second.folder;
  made.world_link = model.world_link;
  made.depth = model.depth + 1;
  made.attached_elements = model.attached_elements;
  made.is_partial = model.is_partial || attach.Find("body") != nullptr;
  ReadMjcfPreamble(part->root, &made);
  for (XmlElement& section : part->root.children) {
    if (!IsOneOf(section.name, {"worldbody", "contact", "equality", "tendon", "actuator"}))
      continue;
    for (XmlElement& child : section.children) AddPrefix(attach.Get("prefix"), &child);
  }
  return part;
}

void ReadMjcf(const XmlElement& root, const RobotFileOptions& options, RobotFiles* files,
              RobotMeshes* meshes, RobotDraft* draft, RobotLog* log) {
  XmlElement whole = root;
  if (!ExpandMjcfIncludes(files, files->folder(), &whole, log)) return;
  draft->robot.name = root.Get("model");
  draft->robot.format = "MJCF";
  MjcfModel model;
  model.options = &options;
  model.files = files;
  model.meshes = meshes;
  model.draft = draft;
  model.log = log;
  model.folder = files->folder();
  ReadMjcfPreamble(whole, &model);
  // sections that refer to bodies and joints are read only if none of those is missing
  if (!ReadMjcfBodies(FindSections(whole, "worldbody"), &model)) return;
  if (draft->robot.links.empty() && draft->robot.deformables.empty()) {
    const std::string text = "<mujoco>: has no bodies; expected a <worldbody> with some";
    if (log->left_something_out()) {
      log->Error(root.place, text + " that are supported");
    } else {
      log->Error(root.place, text);
    }
    return;
  }
  draft->sorted = true;
  ReadWhatRefers(whole, &model);
}

}  // namespace pliant::physics
