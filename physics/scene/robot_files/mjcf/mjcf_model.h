#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "physics/scene/robot_files/mjcf/defaults.h"
#include "physics/scene/robot_files/mjcf/settings.h"
#include "physics/scene/robot_files/parts/robot_draft.h"
#include "physics/scene/robot_files/parts/robot_files.h"
#include "physics/scene/robot_files/parts/robot_meshes.h"

namespace pliant::physics {

inline constexpr std::size_t kMaxNumbers = 10'000'000;  // of one attribute

// A mesh asset. The vertices of the file are turned by R and moved by p after scaling.
struct MjcfMesh {
  FilePlace place;
  MeshRequest request;
  RigidTransform X;
  std::optional<TriangleMesh> inlined;  // vertices that stand in the MJCF file
  bool supported = true;
};

// A place on a link (−1: the world).
struct MjcfSite {
  int link = -1;
  RigidTransform X;
};

// What the sections of an MJCF file know of each other.
struct MjcfModel {
  const RobotFileOptions* options;
  RobotFiles* files;
  RobotMeshes* meshes;
  RobotDraft* draft;
  RobotLog* log;

  MjcfSettings settings;
  MjcfDefaults defaults;
  std::map<std::string, MjcfMesh> mesh_assets;
  std::map<std::string, Eigen::Vector4d> materials;  // their colours

  std::unordered_map<std::string, int> bodies;  // links; the world is −1
  std::unordered_map<std::string, int> joints;  // links whose joint it is
  std::unordered_map<std::string, MjcfSite> sites;
  int world_link = -1;  // that static geoms of the world are on

  // After the bodies: poses of the links at the initial positions.
  std::vector<RigidTransform> X_WB;

  // The link of a body's name, −2 with a message when there is none: a warning when what was left
  // out may have made it.
  int FindBody(const XmlElement& element, const char* attribute) const;
  int FindJoint(const XmlElement& element, const char* attribute) const;
  const MjcfSite* FindSite(const XmlElement& element, const char* attribute) const;
  // Says that what an element names is not there.
  void SayMissing(const XmlElement& element, const std::string& kind,
                  const std::string& name) const;

  RigidTransform PoseOf(int link) const { return link < 0 ? RigidTransform() : X_WB[link]; }
};

// <asset>: meshes and the colours of materials.
void ReadMjcfAssets(const XmlElement& section, MjcfModel* model);

// <worldbody>, all of the file: links, joints, shapes, sites and flexcomps, and where the links
// are.
void ReadMjcfBodies(const std::vector<const XmlElement*>& worldbodies, MjcfModel* model);

// A geom's shapes, and what it weighs in the frame of its body.
struct MjcfGeom {
  std::vector<RobotShape> collisions;
  std::vector<RobotShape> visuals;
  double mass = 0;
  Eigen::Vector3d center = Eigen::Vector3d::Zero();
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();  // about the centre
  int group = 0;
};
// X_BG poses the frame that the geom stands in.
MjcfGeom ReadMjcfGeom(const XmlElement& geom, const std::string& name, const RigidTransform& X_BG,
                      MjcfModel* model);

// A joint of a body, without X_PF and X_BM. `anchor` is in the frame that the joint stands in.
struct MjcfJoint {
  Joint joint;
  double reference = 0;
  Eigen::Vector3d anchor = Eigen::Vector3d::Zero();
  // time constant [s] and damping ratio that stiffness and damping follow from, once the inertia is
  // known; 0: not given
  double time_constant = 0, damping_ratio = 0;
};
MjcfJoint ReadMjcfJoint(const XmlElement& joint, const MjcfModel& model);

// A flexcomp; nothing when it is left out. X_WB of the result is its pose in the frame that it
// stands in.
std::optional<RobotDeformable> ReadMjcfFlexcomp(const XmlElement& flexcomp, MjcfModel* model);

// <tendon>, <equality> and <contact>, all sections of the file.
void ReadMjcfConstraints(const std::vector<const XmlElement*>& tendons,
                         const std::vector<const XmlElement*>& equalities,
                         const std::vector<const XmlElement*>& contacts, MjcfModel* model);

// What an effort on each of these joints (links, of one velocity) moves when all others are free,
// at the initial positions: 1 / (M⁻¹)_ii [kg·m²] or [kg]. Damping ratios are of it.
std::vector<double> CalcEffectiveInertias(const std::vector<RobotLink>& links,
                                          const std::vector<int>& wanted);

void ReadMjcfActuators(const XmlElement& section, MjcfModel* model);
void ReadMjcfKeyframes(const XmlElement& section, MjcfModel* model);

}  // namespace pliant::physics
