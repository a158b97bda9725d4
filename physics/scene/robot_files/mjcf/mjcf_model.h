#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "physics/scene/robot_files/mjcf/defaults.h"
#include "physics/scene/robot_files/mjcf/includes.h"
#include "physics/scene/robot_files/mjcf/mesh_mass.h"
#include "physics/scene/robot_files/mjcf/settings.h"
#include "physics/scene/robot_files/parts/robot_draft.h"
#include "physics/scene/robot_files/parts/robot_files.h"
#include "physics/scene/robot_files/parts/robot_meshes.h"

namespace pliant::physics {

inline constexpr std::size_t kMaxNumbers = 10'000'000;  // of one attribute

// A mesh asset. The file's vertices are scaled, then transformed by X.
struct MjcfMesh {
  FilePlace place;
  MeshRequest request;
  RigidTransform X;
  std::optional<TriangleMesh> inlined;  // vertices given in the MJCF file
  MjcfMeshInertia inertia = MjcfMeshInertia::kLegacy;
  bool supported = true;
  // For a density of 1, in the frame of the shape, once a geom has needed it.
  std::optional<MassProperties> unit_mass;
};

// A place on a link (−1: the world).
struct MjcfSite {
  int link = -1;
  RigidTransform X;
};

// Data shared between the sections of an MJCF file.
struct MjcfModel {
  const RobotFileOptions* options;
  RobotFiles* files;
  RobotMeshes* meshes;
  RobotDraft* draft;
  RobotLog* log;

  std::string folder;  // of its file; relative paths start there
  MjcfSettings settings;
  MjcfDefaults defaults;
  std::map<std::string, MjcfMesh> mesh_assets;
  std::map<std::string, Eigen::Vector4d> materials;  // their colours

  std::unordered_map<std::string, int> bodies;  // links; the world is −1
  std::unordered_map<std::string, int> joints;  // links whose joint it is
  std::unordered_map<std::string, MjcfSite> sites;
  std::set<std::string> ambiguous_sites;  // names of several sites
  int world_link = -1;                    // link of the world's static geoms

  // Models of other files, by name, and copies of them whose bodies are attached to this one.
  std::map<std::string, MjcfSubmodel> submodels;
  struct Attached;
  std::vector<std::unique_ptr<Attached>> attached;
  int depth = 0;  // 1 for an attached model, 2 for one attached to that, …
  // XML elements of all attached models, those attached to them too.
  std::shared_ptr<std::size_t> attached_elements = std::make_shared<std::size_t>(0);
  bool is_partial = false;  // only one of its bodies is attached

  // After the bodies: poses of the links at the initial positions.
  std::vector<RigidTransform> X_WB;

  // The link of the body with that name. −2 with a message when there is none; the message is a
  // warning when an unsupported element may have defined the body.
  int FindBody(const XmlElement& element, const char* attribute) const;
  int FindJoint(const XmlElement& element, const char* attribute) const;
  const MjcfSite* FindSite(const XmlElement& element, const char* attribute) const;
  // Reports that an object named by an element does not exist.
  void SayMissing(const XmlElement& element, const std::string& kind,
                  const std::string& name) const;

  RigidTransform PoseOf(int link) const { return link < 0 ? RigidTransform() : X_WB[link]; }
};

// A copy of a submodel. Names and references in its tree have the prefix of the attachment. The
// model that it is attached to knows the names of its bodies, joints and sites, too.
struct MjcfModel::Attached {
  XmlElement root;
  MjcfModel model;
};

// The sections with this name: they may come in any order, and more than once.
std::vector<const XmlElement*> FindSections(const XmlElement& root, const char* name);

// Settings, defaults and assets.
void ReadMjcfPreamble(const XmlElement& root, MjcfModel* model);

// Copies the model that an <attach> names, without its bodies. Null, with errors, when there is
// none, or too many.
std::unique_ptr<MjcfModel::Attached> AttachMjcfModel(const XmlElement& attach,
                                                     const MjcfModel& model);

// <asset>: meshes, the colours of materials, and submodels.
void ReadMjcfAssets(const XmlElement& section, MjcfModel* model);

// All <worldbody> sections of the file: links, joints, shapes, sites and flexcomps, and the poses
// of the links. False when an error left out a body or a joint.
bool ReadMjcfBodies(const std::vector<const XmlElement*>& worldbodies, MjcfModel* model);

// A geom's shapes, and its mass properties in the frame of its body.
struct MjcfGeom {
  std::vector<RobotShape> collisions;
  std::vector<RobotShape> visuals;
  double mass = 0;
  Eigen::Vector3d center = Eigen::Vector3d::Zero();
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();  // about the centre
  std::string doubt;  // why other programs may find another mass; else empty
  int group = 0;
};
// X_BG is the pose of the frame in which the geom is given.
MjcfGeom ReadMjcfGeom(const XmlElement& geom, const std::string& name, const RigidTransform& X_BG,
                      MjcfModel* model);

// A joint of a body, without X_PF and X_BM. `anchor` is in the frame in which the joint is given.
struct MjcfJoint {
  Joint joint;
  double reference = 0;
  Eigen::Vector3d anchor = Eigen::Vector3d::Zero();
  // time constant [s] and damping ratio that determine stiffness and damping once the inertia is
  // known; 0: not given
  double time_constant = 0, damping_ratio = 0;
};
MjcfJoint ReadMjcfJoint(const XmlElement& joint, const MjcfModel& model);

// A flexcomp; nullopt when it is left out. X_WB of the result is its pose in the frame in which it
// is given.
std::optional<RobotDeformable> ReadMjcfFlexcomp(const XmlElement& flexcomp, MjcfModel* model);

// <tendon>, <equality> and <contact>, all sections of the file.
void ReadMjcfConstraints(const std::vector<const XmlElement*>& tendons,
                         const std::vector<const XmlElement*>& equalities,
                         const std::vector<const XmlElement*>& contacts, MjcfModel* model);

// Effective inertia of each of these joints (links, of one velocity) when all others are free, at
// the initial positions: 1 / (M⁻¹)_ii [kg·m²] or [kg]. Damping ratios refer to it.
std::vector<double> CalcEffectiveInertias(const std::vector<RobotLink>& links,
                                          const std::vector<int>& wanted);

void ReadMjcfActuators(const XmlElement& section, MjcfModel* model);
void ReadMjcfKeyframes(const XmlElement& section, MjcfModel* model);

}  // namespace pliant::physics
