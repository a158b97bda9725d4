#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/fem/materials/material.h"
#include "physics/fem/volume/volume_potential.h"
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
  // 0: no iterations. The whole step, contact included, is linearised at its initial velocity,
  // which is accurate to second order in the change of velocity. Suited to slow loading far from
  // free motion.
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
  // Nothing varies or moves along z of the body frame.
  bool plane_strain = false;
  // Patches of elements resist volume change by their mean volume ratio (see MeanDilatation). Needs
  // materials with a volumetric stiffness.
  bool mean_dilatation = false;
  NewtonOptions newton;
  RigidTransform X_WB;                                         // initial pose
  Eigen::Vector3d linear_velocity = Eigen::Vector3d::Zero();   // of the centre of mass [m/s]
  Eigen::Vector3d angular_velocity = Eigen::Vector3d::Zero();  // about it [rad/s]
  // Vertices attached to a fixed or kinematic body (−1: the world) where they are at the start.
  struct Prescribed {
    int node;
    int body;
    RigidTransform X_WB0;  // initial pose of that body
  };
  std::vector<Prescribed> prescribed;  // ascending nodes
  // Tetrahedra of each region in which an actuator imposes an internal volumetric stress. Each
  // region is a channel of the block (BlockInputs::efforts).
  std::vector<std::vector<int>> activations;
  // Closed volumes with a pressure. Their gauge pressures at the rest volume, which
  // BlockInputs::pressures set, are the internals of the block's state [Pa].
  std::vector<VolumeParameters> volumes;
};

struct FemModel;

// Rest shapes shared between bodies. Data that depends on the rest shape alone is computed once for
// all its copies.
class FemRestShapes {
 public:
  FemRestShapes();
  ~FemRestShapes();

 private:
  friend std::shared_ptr<const DynamicsBlock> MakeFemBlock(FemParameters, FemRestShapes*);
  std::vector<std::shared_ptr<const FemModel>> first_of_each_;
};

// Positions: 3 a node, world frame [m]. Velocities: 3 a node [m/s]. A group is a node. A body whose
// rest shape is in `shapes` shares it, with bitwise identical results; a new rest shape is added.
// Null: the body shares nothing.
std::shared_ptr<const DynamicsBlock> MakeFemBlock(FemParameters parameters,
                                                  FemRestShapes* shapes = nullptr);

}  // namespace pliant::physics
