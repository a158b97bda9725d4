#pragma once

#include <memory>
#include <utility>

#include "physics/dynamics/model.h"
#include "physics/fem/fem_block.h"
#include "physics/rigid/rigid_body_block.h"

namespace pliant::physics {

// Models built by hand, without scene files.

inline Body& AddBody(Model* model, const char* name, Motion motion) {
  Body body;
  body.name = name;
  body.motion = motion;
  model->bodies.push_back(std::move(body));
  return model->bodies.back();
}

// A free solid ball of 2 kg and radius 0.1 m at p_W.
inline int AddBall(Model* model, const char* name, const Eigen::Vector3d& p_W,
                   const Eigen::Vector3d& v_W = Eigen::Vector3d::Zero()) {
  RigidBodyParameters parameters;
  parameters.mass = 2;
  parameters.inertia = 0.4 * 2 * 0.01 * Eigen::Matrix3d::Identity();
  parameters.X_WB.p = p_W;
  parameters.linear_velocity = v_W;
  Body& body = AddBody(model, name, Motion::kFree);
  body.block = static_cast<int>(model->blocks.size());
  body.X_WB.p = p_W;
  body.mass = parameters.mass;
  body.inertia = parameters.inertia;
  body.shapes.push_back(Shape{{}, Sphere{0.1}});
  model->blocks.push_back(MakeFreeBodyBlock(parameters));
  return static_cast<int>(model->bodies.size()) - 1;
}

// A half-space that is solid below z = 0.
inline int AddGround(Model* model) {
  AddBody(model, "ground", Motion::kFixed).shapes.push_back(Shape{{}, HalfSpace{}});
  return static_cast<int>(model->bodies.size()) - 1;
}

// A small kinematic box that follows targets.
inline int AddPaddle(Model* model, const RigidTransform& X_WB) {
  const int index = static_cast<int>(model->bodies.size());
  Body& body = AddBody(model, "paddle", Motion::kKinematic);
  body.block = static_cast<int>(model->blocks.size());
  body.X_WB = X_WB;
  body.shapes.push_back(Shape{{}, Box{Eigen::Vector3d(0.05, 0.05, 0.05)}});
  model->blocks.push_back(MakeKinematicBodyBlock(index, X_WB));
  return index;
}

// One soft tetrahedron with unit edges along the axes, density 600 (100 kg).
inline int AddTetrahedron(Model* model, const RigidTransform& X_WB = {}) {
  FemParameters parameters;
  parameters.mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  parameters.mesh.tetrahedra = {{0, 1, 2, 3}};
  parameters.materials = {{FindMaterial("LINEAR_COROTATIONAL"), {1e5, 0.3}, 600}};
  parameters.X_WB = X_WB;
  Body& body = AddBody(model, "tetrahedron", Motion::kFree);
  body.block = static_cast<int>(model->blocks.size());
  body.X_WB = X_WB;
  body.mesh = parameters.mesh;
  body.surface = ExtractBoundary(parameters.mesh);
  model->blocks.push_back(MakeFemBlock(std::move(parameters)));
  return static_cast<int>(model->bodies.size()) - 1;
}

inline std::shared_ptr<const Model> Finish(Model model) {
  model.Finish();
  model.hash = "00112233445566778899aabbccddeeff";
  return std::make_shared<const Model>(std::move(model));
}

}  // namespace pliant::physics
