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
#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/lanes/lane_layout.h"

namespace pliant::physics {

// What follows from a body's mesh at rest and its materials, and is the same for all bodies that
// have these in common.
struct FemRestShape {
  explicit FemRestShape(const FemParameters& parameters);

  // Whether the shape that follows from either is the same.
  static bool IsShared(const FemParameters& a, const FemParameters& b);

  // In which nodes are best eliminated. Found when first asked for.
  const std::vector<int>& elimination_order() const;
  // Of that order: parents in its tree, and multiply-adds of the factorisation. The same.
  const std::vector<int>& elimination_tree() const;
  double elimination_operations() const;
  // Whether one factor and solution of a body that nothing touches are faster in single precision,
  // refined.
  bool pays_in_single_precision() const;
  // What factoring several of them at a time consists of; likewise.
  const std::shared_ptr<const solvers::LaneLayout>& lane_layout() const;

  ElementBatches elements;
  ElementStages stages;                      // of the quadratic ones
  std::optional<MeanDilatation> dilatation;  // of what is not quadratic
  solvers::BlockPattern pattern;
  // Where a lane's 3 × 3 block is added in the block matrix: of batch b, pair (a ≥ c), lane l: 10 ·
  // kLanes a batch, in that order.
  std::vector<int> slots;
  std::vector<double> node_mass;        // row sums of M [kg]
  std::vector<double> element_volumes;  // at rest [m³]
  double mass = 0;                      // [kg]

 private:
  void FindTree() const;
  mutable std::once_flag is_ordered_, has_tree_, has_lanes_;
  mutable std::vector<int> order_, tree_;
  mutable double operations_ = 0;
  mutable bool pays_in_single_ = false;
  mutable std::shared_ptr<const solvers::LaneLayout> lane_layout_;
};

// What a FEM body is, prepared for stepping: shared by its block and every step of it.
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

  bool is_quadratic() const { return elements.nonlinear.empty(); }

  // F of a batch at positions q.
  LaneMatrix3 CalcDeformation(const ElementBatch& batch, std::span<const double> q) const;

  // F of the batches that are not quadratic at positions q, and J̄ of patches when volume is
  // theirs.
  struct Deformation {
    std::vector<LaneMatrix3> F;
    std::vector<double> ratios;
    std::vector<double> gradients;  // of J̄, memory to work in
    int projected = 0;              // elements whose tangents were projected in AssembleNonlinear
  };
  void CalcDeformation(std::span<const double> q, Deformation* at) const;
  Deformation CalcDeformation(std::span<const double> q) const;

  // What batch k of those answers.
  void Respond(std::size_t k, const Deformation& at, Tangent tangent,
               MaterialResponse* response) const;

  // Energy density and stress of batch b, whatever its material; of a quadratic one with R0 =
  // polar(F) or I. `F` is the batch's, `at` the others' at the same positions.
  MaterialResponse CalcResponse(std::size_t b, const LaneMatrix3& F, const Deformation& at) const;

  // The element that is worst off at q, and its state in words: not finite, inverted or flattened
  // most.
  std::string DescribeWorstElement(std::span<const double> q) const;

  // In plane strain, takes the part along the normal from each node's vector.
  void ProjectOntoPlane(std::span<double> x) const;

  // y = M x with the consistent mass matrix, M_ab = ρV/20 (1 + δ_ab).
  void MultiplyMass(std::span<const double> x, std::span<double> y) const;
};

}  // namespace pliant::physics
