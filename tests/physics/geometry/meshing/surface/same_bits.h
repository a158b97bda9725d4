#pragma once

#include <utility>

#include "gtest/gtest.h"

#include "physics/geometry/meshing/surface/surface_meshing.h"
#include "tests/execute_on_threads.h"

namespace pliant::physics {

// Fills a surface with one thread and with two.
inline void ExpectSameBitsForOneAndTwoThreads(const TriangleMesh& surface,
                                              const SurfaceMeshing& options) {
  MeshedSurface results[2];
  for (const int threads : {1, 2}) {
    auto meshed = ExecuteOnThreads(threads, [&] { return MeshSurface(surface, options); });
    ASSERT_TRUE(meshed.ok()) << meshed.status();
    results[threads - 1] = *std::move(meshed);
  }
  EXPECT_EQ(results[0].mesh.tetrahedra, results[1].mesh.tetrahedra);
  EXPECT_TRUE(results[0].mesh.vertices == results[1].mesh.vertices);
  EXPECT_FALSE(results[0].mesh.tetrahedra.empty());
}

}  // namespace pliant::physics
