#include <cmath>

#include <gtest/gtest.h>

#include "tests/physics/geometry/sample_shapes.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

TEST(MassProperties, MeshOfABoxIsTheBox) {
  const Vector3d half(0.3, 0.5, 0.7);
  TriangleMesh mesh = MakeBoxHull(half);
  const Vector3d offset(3, -2, 1);
  const Matrix3d R = RotationFromVector({0.3, -0.7, 0.2}).toRotationMatrix();
  for (Vector3d& p : mesh.vertices) p = R * p + offset;
  const MassProperties expected = CalcMassProperties(Box{half});
  const MassProperties found = CalcMassProperties(MakeSurfaceMesh(mesh));
  // coordinates are below 4, so squares lose 16 ulp against the unit scale of the tensor
  EXPECT_NEAR(found.volume, expected.volume, 1e-14);
  EXPECT_NEAR((found.center - offset).norm(), 0, 1e-14);
  EXPECT_NEAR((found.inertia - R * expected.inertia * R.transpose()).norm(), 0, 1e-14);
}

TEST(MassProperties, KnownSolids) {
  const MassProperties box = CalcMassProperties(Box{{0.5, 1, 1.5}});
  EXPECT_NEAR(box.volume, 6, 1e-15);
  EXPECT_NEAR((box.inertia.diagonal() - Vector3d(4 + 9, 1 + 9, 1 + 4) * 6 / 12).norm(), 0, 1e-14);

  const MassProperties ball = CalcMassProperties(Sphere{2});
  EXPECT_NEAR(ball.volume, 32 * kPi / 3, 1e-13);
  EXPECT_NEAR(ball.inertia(0, 0), 0.4 * ball.volume * 4, 1e-13);

  const MassProperties cylinder = CalcMassProperties(Cylinder{0.5, 2});
  EXPECT_NEAR(cylinder.inertia(2, 2), 0.5 * cylinder.volume * 0.25, 1e-15);
  EXPECT_NEAR(cylinder.inertia(0, 0), cylinder.volume * (3 * 0.25 + 4) / 12, 1e-15);

  const MassProperties ellipsoid = CalcMassProperties(Ellipsoid{{1, 2, 3}});
  EXPECT_NEAR(ellipsoid.inertia(0, 0), ellipsoid.volume * 13 / 5, 1e-13);

  EXPECT_EQ(CalcMassProperties(HalfSpace{}).volume, 0);
}

TEST(MassProperties, ByCountingCells) {
  // cells cut by the surface count partially, so the error is of second order in the cell over the
  // smallest radius, 0.25
  constexpr int kCells = 60;
  constexpr double kHalf = 1, kCell = 2 * kHalf / kCells;
  constexpr double kError = (kCell / 0.25) * (kCell / 0.25);
  for (const NamedShape& shape : MakeSampleShapes()) {
    if (std::holds_alternative<HalfSpace>(shape.geometry)) continue;
    double volume = 0;
    Matrix3d second = Matrix3d::Zero();
    Vector3d first = Vector3d::Zero();
    for (int i = 0; i < kCells; ++i)
      for (int j = 0; j < kCells; ++j)
        for (int k = 0; k < kCells; ++k) {
          const Vector3d p =
              Vector3d(i + 0.5, j + 0.5, k + 0.5) * kCell - Vector3d::Constant(kHalf);
          const double distance = CalcSignedDistance(shape.geometry, p).distance;
          const double part = std::clamp(0.5 - distance / kCell, 0.0, 1.0) * kCell * kCell * kCell;
          volume += part;
          first += part * p;
          second += part * p * p.transpose();
        }
    const MassProperties found = CalcMassProperties(shape.geometry);
    const Matrix3d inertia = second.trace() * Matrix3d::Identity() - second;
    EXPECT_NEAR(found.volume / volume, 1, kError) << shape.name;
    EXPECT_NEAR((found.center - first / volume).norm(), 0, 1e-4) << shape.name;
    EXPECT_NEAR((found.inertia - inertia).norm() / inertia.norm(), 0, kError) << shape.name;
  }
}

TEST(Bounds, HoldTheShapeAndNoMore) {
  std::mt19937 random(11);
  for (const NamedShape& shape : MakeSampleShapes()) {
    if (std::holds_alternative<HalfSpace>(shape.geometry)) continue;
    for (int sample = 0; sample < 20; ++sample) {
      RigidTransform X_WS;
      X_WS.R = RotationFromVector(RandomPoint(&random, 3)).toRotationMatrix();
      X_WS.p = RandomPoint(&random, 2);
      const AxisAlignedBox box = CalcBounds(shape.geometry, X_WS);
      for (int axis = 0; axis < 3; ++axis) {
        for (double side : {1.0, -1.0}) {
          // the surface point nearest to a far point on the axis lies close to that side of the box
          const double far = 1e5;
          const Vector3d p_W = X_WS.p + side * far * Vector3d::Unit(axis);
          const Vector3d x =
              X_WS * CalcSignedDistance(shape.geometry, X_WS.Inverse() * p_W).nearest;
          const double bound = side > 0 ? box.upper[axis] : -box.lower[axis];
          // a sphere about the far point deviates from a plane by d²/(2 far) over the shape's width
          // d < 3
          EXPECT_NEAR(side * x[axis], bound, 5e-5) << shape.name;
          EXPECT_LE(side * x[axis], bound + 1e-10) << shape.name;
        }
      }
    }
  }
  const AxisAlignedBox ground = CalcBounds(HalfSpace{}, {Matrix3d::Identity(), {0, 0, 2}});
  EXPECT_EQ(ground.upper, Vector3d(1e6, 1e6, 2));
}

}  // namespace
}  // namespace pliant::physics
