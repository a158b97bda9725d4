#include "physics/contact/geometries/surface_part.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/physics/contact/contact_world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

TriangleSurface PlaceSurface(const ContactWorld& world, int body) {
  const Body& of = world.model.bodies[body];
  TriangleSurface surface(of, *world.model.abilities_of(of).nodes);
  surface.Update(world.model.Positions(world.state, of.block));
  surface.UpdateTree();
  return surface;
}

TEST(FacingTriangles, VisitsThoseThatAreSeenAndHardlyAnyOthers) {
  const double margin = 0.002, deepest = 0.01;
  // balls apart, touching and overlapping; a box in a ball, with triangles of other sizes
  std::vector<ContactWorld> worlds(4);
  for (int i = 0; i < 3; ++i) {
    worlds[i].AddSoft(MakeBallSurface(0.05, 2), At(0, 0, 0));
    worlds[i].AddSoft(MakeBallSurface(0.05, 3),
                      Posed(Vector3d(0.3, -0.5, 0.8) * (0.103 - 0.005 * i), {1, 2, 3}));
  }
  worlds[3].AddSoft(MakeBallSurface(0.05, 3), At(0, 0, 0));
  worlds[3].AddSoft(MakeBoxSurface({0.1, 0.04, 0.1}, 3), Posed({0.02, 0, 0.05}, {0.1, 0.3, 0}));
  int all_seen = 0, all_visited = 0;
  for (ContactWorld& world : worlds) {
    world.model.Finish();
    const TriangleSurface a = PlaceSurface(world, 0), b = PlaceSurface(world, 1);
    AxisAlignedBox around = a.bounds();
    around.Grow(0.02);
    FacingTriangles triangles;
    triangles.Find(b, around);
    for (int i = 0; i < a.num_triangles(); ++i) {
      Vector3d x[3];
      AxisAlignedBox box;
      for (int k = 0; k < 3; ++k) box.Include(x[k] = a.position(a.triangle(i)[k]));
      box.Grow(deepest);
      const Vector3d n_a = a.face_normal(i);
      std::vector<int> seen, visited;
      for (int j = 0; j < b.num_triangles(); ++j) {
        const Vector3d n_b = b.face_normal(j), n = (n_a - n_b).normalized();
        AxisAlignedBox box_b;
        double lowest = 1e9, highest = -1e9;
        Vector3d nearest_side = Vector3d::Constant(1e9);
        for (const int vertex : b.triangle(j)) {
          const Vector3d y = b.position(vertex);
          box_b.Include(y);
          const double gap = n_a.dot(y - x[0]) / n_a.dot(n);
          lowest = std::min(lowest, gap);
          highest = std::max(highest, gap);
          for (int k = 0; k < 3; ++k)
            nearest_side[k] =
                std::min(nearest_side[k], (x[(k + 1) % 3] - x[k]).cross(n).dot(y - x[k]));
        }
        if (box_b.Overlaps(box) && n_a.dot(n_b) <= -0.1 && lowest < margin && highest >= -deepest &&
            nearest_side.maxCoeff() < 0)
          seen.push_back(j);
      }
      triangles.VisitSeen({x, n_a, margin, deepest}, box, [&](int j) { visited.push_back(j); });
      std::sort(visited.begin(), visited.end());
      EXPECT_TRUE(std::includes(visited.begin(), visited.end(), seen.begin(), seen.end())) << i;
      all_seen += static_cast<int>(seen.size());
      all_visited += static_cast<int>(visited.size());
    }
  }
  EXPECT_GT(all_seen, 500);
  // other triangles are visited only because of round-off
  EXPECT_LE(all_visited, all_seen + 10);
}

}  // namespace
}  // namespace pliant::physics
