#include "server/run/recording/tessellation.h"

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace pliant::server {
namespace {

using Eigen::Vector3d;
using physics::TriangleMesh;

constexpr int kMeridians = 32;

// Radius and height of a profile's points, from bottom to top.
using Profile = std::vector<std::array<double, 2>>;

// Surface of revolution about z, closed if both ends of the profile have radius zero.
TriangleMesh Revolve(const Profile& profile) {
  TriangleMesh mesh;
  for (const auto& [radius, z] : profile) {
    for (int k = 0; k < kMeridians; ++k) {
      const double angle = 2 * std::numbers::pi * k / kMeridians;
      mesh.vertices.push_back({radius * std::cos(angle), radius * std::sin(angle), z});
    }
  }
  for (int ring = 0; ring + 1 < static_cast<int>(profile.size()); ++ring) {
    for (int k = 0; k < kMeridians; ++k) {
      const int a = ring * kMeridians + k, b = ring * kMeridians + (k + 1) % kMeridians;
      const int c = a + kMeridians, d = b + kMeridians;
      if (profile[ring][0] > 0) mesh.triangles.push_back({a, b, d});
      if (profile[ring + 1][0] > 0) mesh.triangles.push_back({a, d, c});
    }
  }
  return mesh;
}

// Appends an arc from latitude `from` to `to` of a circle centred at height z.
void AppendArc(double radius, double z, double from, double to, Profile* profile) {
  constexpr int kSteps = 8;
  for (int k = 0; k <= kSteps; ++k) {
    const double latitude = from + (to - from) * k / kSteps;
    const double r = radius * std::cos(latitude);
    profile->push_back({r < 1e-12 * radius ? 0.0 : r, z + radius * std::sin(latitude)});
  }
}

struct Tessellator {
  TriangleMesh operator()(const physics::Sphere& s) const { return Ball(s.radius, 0); }

  TriangleMesh operator()(const physics::Capsule& c) const { return Ball(c.radius, c.length / 2); }

  TriangleMesh operator()(const physics::Cylinder& c) const {
    const double z = c.length / 2;
    return Revolve({{0, -z}, {c.radius, -z}, {c.radius, z}, {0, z}});
  }

  TriangleMesh operator()(const physics::Ellipsoid& e) const {
    TriangleMesh mesh = Ball(1, 0);
    for (Vector3d& vertex : mesh.vertices) vertex = vertex.cwiseProduct(e.radii);
    return mesh;
  }

  TriangleMesh operator()(const physics::Box& box) const {
    TriangleMesh mesh;
    for (int i = 0; i < 8; ++i) {
      const Vector3d corner(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1);
      mesh.vertices.push_back(corner.cwiseProduct(box.half_size));
    }
    mesh.triangles = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                      {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
    return mesh;
  }

  TriangleMesh operator()(const physics::HalfSpace&) const {
    return {{{-2, -2, 0}, {2, -2, 0}, {2, 2, 0}, {-2, 2, 0}}, {{0, 1, 2}, {0, 2, 3}}};
  }

  TriangleMesh operator()(const physics::ConvexMesh& mesh) const { return *mesh.hull; }
  TriangleMesh operator()(const physics::SurfaceMesh& mesh) const { return *mesh.mesh; }

  // A ball whose halves are moved apart along z by `half_length` each.
  static TriangleMesh Ball(double radius, double half_length) {
    const double quarter = std::numbers::pi / 2;
    Profile profile;
    AppendArc(radius, -half_length, -quarter, 0, &profile);
    AppendArc(radius, half_length, half_length > 0 ? 0 : quarter / 8, quarter, &profile);
    return Revolve(profile);
  }
};

}  // namespace

TriangleMesh Tessellate(const physics::Geometry& geometry) {
  return std::visit(Tessellator{}, geometry);
}

}  // namespace pliant::server
