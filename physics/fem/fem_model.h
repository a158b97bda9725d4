#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "physics/fem/activation.h"
#include "physics/fem/element_stages.h"
#include "physics/fem/elements.h"
#include "physics/fem/fem_block.h"
#include "physics/fem/mean_dilatation.h"
#include "physics/fem/volume/volume_potential.h"
#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/lanes/lane_layout.h"

namespace pliant::physics {

// Data that depends only on a body's rest mesh and materials, shared by all bodies with the same
// ones.
struct FemRestShape {
  explicit FemRestShape(const FemParameters& parameters);

  // True if bodies with parameters `a` and `b` have the same rest shape.
  static bool IsShared(const FemParameters& a, const FemParameters& b);

  // Elimination order of the nodes for the factorisation, computed on first use.
  const std::vector<int>& elimination_order() const;
  // Parents in the elimination tree of that order, and multiply-adds of the factorisation; computed
  // on first use.
  const std::vector<int>& elimination_tree() const;
  double elimination_operations() const;
  // Layout for factoring several bodies of this shape at a time, computed on first use.
  const std::shared_ptr<const solvers::LaneLayout>& lane_layout() const;

  ElementBatches elements;
  ElementStages stages;                      // of the quadratic ones
  ElementStages nonlinear_stages;            // of the others, counted from the first of them
  std::optional<MeanDilatation> dilatation;  // of the nonlinear ones
  solvers::BlockPattern pattern;
  // Block of the matrix to which each element's 3 × 3 block is added, by batch, pair (a ≥ c) and
  // lane: 10 · kLanes a batch.
  std::vector<int> slots;
  std::vector<double> node_mass;        // row sums of M [kg]
  std::vector<double> element_volumes;  // at rest [m³]
  std::vector<double> element_masses;   // [kg]
  double mass = 0;                      // [kg]

 private:
  void FindTree() const;
  mutable std::once_flag is_ordered_, has_tree_, has_lanes_;
  mutable std::vector<int> order_, tree_;
  mutable double operations_ = 0;
  mutable std::shared_ptr<const solvers::LaneLayout> lane_layout_;
};

// A FEM body prepared for stepping, shared by its block and the block's steps.
struct FemModel {
  // `shape` is that of `p`.
  FemModel(FemParameters p, std::shared_ptr<const FemRestShape> shape);
  FemModel(const FemModel&) = delete;
  FemModel& operator=(const FemModel&) = delete;

  FemParameters parameters;
  std::shared_ptr<const FemRestShape> rest;
  int num_nodes;
  const ElementBatches& elements;
  const std::optional<MeanDilatation>& dilatation;
  const solvers::BlockPattern& pattern;
  const std::vector<int>& slots;
  const std::vector<double>& node_mass;
  const std::vector<double>& element_volumes;
  double mass;
  std::vector<int> prescribed_index;  // into parameters.prescribed; −1: free
  std::vector<int> followed;          // bodies that prescribed vertices move with
  Eigen::Vector3d plane_normal;       // of plane strain, in W
  Activations activations;

  std::vector<VolumePotential> volumes;

  // True if the momentum balance of a step is linear in the velocities.
  bool is_linear() const { return elements.nonlinear.empty() && volumes.empty(); }

  // Calls f(b) for every batch; in parallel for those that share no node.
  template <typename F>
  void ForEachBatch(const F& f) const {
    const auto call = [&](int begin, int end) {
      for (int b = begin; b < end; ++b) f(b);
    };
    rest->stages.ForEach(call);
    rest->nonlinear_stages.ForEach([&](int begin, int end) {
      call(elements.num_quadratic + begin, elements.num_quadratic + end);
    });
  }

  double CalcKineticEnergy(std::span<const double> v) const;  // ½ v·M v [J]

  // F of a batch at positions q.
  LaneMatrix3 CalcDeformation(const ElementBatch& batch, std::span<const double> q) const;

  // F of the nonlinear batches at positions q, and J̄ of the patches if mean dilatation is on.
  struct Deformation {
    std::vector<LaneMatrix3> F;
    std::vector<double> ratios;
    std::vector<double> gradients;  // of J̄, scratch memory
    int projected = 0;              // elements whose tangents were projected in AssembleNonlinear
  };
  void CalcDeformation(std::span<const double> q, Deformation* at) const;
  Deformation CalcDeformation(std::span<const double> q) const;

  // Response of nonlinear batch k.
  void Respond(std::size_t k, const Deformation& at, Tangent tangent,
               MaterialResponse* response) const;

  // Energy density and stress of batch b, for any material; quadratic ones use R0 = polar(F) or I.
  // `F` is that of the batch, `at` the deformation of the nonlinear batches at the same positions.
  MaterialResponse CalcResponse(std::size_t b, const LaneMatrix3& F, const Deformation& at) const;

  // Copies the gauge pressure at the rest volume of each volume in a state [Pa]; initial values if
  // the state has none.
  void CopyGauges(const BlockState& state, std::vector<double>* gauges) const;

  // Describes the worst element at q: not finite, inverted, or the most flattened.
  std::string DescribeWorstElement(std::span<const double> q) const;

  // In plane strain, removes the component along the normal from each node's vector.
  void ProjectOntoPlane(std::span<double> x) const;

  // y = M x with the consistent mass matrix, M_ab = ρV/20 (1 + δ_ab).
  void MultiplyMass(std::span<const double> x, std::span<double> y) const;
};

}  // namespace pliant::physics
