#include "physics/mpm/plastic_flow.h"

#include <algorithm>

#include "physics/dynamics/parallel.h"
#include "physics/mpm/kernel.h"

namespace pliant::physics {

using Eigen::Matrix3d;

namespace {

constexpr int kFlowCellsPerTask = 4;

}  // namespace

PlasticFlow::PlasticFlow(const ParticleModel* model, const ParticleTransfer* transfer)
    : model_(*model), transfer_(*transfer) {
  const bool is_any = std::ranges::any_of(
      model->bodies, [](const ParticleBody& body) { return body.material->yields(); });
  if (is_any) directions_.resize(model->num_particles);
}

void PlasticFlow::Start() {
  std::ranges::fill(directions_, Matrix3d::Zero());
}

void PlasticFlow::Advance(int particle, const Matrix3d& H, const Matrix3d& change) {
  if (directions_.empty()) return;
  model_.material_of(particle).AdvanceFlow(
      model_.parameters_of(particle), transfer_.start(particle), H, change, &directions_[particle]);
}

// An update by nothing gives the direction at H, whatever the estimate was.
void PlasticFlow::Set(std::span<const double> v, double h) {
  zero_.assign(directions_.empty() ? 0 : v.size(), 0.0);
  Advance(v, zero_, h);
}

void PlasticFlow::Advance(std::span<const double> v, std::span<const double> change, double h) {
  if (directions_.empty()) return;
  const std::span<const ActiveGrid::Cell> cells = transfer_.grid().cells();
  ParallelFor(static_cast<int>(cells.size()), kFlowCellsPerTask, [&](int c) {
    const ActiveGrid::Cell& cell = cells[c];
    NodeVectors nodes, along;
    ParticleTransfer::Gather(cell, v, &nodes);
    ParticleTransfer::Gather(cell, change, &along);
    for (int i = cell.first; i < cell.first + cell.count; ++i) {
      const int p = transfer_.particle_at(i);
      const Kernel kernel = transfer_.MakeKernel(p, cell);
      Advance(p, h * InterpolateGradient(kernel, nodes), h * InterpolateGradient(kernel, along));
    }
  });
}

void PlasticFlow::Respond(int particle, const Matrix3d& H, ParticleResponse* response) const {
  const Matrix3d flow = directions_.empty() ? Matrix3d::Zero() : directions_[particle];
  model_.material_of(particle).RespondAlongFlow(model_.parameters_of(particle),
                                                transfer_.start(particle), H, flow, response);
}

}  // namespace pliant::physics
