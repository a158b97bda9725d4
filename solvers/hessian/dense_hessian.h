#pragma once

#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include <Eigen/Core>

#include "solvers/hessian/by_group.h"
#include "solvers/hessian/contact_jacobian.h"
#include "solvers/hessian/coupled_parts.h"
#include "solvers/linalg/block_cholesky.h"
#include "solvers/linalg/schur_complement.h"
#include "solvers/problem/island_view.h"

namespace pliant::solvers {

// H = A + JᵀGJ of an island whose blocks are dense, and its factor. A link of a chain, which
// touches others at its two ends, is split into parts, so that H has fewer nonzero blocks
// (CoupledParts). Keeps its memory.
class DenseHessian {
 public:
  // The factors of contacts and rows in JᵀGJ.
  struct Weights {
    // Sets G, which is symmetric, or returns false if it is zero.
    absl::FunctionRef<bool(int contact, Eigen::Matrix3d* G)> of_contact;
    absl::FunctionRef<double(int row)> of_row;
  };

  // Analyses the couplings by contacts and rows, whether or not they carry an impulse now.
  // `tangents` replace A. All arguments must outlive later calls.
  void Analyse(const IslandView& island, const ContactJacobian& jacobian,
               std::span<const SchurComplement> tangents);
  // Reads the tangents again, whose values have changed.
  void UpdateTangents();

  // Factors H, and x ← H⁻¹ x. False if H is not positive definite.
  bool FactorAndSolve(const Weights& weights, std::span<double> x);
  // x ← H⁻¹ x with the last factor
  void Solve(std::span<double> x);

 private:
  // A of a block in the rows of part i and columns of part j; −1 if the parts belong to different
  // blocks, where A is zero.
  struct Piece {
    int block, i, j;
    BlockCholesky::Place place;
  };
  // Place of a block's A with its velocities in the order of its parts.
  struct ByParts {
    std::size_t values;
    bool is_copy;  // in A_by_parts_
  };
  // JᵀGJ of a contact or row in the columns of its entry `right`, an index into jacobian_ for a
  // contact and into the system's entries for a row.
  struct Product {
    int constraint, right;
    std::size_t first_place;  // of a contact's entries, in places_
  };

  BlockCholesky::Place Find(int left, int right);
  void OrderByParts(int block);
  void Copy(const Piece& piece) const;
  void Fill(int panel, const Weights& weights);

  const IslandView* island_ = nullptr;
  const ContactJacobian* jacobian_ = nullptr;
  std::span<const SchurComplement> tangents_;
  CoupledParts parts_;
  BlockCholesky factor_;
  std::vector<Piece> pieces_;  // by panel
  std::vector<int> piece_starts_;
  std::vector<ByParts> by_parts_;
  std::vector<double> A_by_parts_;
  ByGroup<Product> products_, row_products_;
  std::vector<BlockCholesky::Place> places_;
  std::vector<double> permuted_;
};

}  // namespace pliant::solvers
