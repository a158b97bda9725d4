#include "physics/fem/mean_dilatation.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace pliant::physics {
namespace {

constexpr int kPatchSize = 6;  // as many tetrahedra as fill a cube

Lane CalcDeterminant(const LaneMatrix3& F, const LaneMatrix3& cofactors) {
  return F[0] * cofactors[0] + F[1] * cofactors[1] + F[2] * cofactors[2];
}

}  // namespace

std::vector<int> FormPatches(std::span<const std::array<int, 4>> tetrahedra,
                             std::span<const int> kinds, int target) {
  const int count = static_cast<int>(tetrahedra.size());
  int num_nodes = 0;
  for (const auto& t : tetrahedra)
    num_nodes = std::max(num_nodes, *std::max_element(t.begin(), t.end()) + 1);
  std::vector<std::vector<int>> around(num_nodes);
  for (int e = 0; e < count; ++e)
    for (const int node : tetrahedra[e]) around[node].push_back(e);

  std::vector<int> patch_of(count, -1);
  std::vector<int> stamp(num_nodes, -1);
  int num_patches = 0;
  std::vector<int> members, candidates, nodes;
  // seeds in mesh order, so that each is next to earlier patches
  for (int seed = 0; seed < count; ++seed) {
    if (patch_of[seed] >= 0) continue;
    const int patch = num_patches++;
    members.clear();
    candidates.clear();
    const auto take = [&](int e) {
      patch_of[e] = patch;
      members.push_back(e);
      for (const int node : tetrahedra[e]) {
        if (stamp[node] == patch) continue;
        stamp[node] = patch;
        for (const int other : around[node])
          if (patch_of[other] < 0 && kinds[other] == kinds[seed]) candidates.push_back(other);
      }
    };
    take(seed);
    while (static_cast<int>(members.size()) < target) {
      // take the element that shares the most nodes, at least a face
      int best = -1, best_shared = 2;
      for (const int e : candidates) {
        if (patch_of[e] >= 0) continue;
        int shared = 0;
        for (const int node : tetrahedra[e]) shared += stamp[node] == patch;
        if (shared > best_shared || (shared == best_shared && best >= 0 && e < best)) {
          best = e;
          best_shared = shared;
        }
      }
      if (best < 0) break;
      take(best);
    }
    // too few for a patch: each element joins the neighbouring patch with which it shares the most
    // nodes
    if (2 * static_cast<int>(members.size()) >= target) continue;
    for (const int e : members) {
      std::map<int, int> shared;  // number of nodes by patch
      for (const int node : tetrahedra[e]) {
        std::vector<int> seen;
        for (const int other : around[node]) {
          const int p = patch_of[other];
          if (p < 0 || p == patch || kinds[other] != kinds[e]) continue;
          if (std::find(seen.begin(), seen.end(), p) == seen.end()) seen.push_back(p);
        }
        for (const int p : seen) ++shared[p];
      }
      int best = -1, most = 2;
      for (const auto& [p, n] : shared)
        if (n > most) best = p, most = n;
      if (best >= 0) patch_of[e] = best;
    }
  }
  return patch_of;
}

MeanDilatation::MeanDilatation(const FemParameters& parameters, const ElementBatches& elements) {
  const std::size_t num_batches = elements.nonlinear.size();
  const std::size_t first = static_cast<std::size_t>(elements.num_quadratic) * kLanes;
  const auto& tetrahedra = parameters.mesh.tetrahedra;
  // patches do not mix materials; quadratic elements have patches of their own
  std::vector<int> kinds(tetrahedra.size(), 0);
  if (!parameters.element_material.empty())
    kinds.assign(parameters.element_material.begin(), parameters.element_material.end());
  const std::vector<int> patches = FormPatches(tetrahedra, kinds, kPatchSize);

  // number patches by first appearance in the batches
  std::map<int, int> numbers;
  patch_of_.assign(num_batches * kLanes, -1);
  places_.resize(num_batches * kLanes);
  for (std::size_t k = 0; k < num_batches; ++k) {
    const NonlinearMaterial& of = elements.nonlinear[k];
    const ElementBatch& batch = elements.batches[elements.num_quadratic + k];
    stiffness_.push_back(of.material->CalcVolumetricStiffness(of.parameters));
    volume_.push_back(batch.volume);
    for (int l = 0; l < kLanes; ++l) {
      const int element = elements.elements[first + k * kLanes + l];
      if (element < 0) continue;
      const int patch =
          numbers.try_emplace(patches[element], static_cast<int>(numbers.size())).first->second;
      if (patch == num_patches()) patches_.emplace_back();
      patch_of_[k * kLanes + l] = patch;
      Patch& p = patches_[patch];
      p.volume += batch.volume[l];
      p.stiffness = stiffness_.back()[l];
      p.nodes.insert(p.nodes.end(), batch.nodes[l].begin(), batch.nodes[l].end());
    }
  }
  int start = 0;
  for (Patch& patch : patches_) {
    std::sort(patch.nodes.begin(), patch.nodes.end());
    patch.nodes.erase(std::unique(patch.nodes.begin(), patch.nodes.end()), patch.nodes.end());
    starts_.push_back(start);
    start += static_cast<int>(patch.nodes.size());
  }
  starts_.push_back(start);
  for (std::size_t k = 0; k < num_batches; ++k) {
    const ElementBatch& batch = elements.batches[elements.num_quadratic + k];
    for (int l = 0; l < kLanes; ++l) {
      const int patch = patch_of_[k * kLanes + l];
      if (patch < 0) continue;
      const std::vector<int>& nodes = patches_[patch].nodes;
      for (int a = 0; a < 4; ++a) {
        places_[k * kLanes + l][a] = static_cast<int>(
            std::lower_bound(nodes.begin(), nodes.end(), batch.nodes[l][a]) - nodes.begin());
      }
    }
  }
}

std::vector<std::array<int, 4>> MeanDilatation::couplings() const {
  std::vector<std::array<int, 4>> pairs;
  for (const Patch& patch : patches_) {
    for (std::size_t a = 0; a < patch.nodes.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        pairs.push_back({patch.nodes[a], patch.nodes[b], patch.nodes[a], patch.nodes[b]});
  }
  return pairs;
}

void MeanDilatation::FindSlots(const solvers::BlockPattern& pattern) {
  for (Patch& patch : patches_) {
    patch.slots.clear();
    for (std::size_t a = 0; a < patch.nodes.size(); ++a)
      for (std::size_t b = 0; b <= a; ++b)
        patch.slots.push_back(9 * pattern.Find(patch.nodes[a], patch.nodes[b]));
  }
}

void MeanDilatation::CalcRatios(std::span<const LaneMatrix3> F,
                                std::vector<double>* ratios_out) const {
  std::vector<double>& ratios = *ratios_out;
  ratios.assign(patches_.size(), 0.0);
  for (std::size_t k = 0; k < F.size(); ++k) {
    const Lane now = volume_[k] * CalcDeterminant(F[k], CalcCofactors(F[k]));
    for (int l = 0; l < kLanes; ++l) {
      const int patch = patch_of_[k * kLanes + l];
      if (patch >= 0) ratios[patch] += now[l];
    }
  }
  for (std::size_t p = 0; p < ratios.size(); ++p) ratios[p] /= patches_[p].volume;
}

Lane MeanDilatation::MeansOf(std::size_t k, std::span<const double> ratios) const {
  Lane means = Splat(1);
  for (int l = 0; l < kLanes; ++l) {
    const int patch = patch_of_[k * kLanes + l];
    if (patch >= 0) means[l] = ratios[patch];
  }
  return means;
}

void MeanDilatation::CalcGradients(const ElementBatches& elements, std::span<const LaneMatrix3> F,
                                   std::vector<double>* gradients) const {
  gradients->assign(3 * std::size_t(starts_.back()), 0.0);
  for (std::size_t k = 0; k < F.size(); ++k) {
    const ElementBatch& batch = elements.batches[elements.num_quadratic + k];
    const LaneMatrix3 cofactors = CalcCofactors(F[k]);
    Lane parts[4][3];
    for (int a = 0; a < 4; ++a) {
      for (int r = 0; r < 3; ++r) {
        parts[a][r] = batch.volume * (cofactors[r] * batch.gradients[a][0] +
                                      cofactors[3 + r] * batch.gradients[a][1] +
                                      cofactors[6 + r] * batch.gradients[a][2]);
      }
    }
    for (int l = 0; l < kLanes; ++l) {
      const int patch = patch_of_[k * kLanes + l];
      if (patch < 0) continue;
      for (int a = 0; a < 4; ++a) {
        double* g = &(*gradients)[3 * std::size_t(starts_[patch] + places_[k * kLanes + l][a])];
        for (int r = 0; r < 3; ++r) g[r] += parts[a][r][l] / patches_[patch].volume;
      }
    }
  }
}

void MeanDilatation::AddStiffness(const ElementBatches& elements, std::span<const LaneMatrix3> F,
                                  double scale, const Eigen::Vector3d* normal,
                                  std::vector<double>* gradients, solvers::BlockMatrix* A) const {
  CalcGradients(elements, F, gradients);
  for (std::size_t p = 0; p < patches_.size(); ++p) {
    const Patch& patch = patches_[p];
    double* g = &(*gradients)[3 * std::size_t(starts_[p])];
    const int n = static_cast<int>(patch.nodes.size());
    for (int a = 0; normal != nullptr && a < n; ++a) {
      Eigen::Map<Eigen::Vector3d> of(g + 3 * std::size_t(a));
      of -= of.dot(*normal) * *normal;
    }
    const double factor = scale * patch.volume * patch.stiffness;
    const int* slot = patch.slots.data();
    for (int a = 0; a < n; ++a) {
      for (int b = 0; b <= a; ++b) {
        double* block = &A->values[*slot++];
        for (int c = 0; c < 3; ++c) {
          const double x = factor * g[3 * b + c];
          for (int r = 0; r < 3; ++r) block[3 * c + r] += x * g[3 * a + r];
        }
      }
    }
  }
}

void MeanDilatation::AddForce(const ElementBatches& elements, std::span<const LaneMatrix3> F,
                              double scale, std::span<const double> v,
                              std::vector<double>* gradients, std::span<double> f) const {
  CalcGradients(elements, F, gradients);
  for (std::size_t p = 0; p < patches_.size(); ++p) {
    const Patch& patch = patches_[p];
    const double* g = &(*gradients)[3 * std::size_t(starts_[p])];
    double rate = 0;
    for (std::size_t a = 0; a < patch.nodes.size(); ++a)
      for (int r = 0; r < 3; ++r) rate += g[3 * a + r] * v[3 * std::size_t(patch.nodes[a]) + r];
    const double factor = scale * patch.volume * patch.stiffness * rate;
    for (std::size_t a = 0; a < patch.nodes.size(); ++a)
      for (int r = 0; r < 3; ++r) f[3 * std::size_t(patch.nodes[a]) + r] += factor * g[3 * a + r];
  }
}

}  // namespace pliant::physics
