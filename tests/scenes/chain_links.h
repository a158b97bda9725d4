#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {

// Centre line of a link of scenes/chain.yaml: the first vertex of each of its slices.
inline std::vector<Eigen::Vector3d> CentreLine(const World& world, int link) {
  constexpr int kSlices = 42, kVerticesOfSlice = 7;
  const Model& model = world.model();
  const int body = FindBody(model, absl::StrCat("link_", link));
  const auto q = model.Positions(world.state(), model.bodies[body].block);
  std::vector<Eigen::Vector3d> line;
  for (int i = 0; i < kSlices; ++i) line.push_back(VectorAt(q, 3 * kVerticesOfSlice * i));
  return line;
}

// Linking number of the closed curves `a` and `b`: the signed number of times that `b` passes
// through a disc spanned by `a`.
inline int CalcLinkingNumber(const std::vector<Eigen::Vector3d>& a,
                             const std::vector<Eigen::Vector3d>& b) {
  using Eigen::Vector3d;
  Vector3d center = Vector3d::Zero();
  for (const Vector3d& p : a) center += p / static_cast<double>(a.size());
  const auto volume = [](const Vector3d& p, const Vector3d& q, const Vector3d& r,
                         const Vector3d& s) { return (q - p).cross(r - p).dot(s - p); };
  int number = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Vector3d &p = a[i], &q = a[(i + 1) % a.size()];
    for (std::size_t j = 0; j < b.size(); ++j) {
      const Vector3d &from = b[j], &to = b[(j + 1) % b.size()];
      const double before = volume(center, p, q, from), after = volume(center, p, q, to);
      if ((before > 0) == (after > 0)) continue;
      // side of each triangle edge on which the segment passes
      const bool s = volume(from, to, center, p) > 0, t = volume(from, to, p, q) > 0,
                 u = volume(from, to, q, center) > 0;
      if (s == t && t == u) number += after > 0 ? 1 : -1;
    }
  }
  return number;
}

// Expects every link to hang in the next one, and no element to be inverted.
inline void ExpectLinked(const World& world, int links) {
  for (int i = 0; i + 1 < links; ++i) {
    EXPECT_EQ(std::abs(CalcLinkingNumber(CentreLine(world, i), CentreLine(world, i + 1))), 1)
        << "links " << i << " and " << i + 1 << " at " << world.state().time << " s";
  }
  for (int i = 0; i + 2 < links; ++i)
    EXPECT_EQ(CalcLinkingNumber(CentreLine(world, i), CentreLine(world, i + 2)), 0) << i;
  for (const Body& body : world.model().bodies) {
    if (world.model().abilities_of(body).nodes == nullptr) continue;
    const DynamicsBlock& block = *world.model().blocks[body.block];
    std::vector<double> ratios(block.abilities().elements->num_elements());
    block.abilities().elements->CalcElementField(
        FieldMeasure::kVolumeRatio, world.model().StateOf(world.state(), body.block), ratios);
    for (const double ratio : ratios) ASSERT_GT(ratio, 0) << body.name;
  }
}

}  // namespace pliant::physics
