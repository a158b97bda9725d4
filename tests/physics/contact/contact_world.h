#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "physics/contact/contact_detection.h"
#include "physics/geometry/triangle_bvh.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {

inline Eigen::Vector3d Normal(const ContactPoint& point) {
  return point.R_WC.col(2);
}

// A block that only has a pose: one frame (12 numbers) or nodes. Contact detection needs nothing
// else.
class PlacedBlock : public DynamicsBlock, public FrameSet, public NodeSet {
 public:
  explicit PlacedBlock(int num_nodes) : num_nodes_(num_nodes) {}

  int num_positions() const override { return num_nodes_ > 0 ? 3 * num_nodes_ : 12; }
  int num_velocities() const override { return 0; }
  void SetInitialState(MutableBlockState) const override {}
  BlockAbilities abilities() const override {
    if (num_nodes_ > 0) return {.nodes = this};
    return {.frames = this};
  }
  std::unique_ptr<BlockStep> NewStep() const override { return nullptr; }
  int num_frames() const override { return 1; }
  void CalcFrames(const BlockState& state, std::span<FrameMotion> frames) const override {
    const std::span<const double> q = state.q;
    RigidTransform& X = frames[0].X_WB;
    for (int i = 0; i < 9; ++i) X.R(i % 3, i / 3) = q[i];
    X.p = {q[9], q[10], q[11]};
    frames[0].v_W = v_W;
  }
  int num_nodes() const override { return num_nodes_; }
  bool is_node_prescribed(int node) const override {
    for (int other : prescribed)
      if (other == node) return true;
    return false;
  }
  double mass(int) const override { return 1; }
  Eigen::Vector3d CalcCenterOfMass(const BlockState&, int) const override {
    return Eigen::Vector3d::Zero();
  }
  Eigen::Vector3d CalcPointVelocity(const BlockState&, const Attachment&) const override {
    return Eigen::Vector3d::Zero();
  }
  Eigen::Vector3d CalcAngularVelocity(const BlockState&, int) const override {
    return Eigen::Vector3d::Zero();
  }
  Eigen::Matrix<double, 6, 1> CalcMomentum(const BlockState&, int) const override {
    return Eigen::Matrix<double, 6, 1>::Zero();
  }
  Energies CalcEnergies(const BlockState&, const Eigen::Vector3d&, int) const override {
    return {};
  }

  std::vector<int> prescribed;
  Eigen::Vector3d v_W = Eigen::Vector3d::Zero();  // of the frame

 private:
  int num_nodes_;
};

// A world of bodies at given poses, for tests.
struct ContactWorld {
  Model model;
  State state;

  int AddRigid(std::vector<Shape> shapes, const RigidTransform& X_WB,
               Motion motion = Motion::kFree) {
    Body body;
    body.motion = motion;
    body.X_WB = X_WB;
    body.shapes = std::move(shapes);
    if (motion != Motion::kFixed) {
      body.block = AddBlock(0);
      for (int i = 0; i < 9; ++i) state.q.push_back(X_WB.R(i % 3, i / 3));
      for (int i = 0; i < 3; ++i) state.q.push_back(X_WB.p[i]);
    }
    model.bodies.push_back(std::move(body));
    return static_cast<int>(model.bodies.size()) - 1;
  }
  int AddRigid(const Geometry& geometry, const RigidTransform& X_WB,
               Motion motion = Motion::kFree) {
    return AddRigid(std::vector<Shape>{Shape{{}, geometry}}, X_WB, motion);
  }

  // Adds the surface of a closed mesh, with every vertex a node.
  int AddSoft(const TriangleMesh& surface, const RigidTransform& X_WB) {
    Body body;
    body.X_WB = X_WB;
    body.block = AddBlock(static_cast<int>(surface.vertices.size()));
    body.surface.triangles = surface.triangles;
    for (std::size_t i = 0; i < surface.vertices.size(); ++i) {
      body.surface.vertices.push_back(static_cast<int>(i));
      const Eigen::Vector3d p = X_WB * surface.vertices[i];
      state.q.insert(state.q.end(), p.data(), p.data() + 3);
    }
    model.bodies.push_back(std::move(body));
    return static_cast<int>(model.bodies.size()) - 1;
  }

  // Adds nodes that collide as balls.
  int AddPoints(const std::vector<Eigen::Vector3d>& points, double radius) {
    Body body;
    body.block = AddBlock(static_cast<int>(points.size()));
    for (std::size_t i = 0; i < points.size(); ++i) {
      body.points.nodes.push_back(static_cast<int>(i));
      body.points.radii.push_back(radius);
      state.q.insert(state.q.end(), points[i].data(), points[i].data() + 3);
    }
    model.bodies.push_back(std::move(body));
    return static_cast<int>(model.bodies.size()) - 1;
  }

  // Moves a rigid body.
  void Place(int body, const RigidTransform& X_WB) {
    double* q = state.q.data() + model.position_offsets[model.bodies[body].block];
    for (int i = 0; i < 9; ++i) q[i] = X_WB.R(i % 3, i / 3);
    for (int i = 0; i < 3; ++i) q[9 + i] = X_WB.p[i];
  }

  std::vector<ContactPoint> Detect(double h = 0.01) {
    if (model.position_offsets.size() != model.blocks.size() + 1) model.Finish();
    return ContactDetector(model).Detect(state, h);
  }

 private:
  int AddBlock(int num_nodes) {
    model.blocks.push_back(std::make_shared<PlacedBlock>(num_nodes));
    return static_cast<int>(model.blocks.size()) - 1;
  }
};

inline RigidTransform At(double x, double y, double z) {
  return {Eigen::Matrix3d::Identity(), {x, y, z}};
}
inline RigidTransform Posed(const Eigen::Vector3d& p, const Eigen::Vector3d& rotation) {
  return {RotationFromVector(rotation).toRotationMatrix(), p};
}

// Surface of a box with n × n squares a side, each cut into two triangles.
inline TriangleMesh MakeBoxSurface(const Eigen::Vector3d& size, int n) {
  TriangleMesh mesh;
  const auto vertex = [&](const Eigen::Vector3i& at) {
    const Eigen::Vector3d p =
        (at.cast<double>() / n - Eigen::Vector3d::Constant(0.5)).cwiseProduct(size);
    for (std::size_t i = 0; i < mesh.vertices.size(); ++i)
      if ((mesh.vertices[i] - p).norm() < 1e-9 * size.norm()) return static_cast<int>(i);
    mesh.vertices.push_back(p);
    return static_cast<int>(mesh.vertices.size()) - 1;
  };
  for (int axis = 0; axis < 3; ++axis) {
    for (int side = 0; side < 2; ++side) {
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          int corners[4];
          for (int c = 0; c < 4; ++c) {
            Eigen::Vector3i at;
            at[axis] = side * n;
            at[(axis + 1) % 3] = i + (c == 1 || c == 2);
            at[(axis + 2) % 3] = j + (c >= 2);
            corners[c] = vertex(at);
          }
          if (side == 0) std::swap(corners[1], corners[3]);
          mesh.triangles.push_back({corners[0], corners[1], corners[2]});
          mesh.triangles.push_back({corners[0], corners[2], corners[3]});
        }
      }
    }
  }
  return mesh;
}

// Surface of a ball with 20 · 4^levels triangles.
inline TriangleMesh MakeBallSurface(double radius, int levels) {
  const double g = 1.6180339887498949;
  TriangleMesh mesh;
  for (double s : {-1.0, 1.0})
    for (double t : {-g, g}) {
      mesh.vertices.push_back({0, s, t});
      mesh.vertices.push_back({s, t, 0});
      mesh.vertices.push_back({t, 0, s});
    }
  const int n = 12;
  for (int i = 0; i < n; ++i)
    for (int j = i + 1; j < n; ++j)
      for (int k = j + 1; k < n; ++k) {
        const auto near = [&](int p, int q) {
          return (mesh.vertices[p] - mesh.vertices[q]).norm() < 2.1;
        };
        if (!near(i, j) || !near(j, k) || !near(i, k)) continue;
        const double volume = mesh.vertices[i].dot(mesh.vertices[j].cross(mesh.vertices[k]));
        mesh.triangles.push_back(volume > 0 ? std::array{i, j, k} : std::array{i, k, j});
      }
  for (int level = 0; level < levels; ++level) {
    TriangleMesh finer{mesh.vertices, {}};
    std::vector<std::array<int, 3>> known;
    const auto middle = [&](int a, int b) {
      for (const auto& m : known)
        if (m[0] == std::min(a, b) && m[1] == std::max(a, b)) return m[2];
      finer.vertices.push_back(0.5 * (mesh.vertices[a] + mesh.vertices[b]));
      known.push_back(
          {std::min(a, b), std::max(a, b), static_cast<int>(finer.vertices.size()) - 1});
      return known.back()[2];
    };
    for (const auto& t : mesh.triangles) {
      const int ab = middle(t[0], t[1]), bc = middle(t[1], t[2]), ca = middle(t[2], t[0]);
      finer.triangles.insert(finer.triangles.end(),
                             {{t[0], ab, ca}, {ab, t[1], bc}, {ca, bc, t[2]}, {ab, bc, ca}});
    }
    mesh = finer;
  }
  for (Eigen::Vector3d& p : mesh.vertices) p *= radius / p.norm();
  return mesh;
}

}  // namespace pliant::physics
