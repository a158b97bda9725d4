#include "physics/geometry/meshing/surface/winding_number.h"

#include "gtest/gtest.h"

#include "tests/physics/geometry/meshing/surface/sample_surfaces.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// The error of the dipoles of far nodes, 1 / (2.2)² of their solid angle at most, mostly cancels.
constexpr double kDipoleError = 0.05;

TEST(WindingNumber, CountsHowOftenASurfaceGoesAround) {
  TriangleMesh mesh = MakeSphereSurface(40, 1, 0.2);
  AddSurface(MakeSphereSurface(30, 0.5), Vector3d::Zero(), false, &mesh);
  AddSurface(MakeSphereSurface(30, 0.2), {3, 0, 0}, true, &mesh);
  const WindingNumber winding(mesh);
  EXPECT_NEAR(winding.Calc({0.1, 0.2, 0}), 2, kDipoleError);
  EXPECT_NEAR(winding.Calc({0, 0, 0.7}), 1, kDipoleError);
  EXPECT_NEAR(winding.Calc({0, 0, 1.1}), 0, kDipoleError);
  EXPECT_NEAR(winding.Calc({3, 0, 0.1}), -1, kDipoleError);
  EXPECT_NEAR(winding.Calc({50, 20, 10}), 0, 1e-3);
}

TEST(WindingNumber, JumpsByOneAcrossATriangle) {
  const TriangleMesh mesh = MakeSphereSurface(20);
  const WindingNumber winding(mesh);
  for (std::size_t i = 0; i < mesh.triangles.size(); i += 7) {
    const auto& t = mesh.triangles[i];
    const Vector3d p = (mesh.vertices[t[0]] + mesh.vertices[t[1]] + mesh.vertices[t[2]]) / 3;
    EXPECT_NEAR(winding.Calc(0.9999 * p) - winding.Calc(1.0001 * p), 1, 0.01);
  }
}

TEST(WindingNumber, OfHalfASphereIsAHalfAtItsCentre) {
  TriangleMesh mesh = MakeSphereSurface(40);
  std::erase_if(mesh.triangles, [&](const std::array<int, 3>& t) {
    return mesh.vertices[t[0]].z() + mesh.vertices[t[1]].z() + mesh.vertices[t[2]].z() < 0;
  });
  // the error of the dipoles is largest for spherical patches seen from their centre
  EXPECT_NEAR(WindingNumber(mesh).Calc(Vector3d::Zero()), 0.5, kDipoleError);
}

}  // namespace
}  // namespace pliant::physics
