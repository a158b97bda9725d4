#include "physics/mpm/liquid_walls.h"

#include <algorithm>
#include <array>

#include "physics/mpm/kernel.h"
#include "physics/mpm/particle_transfer.h"
#include "physics/spatial/cube_root.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Cosine of the angle between normals up to which touches belong to one plane.
constexpr double kSamePlane = 0.7;
// Added to the weights of a touch in planes: its kernel may barely reach a node.
constexpr double kMinWeight = 1e-6;
// Limit of CalcWeightFactor: few touches represent a surface badly.
constexpr double kMaxFactor = 3;

// Fraction of the kernel of a node behind a plane at `distance` cells from it. Exact if the plane
// is parallel to the grid.
double CalcPartBehind(double distance) {
  const double t = -distance;
  if (t <= -1.5) return 0;
  if (t >= 1.5) return 1;
  if (t < -0.5) return (t + 1.5) * (t + 1.5) * (t + 1.5) / 6;
  if (t > 0.5) return 1 - (1.5 - t) * (1.5 - t) * (1.5 - t) / 6;
  return 0.5 + 0.75 * t - t * t * t / 3;
}

}  // namespace

LiquidWalls::LiquidWalls(const ParticleModel* model) : model_(*model) {}

void LiquidWalls::Clear() {
  touches_.clear();
  first_touch_.assign(static_cast<std::size_t>(model_.num_particles), -1);
}

void LiquidWalls::Find(const ParticleTransfer& transfer, int block,
                       std::span<const ContactPoint> contacts) {
  Clear();
  const std::size_t num_nodes = static_cast<std::size_t>(transfer.grid().num_nodes());
  planes_.assign(num_nodes, {});
  touched_.assign(num_nodes, Vector3d::Zero());
  for (const ContactPoint& contact : contacts) {
    for (const double sign : {-1.0, 1.0}) {
      const Attachment& side = sign < 0 ? contact.a : contact.b;
      if (side.block != block || side.nodes.size() != 1) continue;
      const int p = model_.particle_of_node[side.nodes.node(0)];
      if (p < 0 || !transfer.is_moving(p) || !model_.material_of(p).is_liquid()) continue;
      Touch touch{p, side.p_W, sign * contact.R_WC.col(2), 0, first_touch_[p]};
      // the point of contact is on the surface, or half-way in a gap or in an overlap
      const double to_contact = touch.normal.dot(transfer.position_of(p) - contact.p_W);
      touch.distance = to_contact + 0.5 * contact.gap;
      first_touch_[p] = static_cast<int>(touches_.size());
      touches_.push_back(touch);
      AddPlane(transfer, touch);
    }
  }
  if (!touches_.empty()) CalcAreas(transfer);
}

const LiquidWalls::Touch* LiquidWalls::FindTouch(int particle, const Vector3d& p_W) const {
  for (int k = first_touch_[particle]; k >= 0; k = touches_[k].next)
    if (touches_[k].p_W == p_W) return &touches_[k];
  return nullptr;
}

double LiquidWalls::CalcOpenPart(int node) const {
  const Planes& planes = planes_[node];
  double closed = 0;
  for (int k = 0; k < planes.count; ++k) {
    const Plane& plane = planes.of[k];
    const double behind = CalcPartBehind(plane.distance / (plane.weight * model_.grid.cell_size));
    bool is_convex = false, is_opposite = false;
    for (int j = 0; j < k; ++j) {
      const Plane& other = planes.of[j];
      const Vector3d offset = plane.point / plane.weight - other.point / other.weight;
      // at the edge of a body, or of a plate, each surface lies behind the other's plane; in the
      // corner of a tank, before it
      is_convex = is_convex || (other.normal.dot(offset) < 0 && plane.normal.dot(offset) > 0);
      is_opposite = is_opposite || other.normal.dot(plane.normal) < -kSamePlane;
    }
    const double both =
        is_opposite ? (is_convex ? std::max(0.0, closed + behind - 1) : 0) : closed * behind;
    closed = is_convex ? both : closed + behind - both;
  }
  return std::max(0.0, 1 - closed);
}

double LiquidWalls::CalcWeightFactor(int node, const Vector3d& n) const {
  const double touched = touched_[node].dot(n);
  return touched > 0 ? std::clamp(boundary_[node].dot(n) / touched, 0.0, kMaxFactor) : 1;
}

void LiquidWalls::AddPlane(const ParticleTransfer& transfer, const Touch& touch) {
  const Vector3d x = transfer.position_of(touch.particle);
  const double size = model_.grid.cell_size;
  const GridIndex cell = FindCell(x, size);
  const Kernel kernel(x, cell, size);
  const std::array<int, kKernelNodes> nodes = transfer.grid().pattern().FindNodesFrom(cell);
  for (int a = 0; a < kKernelNodes; ++a) {
    Planes& planes = planes_[nodes[a]];
    int k = 0;
    while (k < planes.count && !(planes.of[k].normal.dot(touch.normal) >= kSamePlane)) ++k;
    if (k == static_cast<int>(planes.of.size())) continue;
    if (k == planes.count) planes.of[planes.count++] = {touch.normal, Vector3d::Zero(), 0, 0};
    const Vector3d arm(kernel.arm[0][a], kernel.arm[1][a], kernel.arm[2][a]);
    const double weight = kernel.w[a] + kMinWeight;
    planes.of[k].point += weight * (x - touch.distance * touch.normal);
    planes.of[k].distance += weight * (touch.distance + touch.normal.dot(arm));
    planes.of[k].weight += weight;
  }
}

void LiquidWalls::CalcAreas(const ParticleTransfer& transfer) {
  boundary_.assign(planes_.size(), Vector3d::Zero());
  for (const ActiveGrid::Cell& cell : transfer.grid().cells()) {
    NodeVectors sum;
    for (int i = cell.first; i < cell.first + cell.count; ++i) {
      const int p = transfer.particle_at(i);
      const Kernel kernel = transfer.MakeKernel(p, cell);
      for (int r = 0; r < 3; ++r)
        for (int a = 0; a < kPaddedNodes; ++a)
          sum.of[r][a] += model_.particle_volume[p] * kernel.gradient[r][a];
    }
    for (int a = 0; a < kKernelNodes; ++a)
      for (int r = 0; r < 3; ++r) boundary_[cell.nodes[a]][r] -= sum.of[r][a];
  }
  for (const Touch& touch : touches_) {
    const double spacing = CalcCubeRoot(model_.particle_volume[touch.particle]);
    const ParticleTransfer::GridWeights of = transfer.FindGridWeightsAt(touch.p_W, 0);
    for (int k = 0; k < of.count; ++k)
      touched_[of.nodes[k]] += spacing * spacing * of.weights[k] * touch.normal;
  }
}

}  // namespace pliant::physics
