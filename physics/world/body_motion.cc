#include "physics/world/body_motion.h"

#include <cmath>

#include "physics/fem/materials/polar_rotation.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Covariance of the present shape and the rest shape, weighted by rest volume.
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
  if (!model.abilities_of(b).nodes) return CalcBodyPose(model, state, body) * b.p_BoBcm;
  return model.blocks[b.block]->CalcCenterOfMass(model.StateOf(state, b.block), b.part);
}

Vector3d CalcCenterOfMassVelocity(const Model& model, const State& state, int body) {
  const Body& b = model.bodies[body];
  if (!model.abilities_of(b).nodes) return CalcPointVelocity(model, state, body, b.p_BoBcm);
  const DynamicsBlock& block = *model.blocks[b.block];
  const auto momentum = block.CalcMomentum(model.StateOf(state, b.block), b.part);
  return momentum.head<3>() / block.mass(b.part);
}

Vector3d CalcVertexPosition(const Model& model, const State& state, int body, int vertex) {
  const Body& b = model.bodies[body];
  const int first = model.abilities_of(b).nodes->nodes_of(b.part).first;
  return VectorAt(model.Positions(state, b.block), 3 * (first + vertex));
}

Vector3d CalcVertexVelocity(const Model& model, const State& state, int body, int vertex) {
  const Body& b = model.bodies[body];
  const NodeSet& nodes = *model.abilities_of(b).nodes;
  Attachment point;
  point.block = b.block;
  point.nodes.Add(nodes.nodes_of(b.part).first + vertex, 1);
  point.p_W = CalcVertexPosition(model, state, body, vertex);
  return nodes.CalcPointVelocity(model.StateOf(state, b.block), point);
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
  if (const ElementSet* elements = model.abilities_of(b).elements) {
    R = CalcPolarRotation(
        CalcShapeCovariance(b.mesh, elements->element_volumes(), model.Positions(state, b.block)));
  }
  Eigen::Quaterniond rotation(R);
  rotation.coeffs() /= std::sqrt(rotation.squaredNorm());
  if (rotation.w() < 0) rotation.coeffs() = -rotation.coeffs();
  return rotation;
}

Vector3d CalcAngularVelocity(const Model& model, const State& state, int body) {
  const Body& b = model.bodies[body];
  const NodeSet* nodes = model.abilities_of(b).nodes;
  if (nodes == nullptr) return CalcBodyMotion(model, state, body).omega_W;
  return nodes->CalcAngularVelocity(model.StateOf(state, b.block), b.part);
}

double CalcBodyVolume(const Model& model, const State& state, int body) {
  const Body& b = model.bodies[body];
  if (const ElementSet* elements = model.abilities_of(b).elements)
    return elements->CalcVolume(model.StateOf(state, b.block), b.part);
  double volume = 0;
  for (const Shape& shape : b.shapes) volume += CalcMassProperties(shape.geometry).volume;
  return volume;
}

}  // namespace pliant::physics
