#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// Spatial vectors in world axes about a point O that is said where they are used, angular part first. A motion holds ω and
// the velocity (or α and the acceleration) of the body's point at O; a force holds the torque about O and the force.
struct SpatialVector {
  Eigen::Vector3d angular = Eigen::Vector3d::Zero();
  Eigen::Vector3d linear = Eigen::Vector3d::Zero();

  SpatialVector& operator+=(const SpatialVector& b) {
    angular += b.angular;
    linear += b.linear;
    return *this;
  }
  SpatialVector& operator-=(const SpatialVector& b) {
    angular -= b.angular;
    linear -= b.linear;
    return *this;
  }
};

inline SpatialVector operator+(SpatialVector a, const SpatialVector& b) {
  return a += b;
}
inline SpatialVector operator-(SpatialVector a, const SpatialVector& b) {
  return a -= b;
}
inline SpatialVector operator*(double s, const SpatialVector& a) {
  return {s * a.angular, s * a.linear};
}

// Power of a force on a motion.
inline double Dot(const SpatialVector& a, const SpatialVector& b) {
  return a.angular.dot(b.angular) + a.linear.dot(b.linear);
}

// A force about O, about the point from which O lies at r.
inline SpatialVector MoveForce(const SpatialVector& F, const Eigen::Vector3d& r) {
  return {F.angular + r.cross(F.linear), F.linear};
}

// A motion at O, of the body's point that lies at r from O. Of accelerations: without what velocities add.
inline SpatialVector MoveMotion(const SpatialVector& V, const Eigen::Vector3d& r) {
  return {V.angular, V.linear + V.angular.cross(r)};
}

// Inertia of a rigid body about O; those of several bodies about one point add.
struct SpatialInertia {
  double mass = 0;                                     // [kg]
  Eigen::Vector3d first = Eigen::Vector3d::Zero();     // mass · p_OBcm [kg·m]
  Eigen::Vector3d diagonal = Eigen::Vector3d::Zero();  // I_xx, I_yy, I_zz about O [kg·m²]
  Eigen::Vector3d products = Eigen::Vector3d::Zero();  // I_yz, I_xz, I_xy

  SpatialInertia& operator+=(const SpatialInertia& b) {
    mass += b.mass;
    first += b.first;
    diagonal += b.diagonal;
    products += b.products;
    return *this;
  }

  // Momentum at the motion V, or force at an acceleration.
  SpatialVector operator*(const SpatialVector& V) const {
    const Eigen::Vector3d& w = V.angular;
    const Eigen::Vector3d Iw(diagonal[0] * w[0] + products[2] * w[1] + products[1] * w[2],
                             products[2] * w[0] + diagonal[1] * w[1] + products[0] * w[2],
                             products[1] * w[0] + products[0] * w[1] + diagonal[2] * w[2]);
    return {Iw + first.cross(V.linear), mass * V.linear - first.cross(w)};
  }

  // About the point from which O lies at r.
  SpatialInertia MovedBy(const Eigen::Vector3d& r) const {
    const Eigen::Vector3d u = first + (0.5 * mass) * r;
    const Eigen::Vector3d ur = u.cwiseProduct(r);
    return {mass,
            first + mass * r,
            {diagonal[0] + 2 * (ur[1] + ur[2]), diagonal[1] + 2 * (ur[2] + ur[0]),
             diagonal[2] + 2 * (ur[0] + ur[1])},
            {products[0] - (u[1] * r[2] + u[2] * r[1]), products[1] - (u[0] * r[2] + u[2] * r[0]),
             products[2] - (u[0] * r[1] + u[1] * r[0])}};
  }

  Eigen::Matrix3d rotational() const {
    Eigen::Matrix3d I;
    I << diagonal[0], products[2], products[1], products[2], diagonal[1], products[0], products[1],
        products[0], diagonal[2];
    return I;
  }
};

}  // namespace pliant::physics
