#include "physics/scene/robot_files/mjcf/mjcf.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "physics/scene/robot_files/mjcf/includes.h"
#include "physics/scene/robot_files/mjcf/mjcf_model.h"

namespace pliant::physics {

void ReadMjcf(const XmlElement& root, const RobotFileOptions& options, RobotFiles* files,
              RobotMeshes* meshes, RobotDraft* draft, RobotLog* log) {
  XmlElement whole = root;
  if (!ExpandMjcfIncludes(files, &whole, log)) return;
  draft->robot.name = root.Get("model");
  draft->robot.format = "MJCF";
  MjcfModel model;
  model.options = &options;
  model.files = files;
  model.meshes = meshes;
  model.draft = draft;
  model.log = log;

  // sections may come in any order, and more than once
  const auto sections = [&](const char* name) {
    std::vector<const XmlElement*> found;
    for (const XmlElement& child : whole.children) {
      if (child.name == name) found.push_back(&child);
    }
    return found;
  };
  static const char* const kKnown[] = {"compiler", "default",  "asset",     "worldbody",
                                       "contact",  "equality", "tendon",    "actuator",
                                       "keyframe", "visual",   "statistic", "size"};
  for (const XmlElement& child : whole.children) {
    const bool known = std::any_of(std::begin(kKnown), std::end(kKnown),
                                   [&](const char* name) { return child.name == name; });
    if (known) continue;
    log->LeftOut(
        child.place, absl::StrCat("<", child.name, ">"),
        child.name == "option" ? "gravity, time step and solver are those of the scene" : "");
  }
  for (const XmlElement* section : sections("compiler")) model.settings.Read(*section, log);
  for (const XmlElement* section : sections("default")) model.defaults.Read(*section, log);
  for (const XmlElement* section : sections("asset")) ReadMjcfAssets(*section, &model);
  // sections that refer to bodies and joints are read only if none of those is missing
  if (!ReadMjcfBodies(sections("worldbody"), &model)) return;
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
  ReadMjcfConstraints(sections("tendon"), sections("equality"), sections("contact"), &model);
  for (const XmlElement* section : sections("actuator")) ReadMjcfActuators(*section, &model);
  for (const XmlElement* section : sections("keyframe")) ReadMjcfKeyframes(*section, &model);
}

}  // namespace pliant::physics
