#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/robot_files/mjcf/mjcf.h"
#include "physics/scene/robot_files/parts/link_checks.h"
#include "physics/scene/robot_files/parts/robot_draft.h"
#include "physics/scene/robot_files/parts/robot_files.h"
#include "physics/scene/robot_files/parts/robot_log.h"
#include "physics/scene/robot_files/parts/robot_meshes.h"
#include "physics/scene/robot_files/parts/xacro.h"
#include "physics/scene/robot_files/parts/xml_tree.h"
#include "physics/scene/robot_files/robot_description.h"
#include "physics/scene/robot_files/sdf/sdf.h"
#include "physics/scene/robot_files/urdf.h"

namespace pliant::physics {
namespace {

std::string WhatItIs(std::string_view text) {
  const std::string kind = GuessFileKind(text);
  return kind.empty() ? std::string("is no robot file")
                      : absl::StrCat("is ", kind, ", not a robot file");
}

// Gives couplers, loops and actuators unique names, for reports.
void NameTheNameless(RobotDescription* robot) {
  std::set<std::string> taken;
  const auto name = [&](std::string* own, const char* kind) {
    std::string base = own->empty() ? kind : *own;
    std::string unique = base;
    for (int k = 1; !taken.insert(unique).second; ++k) unique = absl::StrCat(base, "_", k);
    *own = unique;
  };
  for (RobotCoupler& coupler : robot->couplers) name(&coupler.name, "coupler");
  for (RobotLoop& loop : robot->loops) name(&loop.name, "loop");
  taken.clear();
  for (RobotActuator& actuator : robot->actuators) name(&actuator.name, "actuator");
}

}  // namespace

RobotFileResult ReadRobotText(std::string_view text, const std::string& path,
                              const RobotFileOptions& options) {
  RobotFileResult result;
  RobotLog log(options.strict);
  RobotFiles files(options, path);
  const auto file = std::make_shared<const std::string>(path);
  const auto finish = [&] {
    result.messages = log.TakeMessages();
    result.files_hash = files.hashes();
    result.looks_hash = files.looks_hashes();
    return result;
  };
  files.AddHash(text);
  if (text.find('<') == std::string_view::npos) {
    log.Error({file, 0}, absl::StrCat(WhatItIs(text), "; expected XML: URDF, SDF or MJCF"));
    return finish();
  }
  const std::optional<XmlElement> root = ReadXml(text, file, &log);
  if (!root.has_value()) return finish();

  if (IsXacro(*root, text)) {
    if (options.expanded_by_xacro) {
      log.Error({file, 0}, "still contains xacro elements after `xacro`. Correct the macros");
      return finish();
    }
    const absl::StatusOr<std::string> expanded = ExpandXacro(path, options);
    if (!expanded.ok()) {
      log.Error({file, 0}, std::string(expanded.status().message()));
      return finish();
    }
    RobotFileOptions again = options;
    again.expanded_by_xacro = true;
    return ReadRobotText(*expanded, path, again);
  }
  RobotDraft draft;
  RobotMeshes meshes(&files, &log);
  if (root->name == "robot") {
    ReadUrdf(*root, options, &files, &meshes, &draft, &log);
  } else if (root->name == "sdf") {
    ReadSdf(*root, options, &files, &meshes, &draft, &log);
  } else if (root->name == "mujoco" || root->name == "mujocoinclude") {
    ReadMjcf(*root, options, &files, &meshes, &draft, &log);
  } else {
    log.Error(root->place, absl::StrCat("its first element is <", root->name,
                                        ">; expected <robot> (URDF), <sdf> or <mujoco>"));
  }
  // check the links even after other errors
  if (!draft.sorted) return finish();
  if (draft.robot.name.empty()) draft.robot.name = std::filesystem::path(path).stem().string();
  CheckLinks(options, &draft, &log);
  NameTheNameless(&draft.robot);
  if (log.ok()) result.robot = std::move(draft.robot);
  return finish();
}

RobotFileResult ReadRobotFile(const std::string& path, const RobotFileOptions& options) {
  RobotFileOptions own = options;
  own.allow_files = true;
  RobotFiles files(own, path);
  const absl::StatusOr<std::string> bytes =
      files.Read(path, static_cast<std::int64_t>(kMaxXmlBytes), "robot");
  if (!bytes.ok()) {
    std::string text(bytes.status().message());
    // the message's place names the file already
    if (text.rfind(path + ": ", 0) == 0) text.erase(0, path.size() + 2);
    RobotFileResult result;
    result.messages.push_back({path, 0, text, true});
    return result;
  }
  return ReadRobotText(*bytes, path, options);
}

}  // namespace pliant::physics
