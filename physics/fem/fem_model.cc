#include "physics/fem/fem_model.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include <Eigen/LU>

#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::physics {

namespace {

std::optional<MeanDilatation> MakeDilatation(const FemParameters& parameters,
                                             const ElementBatches& elements) {
  if (!parameters.mean_dilatation) return std::nullopt;
  return MeanDilatation(parameters, elements);
}

// Pattern of the elements, and of the patches if there are any.
solvers::BlockPattern MakePattern(const FemParameters& parameters,
                                  const std::optional<MeanDilatation>& dilatation) {
  const int num_nodes = static_cast<int>(parameters.mesh.vertices.size());
  if (!dilatation.has_value())
    return solvers::MakeBlockPattern(num_nodes, parameters.mesh.tetrahedra);
  std::vector<std::array<int, 4>> coupled = dilatation->couplings();
  coupled.insert(coupled.end(), parameters.mesh.tetrahedra.begin(),
                 parameters.mesh.tetrahedra.end());
  return solvers::MakeBlockPattern(num_nodes, coupled);
}

}  // namespace

FemRestShape::FemRestShape(const FemParameters& parameters)
    : elements(MakeElementBatches(parameters)),
      stages(std::span(elements.batches).first(elements.num_quadratic),
             static_cast<int>(parameters.mesh.vertices.size())),
      nonlinear_stages(std::span(elements.batches).subspan(elements.num_quadratic),
                       static_cast<int>(parameters.mesh.vertices.size())),
      dilatation(MakeDilatation(parameters, elements)),
      pattern(MakePattern(parameters, dilatation)),
      node_mass(parameters.mesh.vertices.size(), 0.0),
      element_volumes(parameters.mesh.tetrahedra.size()),
      element_masses(parameters.mesh.tetrahedra.size()) {
  for (std::size_t b = 0; b < elements.batches.size(); ++b) {
    const ElementBatch& batch = elements.batches[b];
    for (int l = 0; l < kLanes; ++l) {
      const int element = elements.elements[b * kLanes + l];
      if (element < 0) continue;
      element_volumes[element] = batch.volume[l];
      const double m = batch.density[l] * batch.volume[l];
      element_masses[element] = m;
      mass += m;
      for (const int node : batch.nodes[l]) node_mass[node] += m / 4;
    }
    for (int a = 0; a < 4; ++a) {
      for (int c = 0; c <= a; ++c) {
        for (int l = 0; l < kLanes; ++l)
          slots.push_back(9 * pattern.Find(batch.nodes[l][a], batch.nodes[l][c]));
      }
    }
  }
  if (dilatation.has_value()) dilatation->FindSlots(pattern);
}

bool FemRestShape::IsShared(const FemParameters& a, const FemParameters& b) {
  const auto is_same = [](const FemMaterial& x, const FemMaterial& y) {
    return x.material == y.material && x.parameters == y.parameters && x.density == y.density;
  };
  return a.mesh.vertices == b.mesh.vertices && a.mesh.tetrahedra == b.mesh.tetrahedra &&
         std::ranges::equal(a.materials, b.materials, is_same) &&
         a.element_material == b.element_material && a.plane_strain == b.plane_strain &&
         a.mean_dilatation == b.mean_dilatation && a.volumes.empty() == b.volumes.empty();
}

const std::vector<int>& FemRestShape::elimination_order() const {
  std::call_once(is_ordered_, [this] { order_ = solvers::FindEliminationOrder(pattern); });
  return order_;
}

void FemRestShape::FindTree() const {
  std::call_once(has_tree_, [this] {
    solvers::EliminationTree tree = solvers::FindEliminationTree(pattern, elimination_order());
    operations_ = solvers::CountFactorOperations(order_, tree);
    tree_ = std::move(tree.parents);
  });
}

const std::vector<int>& FemRestShape::elimination_tree() const {
  FindTree();
  return tree_;
}

double FemRestShape::elimination_operations() const {
  FindTree();
  return operations_;
}

const std::shared_ptr<const solvers::LaneLayout>& FemRestShape::lane_layout() const {
  std::call_once(has_lanes_, [this] {
    lane_layout_ = std::make_shared<solvers::LaneLayout>(
        pattern, solvers::ReduceOperations(pattern, elimination_order()));
  });
  return lane_layout_;
}

FemModel::FemModel(FemParameters p, std::shared_ptr<const FemRestShape> shape)
    : parameters(std::move(p)),
      rest(std::move(shape)),
      num_nodes(static_cast<int>(parameters.mesh.vertices.size())),
      elements(rest->elements),
      dilatation(rest->dilatation),
      pattern(rest->pattern),
      slots(rest->slots),
      node_mass(rest->node_mass),
      element_volumes(rest->element_volumes),
      mass(rest->mass),
      prescribed_index(num_nodes, -1),
      plane_normal(parameters.X_WB.R.col(2)),
      activations(elements, parameters.activations) {
  for (const VolumeParameters& volume : parameters.volumes) volumes.emplace_back(volume, pattern);
  for (std::size_t k = 0; k < parameters.prescribed.size(); ++k) {
    const FemParameters::Prescribed& one = parameters.prescribed[k];
    prescribed_index[one.node] = static_cast<int>(k);
    if (std::find(followed.begin(), followed.end(), one.body) == followed.end())
      followed.push_back(one.body);
  }
}

void FemModel::CopyGauges(const BlockState& state, std::vector<double>* gauges) const {
  gauges->assign(state.internals.begin(), state.internals.end());
  if (gauges->size() == volumes.size()) return;
  gauges->clear();
  for (const VolumePotential& volume : volumes)
    gauges->push_back(volume.parameters().gauge_pressure);
}

void FemModel::MultiplyMass(std::span<const double> x, std::span<double> y) const {
  std::fill(y.begin(), y.end(), 0.0);
  ForEachBatch([&](int b) {
    const ElementBatch& batch = elements.batches[b];
    for (int l = 0; l < kLanes; ++l) {
      const double m = batch.density[l] * batch.volume[l] / 20;
      for (int r = 0; r < 3; ++r) {
        double sum = 0;
        for (const int node : batch.nodes[l]) sum += x[3 * node + r];
        for (const int node : batch.nodes[l]) y[3 * node + r] += m * (sum + x[3 * node + r]);
      }
    }
  });
}

double FemModel::CalcKineticEnergy(std::span<const double> v) const {
  // M of an element has 2 on its diagonal and 1 elsewhere, times a twentieth of its mass
  Lane energy{};
  for (const ElementBatch& batch : elements.batches) {
    std::array<Lane, 3> sum{};
    Lane squares{};
    for (int a = 0; a < 4; ++a) {
      const double* n[kLanes];
      for (int l = 0; l < kLanes; ++l) n[l] = &v[3 * batch.nodes[l][a]];
      for (int r = 0; r < 3; ++r) {
        const Lane x = {n[0][r], n[1][r], n[2][r], n[3][r]};
        sum[r] += x;
        squares += x * x;
      }
    }
    const Lane square_of_sum = sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2];
    energy += batch.density * batch.volume / 40.0 * (square_of_sum + squares);
  }
  return (energy[0] + energy[1]) + (energy[2] + energy[3]);
}

LaneMatrix3 FemModel::CalcDeformation(const ElementBatch& batch, std::span<const double> q) const {
  LaneMatrix3 F = CalcGradient(batch, q);
  // the gradients of plane strain omit z, along which the body does not stretch
  if (parameters.plane_strain) {
    for (int r = 0; r < 3; ++r) F[6 + r] += plane_normal[r];
  }
  return F;
}

void FemModel::CalcDeformation(std::span<const double> q, Deformation* at) const {
  const std::size_t first = elements.num_quadratic;
  at->F.resize(elements.nonlinear.size());
  rest->nonlinear_stages.ForEach([&](int begin, int end) {
    for (int k = begin; k < end; ++k) at->F[k] = CalcDeformation(elements.batches[first + k], q);
  });
  if (dilatation.has_value()) dilatation->CalcRatios(at->F, &at->ratios);
}

FemModel::Deformation FemModel::CalcDeformation(std::span<const double> q) const {
  Deformation at;
  CalcDeformation(q, &at);
  return at;
}

void FemModel::Respond(std::size_t k, const Deformation& at, Tangent tangent,
                       MaterialResponse* response) const {
  const NonlinearMaterial& of = elements.nonlinear[k];
  const LaneMatrix3& F = at.F[k];
  if (!dilatation.has_value()) {
    of.material->Respond(of.parameters, F, tangent, response);
    return;
  }
  of.material->RespondToMean(of.parameters, F, dilatation->MeansOf(k, at.ratios), tangent,
                             response);
}

MaterialResponse FemModel::CalcResponse(std::size_t b, const LaneMatrix3& F,
                                        const Deformation& at) const {
  MaterialResponse response;
  const std::size_t first = elements.num_quadratic;
  if (b < first) {
    const ElementBatch& batch = elements.batches[b];
    const LaneMatrix3 R0 = CalcReferenceRotation(batch, F);
    response.energy = CalcEnergyDensity(batch, R0, F);
    response.stress = CalcStress(batch, R0, F, false);
  } else {
    Respond(b - first, at, Tangent::kNone, &response);
  }
  return response;
}

std::string FemModel::DescribeWorstElement(std::span<const double> q) const {
  int worst = 0;
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t b = 0; b < elements.batches.size(); ++b) {
    const LaneMatrix3 F = CalcDeformation(elements.batches[b], q);
    for (int l = 0; l < kLanes; ++l) {
      const int element = elements.elements[b * kLanes + l];
      if (element < 0) continue;
      const double ratio = Extract(F, l).determinant();
      if (ratio >= smallest) continue;
      worst = element;
      // no element is worse than one that is not finite
      if (!std::isfinite(ratio)) {
        return absl::StrCat("tetrahedron ", worst, " is not finite");
      }
      smallest = ratio;
    }
  }
  return absl::StrCat("tetrahedron ", worst,
                      smallest < 0 ? " is inverted, and has " : " is the smallest, and has ",
                      smallest, " of its volume");
}

void FemModel::ProjectOntoPlane(std::span<double> x) const {
  if (!parameters.plane_strain) return;
  for (int i = 0; i < num_nodes; ++i) {
    const double along = plane_normal.dot(VectorAt(x, 3 * i));
    for (int r = 0; r < 3; ++r) x[3 * i + r] -= along * plane_normal[r];
  }
}

}  // namespace pliant::physics
