#pragma once

#include <Eigen/Core>

#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// Three numbers in the four lanes of a vector register, the last lane zero. Operations are lane by
// lane, so results are bitwise those of plain doubles.
using Lanes = double __attribute__((vector_size(32)));

inline Lanes ToLanes(const Eigen::Vector3d& v) {
  return Lanes{v[0], v[1], v[2], 0};
}
inline Eigen::Vector3d ToVector(Lanes v) {
  return {v[0], v[1], v[2]};
}
template <int lane>
Lanes Splat(Lanes v) {
  return __builtin_shufflevector(v, v, lane, lane, lane, lane);
}
inline Lanes Cross(Lanes a, Lanes b) {
  const Lanes a_yzx = __builtin_shufflevector(a, a, 1, 2, 0, 3);
  const Lanes b_yzx = __builtin_shufflevector(b, b, 1, 2, 0, 3);
  const Lanes c = a * b_yzx - a_yzx * b;
  return __builtin_shufflevector(c, c, 1, 2, 0, 3);
}
inline double Dot(Lanes a, Lanes b) {
  const Lanes c = a * b;
  return c[0] + c[1] + c[2];
}

// A 3 × 3 matrix by columns.
struct LaneMatrix {
  Lanes columns[3] = {};

  Lanes operator*(Lanes v) const {
    return columns[0] * Splat<0>(v) + columns[1] * Splat<1>(v) + columns[2] * Splat<2>(v);
  }
  Lanes operator*(const Eigen::Vector3d& v) const {
    return columns[0] * v[0] + columns[1] * v[1] + columns[2] * v[2];
  }
  LaneMatrix operator*(const Eigen::Matrix3d& B) const {
    LaneMatrix C;
    for (int j = 0; j < 3; ++j)
      C.columns[j] = columns[0] * B(0, j) + columns[1] * B(1, j) + columns[2] * B(2, j);
    return C;
  }
  LaneMatrix& operator+=(const LaneMatrix& B) {
    for (int j = 0; j < 3; ++j) columns[j] += B.columns[j];
    return *this;
  }
};
inline LaneMatrix ToLaneMatrix(const Eigen::Matrix3d& A) {
  return {{ToLanes(A.col(0)), ToLanes(A.col(1)), ToLanes(A.col(2))}};
}
inline Eigen::Matrix3d ToMatrix(const LaneMatrix& A) {
  Eigen::Matrix3d B;
  for (int j = 0; j < 3; ++j) B.col(j) = ToVector(A.columns[j]);
  return B;
}
// A Bᵀ
inline LaneMatrix MultiplyTransposed(const LaneMatrix& A, const LaneMatrix& B) {
  return {{A.columns[0] * Splat<0>(B.columns[0]) + A.columns[1] * Splat<0>(B.columns[1]) +
               A.columns[2] * Splat<0>(B.columns[2]),
           A.columns[0] * Splat<1>(B.columns[0]) + A.columns[1] * Splat<1>(B.columns[1]) +
               A.columns[2] * Splat<1>(B.columns[2]),
           A.columns[0] * Splat<2>(B.columns[0]) + A.columns[1] * Splat<2>(B.columns[1]) +
               A.columns[2] * Splat<2>(B.columns[2])}};
}

// Spatial vectors in world axes about a point O that each use states, angular part first. A motion
// holds ω and the velocity (or α and the acceleration) of the body's point at O; a force holds the
// torque about O and the force.
struct SpatialVector {
  Lanes angular = {};
  Lanes linear = {};

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
  const Lanes c = a.angular * b.angular + a.linear * b.linear;
  return c[0] + c[1] + c[2];
}

// Moves a force about O to the point from which O lies at r.
inline SpatialVector MoveForce(const SpatialVector& F, Lanes r) {
  return {F.angular + Cross(r, F.linear), F.linear};
}

// Moves a motion at O to the body's point at r from O. For accelerations, velocity-dependent terms
// are left out.
inline SpatialVector MoveMotion(const SpatialVector& V, Lanes r) {
  return {V.angular, V.linear + Cross(V.angular, r)};
}

// Inertia of a rigid body about O; inertias of several bodies about one point add.
struct SpatialInertia {
  double mass = 0;        // [kg]
  Lanes first = {};       // mass · p_OBcm [kg·m]
  LaneMatrix rotational;  // [kg·m²]

  SpatialInertia& operator+=(const SpatialInertia& b) {
    mass += b.mass;
    first += b.first;
    rotational += b.rotational;
    return *this;
  }

  // Momentum at the motion V, or force at an acceleration.
  SpatialVector operator*(const SpatialVector& V) const {
    return {rotational * V.angular + Cross(first, V.linear),
            mass * V.linear - Cross(first, V.angular)};
  }

  // The inertia about the point from which O lies at r.
  SpatialInertia MovedBy(Lanes r) const {
    const Lanes u = first + (0.5 * mass) * r;
    const double trace = 2 * Dot(u, r);
    SpatialInertia moved{mass, first + mass * r, rotational};
    Lanes* I = moved.rotational.columns;
    I[0] += Lanes{trace, 0, 0, 0} - (u * Splat<0>(r) + r * Splat<0>(u));
    I[1] += Lanes{0, trace, 0, 0} - (u * Splat<1>(r) + r * Splat<1>(u));
    I[2] += Lanes{0, 0, trace, 0} - (u * Splat<2>(r) + r * Splat<2>(u));
    return moved;
  }
};

}  // namespace pliant::physics
