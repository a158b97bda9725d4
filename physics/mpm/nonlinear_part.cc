#include "physics/mpm/nonlinear_part.h"

#include <algorithm>

#include "physics/mpm/kernel.h"

namespace pliant::physics {

using Eigen::Matrix3d;

namespace {

// A : B
double Contract(const Matrix3d& A, const Matrix3d& B) {
  return A.cwiseProduct(B).sum();
}

// D : A
Matrix3d Apply(const Eigen::Matrix<double, 9, 9>& D, const Matrix3d& A) {
  Matrix3d result;
  Eigen::Map<Eigen::Matrix<double, 9, 1>>(result.data()).noalias() =
      D * Eigen::Map<const Eigen::Matrix<double, 9, 1>>(A.data());
  return result;
}

// Remainder of a response beyond its second-order expansion at `start`, with H changed by `change`.
struct Excess {
  Excess(const ParticleResponse& response, const ParticleResponse& start, const Matrix3d& change) {
    const Matrix3d linear = Apply(start.tangent, change);
    energy = response.energy - start.energy - Contract(start.stress + 0.5 * linear, change);
    stress = response.stress - start.stress - linear;
  }
  double energy;
  Matrix3d stress;
};

}  // namespace

NonlinearPart::NonlinearPart(const ParticleModel* model, const ParticleTransfer* transfer,
                             const std::vector<int>* places)
    : model_(*model), transfer_(*transfer), places_(*places) {
  const bool is_convex = std::ranges::all_of(
      model->bodies, [](const ParticleBody& body) { return body.material->is_convex(); });
  for (const ParticleBody& body : model->bodies) {
    const bool is_quadratic = body.material->is_quadratic(model->grid.is_corrected);
    is_nonlinear_ = is_nonlinear_ || !is_quadratic;
    adds_.push_back(is_convex && !is_quadratic);
    is_any_ = is_any_ || adds_.back();
  }
}

void NonlinearPart::Start(double h) {
  h_ = h;
  if (is_nonlinear_) points_.resize(model_.num_particles);
}

template <typename Visit>
void NonlinearPart::ForEachParticle(int cell, const Visit& visit) const {
  const ActiveGrid::Cell& of = transfer_.grid().cells()[cell];
  for (int i = of.first; i < of.first + of.count; ++i) {
    const int p = transfer_.particle_at(i);
    if (adds_[model_.body[p]]) visit(p, transfer_.MakeKernel(p, of), points_[p]);
  }
}

ParticleResponse NonlinearPart::Respond(int particle, const Matrix3d& H, bool with_tangent) const {
  ParticleResponse response;
  model_.material_of(particle).Respond(model_.parameters_of(particle), transfer_.start(particle), H,
                                       with_tangent, &response);
  return response;
}

bool NonlinearPart::IsLinear(int particle, const Matrix3d& H) const {
  return model_.material_of(particle).IsQuadraticBetween(
      model_.parameters_of(particle), transfer_.start(particle), points_[particle].H, H);
}

double NonlinearPart::AddGradient(std::span<const double> v, std::span<double> gradient) const {
  double sum = 0;
  const std::span<const ActiveGrid::Cell> cells = transfer_.grid().cells();
  const auto compute = [&](int cell, CellTerms* terms) {
    terms->force = {};
    terms->along.value = 0;
    NodeVectors nodes;
    ParticleTransfer::Gather(cells[cell], v, &nodes);
    ForEachParticle(cell, [&](int p, const Kernel& kernel, const Point& at) {
      const Matrix3d H = h_ * InterpolateGradient(kernel, nodes), change = H - at.H;
      if (IsLinear(p, H)) return;
      const Excess excess(Respond(p, H, false), at.response, change);
      const double V = model_.particle_volume[p];
      terms->along.value += V * excess.energy;
      AddStress(kernel, V * h_ * excess.stress, &terms->force);
    });
  };
  transfer_.ForEachCell(&terms_, compute, [&](int cell, const CellTerms& terms) {
    sum += terms.along.value;
    for (int a = 0; a < kKernelNodes; ++a) {
      for (int r = 0; r < 3; ++r)
        gradient[3 * std::size_t(cells[cell].nodes[a]) + r] += terms.force.of[r][a];
    }
  });
  return sum;
}

NonlinearPart::Along NonlinearPart::CalcAlong(std::span<const double> v, std::span<const double> d,
                                              double alpha) const {
  Along sum;
  const std::span<const ActiveGrid::Cell> cells = transfer_.grid().cells();
  const auto compute = [&](int cell, CellTerms* terms) {
    terms->along = {};
    NodeVectors nodes, direction;
    ParticleTransfer::Gather(cells[cell], v, &nodes);
    ParticleTransfer::Gather(cells[cell], d, &direction);
    ForEachParticle(cell, [&](int p, const Kernel& kernel, const Point& at) {
      const Matrix3d along = h_ * InterpolateGradient(kernel, direction);
      const Matrix3d H = h_ * InterpolateGradient(kernel, nodes) + alpha * along, change = H - at.H;
      if (IsLinear(p, H)) return;
      const ParticleResponse response = Respond(p, H, true);
      const Excess excess(response, at.response, change);
      const double V = model_.particle_volume[p];
      terms->along.value += V * excess.energy;
      terms->along.slope += V * Contract(excess.stress, along);
      terms->along.curvature +=
          V * Contract(Apply(response.tangent, along) - Apply(at.response.tangent, along), along);
    });
  };
  transfer_.ForEachCell(&terms_, compute, [&](int /*cell*/, const CellTerms& terms) {
    sum.value += terms.along.value;
    sum.slope += terms.along.slope;
    sum.curvature += terms.along.curvature;
  });
  return sum;
}

void NonlinearPart::AddHessian(std::span<const double> v, std::span<double> A) const {
  const std::span<const ActiveGrid::Cell> cells = transfer_.grid().cells();
  const auto compute = [&](int cell, CellTerms* terms) {
    terms->is_any = false;
    NodeVectors nodes;
    ParticleTransfer::Gather(cells[cell], v, &nodes);
    ForEachParticle(cell, [&](int p, const Kernel& kernel, const Point& at) {
      const Matrix3d H = h_ * InterpolateGradient(kernel, nodes);
      if (H == at.H || IsLinear(p, H)) return;
      if (!terms->is_any) terms->matrix.Clear();
      terms->is_any = true;
      const double scale = model_.particle_volume[p] * h_ * h_;
      const Eigen::Matrix<double, 9, 9> change = Respond(p, H, true).tangent - at.response.tangent;
      // only the pressure of a liquid is nonlinear
      if (model_.material_of(p).is_liquid()) {
        terms->matrix.AddVolumetric(kernel, scale * change(0, 4));
      } else {
        terms->matrix.Add(kernel, scale, change, 0);
      }
    });
  };
  transfer_.ForEachCell(&terms_, compute, [&](int cell, const CellTerms& terms) {
    if (!terms.is_any) return;
    terms.matrix.Scatter(
        std::span(places_).subspan(static_cast<std::size_t>(cell) * kCellBlocks, kCellBlocks), A);
  });
}

}  // namespace pliant::physics
