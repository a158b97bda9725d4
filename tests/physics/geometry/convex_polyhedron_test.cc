#include "physics/geometry/convex_polyhedron.h"

#include <cmath>

#include <Eigen/Geometry>
#include <gtest/gtest.h>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A box whose side in +x is twisted by rounding, cut along one diagonal or the other.
TriangleMesh MakeTwistedBox(bool other_diagonal) {
  TriangleMesh box;
  for (int i = 0; i < 8; ++i) box.vertices.emplace_back(i & 1, i >> 1 & 1, i >> 2);
  box.vertices[3].x() += 1e-7;
  box.triangles = {{0, 4, 6}, {0, 6, 2}, {0, 1, 5}, {0, 5, 4}, {2, 6, 7},
                   {2, 7, 3}, {0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}};
  if (other_diagonal) {
    box.triangles.insert(box.triangles.end(), {{1, 3, 5}, {3, 7, 5}});
  } else {
    box.triangles.insert(box.triangles.end(), {{1, 3, 7}, {1, 7, 5}});
  }
  return box;
}

TEST(ConvexPolyhedron, NormalsDoNotDependOnHowFacesAreCut) {
  Vector3d normals[2];
  for (const bool other : {false, true}) {
    const ConvexPolyhedron polyhedron = MakeHullPolyhedron(MakeTwistedBox(other));
    ASSERT_EQ(polyhedron.num_faces(), 6);
    for (const Vector3d& n : polyhedron.normals)
      if (n.x() > 0.9) normals[other] = n;
  }
  EXPECT_LT((normals[1] - normals[0]).norm(), 1e-15);
  // tilted by half of what a triangle with the displaced corner is
  EXPECT_NEAR(normals[0].y(), -0.5e-7, 1e-12);
  EXPECT_NEAR(normals[0].z(), 0.5e-7, 1e-12);
}

}  // namespace
}  // namespace pliant::physics
