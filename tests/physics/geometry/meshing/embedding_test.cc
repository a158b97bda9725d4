#include "physics/geometry/meshing/embedding.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include <Eigen/LU>

#include "physics/geometry/meshing/tetrahedral_meshes.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

Vector3d PlaceOf(const Embedding& embedding, std::size_t i, const std::vector<Vector3d>& nodes) {
  Vector3d p = Vector3d::Zero();
  for (int k = 0; k < 4; ++k) p += embedding.weights[i][k] * nodes[embedding.nodes[i][k]];
  return p;
}

std::vector<Vector3d> RandomPoints(double reach, int count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-reach, reach);
  std::vector<Vector3d> points;
  for (int i = 0; i < count; ++i)
    points.emplace_back(number(random), number(random), number(random));
  return points;
}

TEST(Embedding, PointsInsideHavePositiveWeightsAndTheirOwnPlace) {
  const TetrahedralMesh mesh = *MeshBox({2, 2, 2}, 0.4);
  std::vector<Vector3d> points = RandomPoints(0.999, 500);
  for (const Vector3d& p : mesh.vertices) points.push_back(p);  // on faces, edges and vertices
  const Embedding embedding = EmbedPoints(points, mesh, ExtractBoundary(mesh));
  ASSERT_EQ(embedding.nodes.size(), points.size());
  EXPECT_EQ(embedding.max_distance, 0);
  for (std::size_t i = 0; i < points.size(); ++i) {
    // rounding of weights near 1 in a mesh 2 m large
    EXPECT_LT((PlaceOf(embedding, i, mesh.vertices) - points[i]).norm(), 1e-14);
    EXPECT_NEAR(embedding.weights[i].sum(), 1, 1e-15);
    EXPECT_GT(embedding.weights[i].minCoeff(), -1e-9);
  }
}

TEST(Embedding, PointsOutsideMoveWithTheBoundaryNearThem) {
  const TetrahedralMesh mesh = *MeshSphere(1, 0.4);
  std::vector<Vector3d> points;
  for (const Vector3d& p : RandomPoints(1, 300)) points.push_back(1.05 * p.normalized());
  const Embedding embedding = EmbedPoints(points, mesh, ExtractBoundary(mesh));
  EXPECT_GT(embedding.max_distance, 0.049);  // the mesh lies within the ball
  EXPECT_LT(embedding.max_distance, 0.15);
  // an affine motion of the nodes moves every point as it does all of space
  Eigen::Matrix3d F;
  F << 1.5, 0.2, 0, 0, 0.5, 0.1, -0.3, 0, 2;
  std::vector<Vector3d> moved;
  for (const Vector3d& p : mesh.vertices) moved.push_back(F * p + Vector3d(1, 2, 3));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Vector3d expected = F * points[i] + Vector3d(1, 2, 3);
    EXPECT_LT((PlaceOf(embedding, i, moved) - expected).norm(), 1e-13);
    for (const int node : embedding.nodes[i])
      EXPECT_LT((mesh.vertices[node] - points[i]).norm(), 1.2);  // one or two edges
  }
}

}  // namespace
}  // namespace pliant::physics
