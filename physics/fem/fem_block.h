#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/fem/materials/material.h"
#include "physics/geometry/mesh.h"

namespace pliant::physics {

// A material with its parameters.
struct FemMaterial {
  const Material* material = nullptr;
  std::vector<double> parameters;  // as the material names them
  double density = 0;              // [kg/m³], > 0
};

// Newton's method on the free motion of bodies with a material that is not quadratic in F.
struct NewtonOptions {
  double tolerance = 1e-8;  // of the momentum residual, relative, scaled by diag(A)^(−1/2)
  // 0: none at all. The step is linearised at the velocity that it starts with, contact and all,
  // which is right to second order in the change of velocity: for what is pressed slowly, far from
  // any free motion.
  int max_iterations = 100;
  bool projection =
      true;  // drop negative eigenvalues of the elements where the tangent is not positive definite
};

// A deformable body of linear tetrahedra.
struct FemParameters {
  TetrahedralMesh mesh;  // at rest, body frame, validated: positive volumes, every vertex used
  std::vector<FemMaterial> materials;
  std::vector<int> element_material;  // index in materials, one a tetrahedron; empty: all 0
  double rayleigh_alpha = 0;          // [1/s]
  double rayleigh_beta = 0;           // [s]
  // Nothing changes along z of the body's frame, and nothing moves along it.
  bool plane_strain = false;
  // Patches of elements resist a change of volume by their mean (see MeanDilatation). For materials
  // that have a volumetric stiffness.
  bool mean_dilatation = false;
  NewtonOptions newton;
  RigidTransform X_WB;                                         // initial pose
  Eigen::Vector3d linear_velocity = Eigen::Vector3d::Zero();   // of the centre of mass [m/s]
  Eigen::Vector3d angular_velocity = Eigen::Vector3d::Zero();  // about it [rad/s]
  // Vertices that move with a fixed or kinematic body (−1: the world), held where they are at the
  // start.
  struct Prescribed {
    int node;
    int body;
    RigidTransform X_WB0;  // initial pose of that body
  };
  std::vector<Prescribed> prescribed;  // ascending nodes
  // Tetrahedra of each region that an actuator puts under an internal volumetric stress: the
  // block's channels (BlockInputs::efforts).
  std::vector<std::vector<int>> activations;
};

struct FemModel;

// Shapes at rest that bodies share: what follows from a shape is computed once for all of its
// copies.
class FemRestShapes {
 public:
  FemRestShapes();
  ~FemRestShapes();

 private:
  friend std::shared_ptr<const DynamicsBlock> MakeFemBlock(FemParameters, FemRestShapes*);
  std::vector<std::shared_ptr<const FemModel>> first_of_each_;
};

// Positions: 3 a node, world frame [m]. Velocities: 3 a node [m/s]. A group is a node.
// A body whose shape at rest is one of `shapes` shares it, which changes no bit of a result;
// another's is added to them. Null: the body shares nothing.
std::shared_ptr<const DynamicsBlock> MakeFemBlock(FemParameters parameters,
                                                  FemRestShapes* shapes = nullptr);

}  // namespace pliant::physics
