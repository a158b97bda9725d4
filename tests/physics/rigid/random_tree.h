#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <Eigen/Geometry>

#include "physics/rigid/joint_tree.h"

namespace pliant::physics {

// Random trees, configurations and velocities without any symmetry that could hide a mistake. A
// seed gives the same ones on every machine.
class RandomTrees {
 public:
  explicit RandomTrees(std::uint64_t seed) : engine_(seed) {}

  double Uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }
  int Below(int n) { return static_cast<int>(engine_() % n); }
  Eigen::Vector3d Vector(double size = 1) {
    const double x = Uniform(-size, size), y = Uniform(-size, size);
    return {x, y, Uniform(-size, size)};
  }
  Eigen::Vector3d Unit() {
    // every third axis is a frame axis, of either sign
    if (Below(3) == 0) {
      const double sign = Uniform(-1, 1) < 0 ? -1 : 1;
      return sign * Eigen::Vector3d::Unit(Below(3));
    }
    return (Vector() + Eigen::Vector3d(0, 0, 1e-3)).normalized();
  }
  Eigen::Matrix3d Rotation() { return RotationFromVector(Vector(2)).toRotationMatrix(); }
  RigidTransform Pose(double size = 0.5) { return {Rotation(), Vector(size)}; }

  // Sets a random mass and centre of mass, and the inertia of four points.
  void SetInertia(Link* link) {
    link->mass = Uniform(0.1, 3);
    link->p_BoBcm = Vector(0.2);
    link->inertia.setZero();
    for (int k = 0; k < 4; ++k) {
      const Eigen::Matrix3d r = CrossMatrix(Vector(0.3));
      link->inertia -= link->mass / 4 * r * r;
    }
  }

  Link MakeLink(int index, int parent, JointType type) {
    Link link;
    link.name = "link" + std::to_string(index);
    link.parent = parent;
    link.joint.name = "joint" + std::to_string(index);
    link.joint.type = type;
    link.joint.X_PF = Pose();
    if (Below(2) == 0) link.joint.X_BM = Pose();
    link.joint.axis = Unit();
    do {
      link.joint.axis2 = Unit();
    } while (std::abs(link.joint.axis.dot(link.joint.axis2)) > 0.9);
    link.joint.pitch = Uniform(-0.5, 0.5);
    if (Below(3) == 0) {
      link.joint.rotor_inertia = Uniform(0, 1e-3);
      link.joint.gear_ratio = Uniform(1, 20);
    }
    SetInertia(&link);
    return link;
  }

  // A tree of `count` joints of every type; `root` is the joint between the first link and the
  // world.
  std::vector<Link> Links(int count, JointType root) {
    std::vector<Link> links{MakeLink(0, -1, root)};
    for (int i = 1; i < count; ++i) {
      // chains as well as bushes, and sometimes a second tree
      const int parent = Below(3) > 0 ? i - 1 : Below(i + 1) - 1;
      links.push_back(MakeLink(i, parent, static_cast<JointType>(Below(CountJointTypes()))));
    }
    return links;
  }

  std::vector<double> Numbers(int n, double size = 1) {
    std::vector<double> x(n);
    for (double& xi : x) xi = Uniform(-size, size);
    return x;
  }
  std::vector<double> Positions(const JointTree& tree) {
    std::vector<double> q(tree.num_positions());
    tree.SetZero(q);
    tree.IntegratePositions(Numbers(tree.num_velocities(), 2), 1, q);
    return q;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace pliant::physics
