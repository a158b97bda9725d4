#include "physics/world/body_motion.h"

#include <cmath>

#include "physics/fem/materials/polar_rotation.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// how the present shape lies against the rest shape, weighted by rest volume
Eigen::Matrix3d CalcShapeCovariance(const TetrahedralMesh& mesh, std::span<const double> volumes,
                                    std::span<const double> q) {
  Vector3d rest_mean = Vector3d::Zero(), mean = Vector3d::Zero();
  double total = 0;
  const auto rest_centroid = [&](const std::array<int, 4>& tet) {
    Vector3d sum = Vector3d::Zero();
    for (int node : tet) sum += mesh.vertices[node];
    return Vector3d(sum / 4);
  };
  const auto centroid = [&](const std::array<int, 4>& tet) {
    Vector3d sum = Vector3d::Zero();
    for (int node : tet) sum += VectorAt(q, 3 * node);
    return Vector3d(sum / 4);
  };
  for (std::size_t e = 0; e < mesh.tetrahedra.size(); ++e) {
    rest_mean += volumes[e] * rest_centroid(mesh.tetrahedra[e]);
    mean += volumes[e] * centroid(mesh.tetrahedra[e]);
    total += volumes[e];
  }
  rest_mean /= total;
  mean /= total;

  Eigen::Matrix3d covariance = Eigen::Matrix3d::Zero();
  for (std::size_t e = 0; e < mesh.tetrahedra.size(); ++e) {
    const Vector3d x = centroid(mesh.tetrahedra[e]) - mean;
    const Vector3d X = rest_centroid(mesh.tetrahedra[e]) - rest_mean;
    covariance += volumes[e] * x * X.transpose();
  }
  return covariance;
}

}  // namespace

Vector3d CalcCenterOfMass(const Model& model, const State& state, int body) {
  const Body& b = model.bodies[body];
  if (!b.deformable) return CalcBodyPose(model, state, body) * b.p_BoBcm;
  return model.blocks[b.block]->CalcCenterOfMass(model.Positions(state, b.block));
}

Vector3d CalcCenterOfMassVelocity(const Model& model, const State& state, int body) {
  const Body& b = model.bodies[body];
  if (!b.deformable) return CalcPointVelocity(model, state, body, b.p_BoBcm);
  const DynamicsBlock& block = *model.blocks[b.block];
  const auto momentum =
      block.CalcMomentum(model.Positions(state, b.block), model.Velocities(state, b.block));
  return momentum.head<3>() / block.mass();
}

Vector3d CalcVertexPosition(const Model& model, const State& state, int body, int vertex) {
  return VectorAt(model.Positions(state, model.bodies[body].block), 3 * vertex);
}

Vector3d CalcVertexVelocity(const Model& model, const State& state, int body, int vertex) {
  const int block = model.bodies[body].block;
  Attachment point;
  point.block = block;
  point.num_nodes = 1;
  point.nodes[0] = vertex;
  point.weights[0] = 1;
  point.p_W = CalcVertexPosition(model, state, body, vertex);
  return model.blocks[block]->CalcPointVelocity(model.Positions(state, block),
                                                model.Velocities(state, block), point);
}

Vector3d CalcPointPosition(const Model& model, const State& state, int body, const Vector3d& p_BP) {
  return CalcBodyPose(model, state, body) * p_BP;
}

Vector3d CalcPointVelocity(const Model& model, const State& state, int body, const Vector3d& p_BP) {
  const FrameMotion motion = CalcBodyMotion(model, state, body);
  return motion.CalcPointVelocity(motion.X_WB * p_BP);
}

Eigen::Quaterniond CalcOrientation(const Model& model, const State& state, int body) {
  const Body& b = model.bodies[body];
  Eigen::Matrix3d R = CalcBodyPose(model, state, body).R;
  if (b.deformable) {
    R = CalcPolarRotation(CalcShapeCovariance(b.mesh, model.blocks[b.block]->element_volumes(),
                                              model.Positions(state, b.block)));
  }
  Eigen::Quaterniond rotation(R);
  rotation.coeffs() /= std::sqrt(rotation.squaredNorm());
  if (rotation.w() < 0) rotation.coeffs() = -rotation.coeffs();
  return rotation;
}

Vector3d CalcAngularVelocity(const Model& model, const State& state, int body) {
  if (!model.bodies[body].deformable) return CalcBodyMotion(model, state, body).omega_W;
  const int block = model.bodies[body].block;
  return model.blocks[block]->CalcAngularVelocity(model.Positions(state, block),
                                                  model.Velocities(state, block));
}

double CalcBodyVolume(const Model& model, const State& state, int body) {
  const Body& b = model.bodies[body];
  if (b.deformable) return model.blocks[b.block]->CalcVolume(model.Positions(state, b.block));
  double volume = 0;
  for (const Shape& shape : b.shapes) volume += CalcMassProperties(shape.geometry).volume;
  return volume;
}

}  // namespace pliant::physics
