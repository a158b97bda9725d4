#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/dynamics/block.h"
#include "physics/geometry/mesh.h"

namespace pliant::physics {

// Lagged linear corotational material (han2023 §V-B) or linear elasticity (R0 = I).
struct FemMaterial {
  enum class Model { kLinearCorotational, kLinear };
  Model model = Model::kLinearCorotational;
  double youngs_modulus = 0;  // [Pa], > 0
  double poissons_ratio = 0;  // in (−1, 0.5)
  double density = 0;         // [kg/m³], > 0
};

// A deformable body of linear tetrahedra.
struct FemParameters {
  TetrahedralMesh mesh;  // at rest, body frame, validated: positive volumes, every vertex used
  std::vector<FemMaterial> materials;
  std::vector<int> element_material;  // index in materials, one a tetrahedron; empty: all 0
  double rayleigh_alpha = 0;          // [1/s]
  double rayleigh_beta = 0;           // [s]
  RigidTransform X_WB;                // initial pose
  Eigen::Vector3d linear_velocity = Eigen::Vector3d::Zero();   // of the centre of mass [m/s]
  Eigen::Vector3d angular_velocity = Eigen::Vector3d::Zero();  // about it [rad/s]
  // Vertices that move with a fixed or kinematic body (−1: the world), held where they are at the start.
  struct Prescribed {
    int node;
    int body;
    RigidTransform X_WB0;  // initial pose of that body
  };
  std::vector<Prescribed> prescribed;  // ascending nodes
};

// Positions: 3 a node, world frame [m]. Velocities: 3 a node [m/s]. A group is a node.
std::shared_ptr<const DynamicsBlock> MakeFemBlock(FemParameters parameters);

}  // namespace pliant::physics
