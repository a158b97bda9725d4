#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/dynamics/model.h"
#include "physics/geometry/mesh.h"

namespace pliant::physics {

// A parameter of a kind of body, as named in scenes.
struct BodyParameter {
  std::string_view name;
  std::string_view expected;  // "a positive length in metres"
  double min, max;            // inclusive
};

// A body as described in a scene.
struct BodyDescription {
  TetrahedralMesh mesh;  // at rest, body frame, validated: positive volumes, every vertex used
  double density = 0;    // [kg/m³], > 0
  std::vector<double> parameters;                              // as the kind names them
  RigidTransform X_WB;                                         // initial pose
  Eigen::Vector3d linear_velocity = Eigen::Vector3d::Zero();   // of the centre of mass [m/s]
  Eigen::Vector3d angular_velocity = Eigen::Vector3d::Zero();  // about it [rad/s]
};

// A kind of deformable body added to the built-in ones (docs/extending.md, "A body").
class BodyKind {
 public:
  virtual ~BodyKind() = default;
  virtual std::string_view name() const = 0;  // as in scenes: CLAY
  virtual std::span<const BodyParameter> parameters() const = 0;
  // A block with a node for each vertex of the mesh and an element for each tetrahedron, in their
  // order.
  virtual std::shared_ptr<const DynamicsBlock> MakeBlock(BodyDescription description) const = 0;
  // Nodes of that block that collide as balls, instead of the surface of the mesh; none by default.
  virtual TouchingPoints MakePoints(const BodyDescription&) const { return {}; }
};

// All registered kinds, and the one with a given name; null when there is none.
std::vector<const BodyKind*> AllBodyKinds();
const BodyKind* FindBodyKind(std::string_view name);

}  // namespace pliant::physics
