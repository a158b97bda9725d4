#pragma once

#include <memory>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

class SupernodeLayout;

// Supernodal multifrontal Cholesky factorisation of a BlockMatrix that eliminates chosen nodes, the participants, last
// and records the Schur complement on them on the way, at no additional cost (han2023 §VI-B):
//
//     A = [A_nn A_np; A_pn A_pp],   Â = A_pp − A_pn A_nn⁻¹ A_np = L_pp L_ppᵀ
//
// The fill-reducing order of a pattern is found once; the symbolic work for a set of participants is kept until the
// set changes. Nothing that is kept changes a result.
class PartialCholesky {
 public:
  explicit PartialCholesky(const BlockPattern* pattern);
  // `order`: in which nodes that do not participate are eliminated.
  PartialCholesky(const BlockPattern* pattern, std::vector<int> order);
  ~PartialCholesky();

  // Factors A. `participants`: ascending node numbers. Returns false when A is not positive definite; then
  // failed_node() tells where and the factor may not be used.
  bool Factor(const BlockMatrix& A, std::span<const int> participants);
  int failed_node() const;

  // Â, column-major, both triangles, 3 · participants.size() square, rows in the order of the participants.
  std::span<const double> schur_complement() const;

  const std::vector<int>& participants() const;

  // x ← A⁻¹ x, 3 · num_nodes numbers.
  void Solve(std::span<double> x) const;

  // The same in two parts. The participants' part of A⁻¹ b:
  void SolveForParticipants(std::span<const double> b, std::span<double> x_p) const;
  // and all of x with A x = b on the other nodes and any x_p on the participants (han2023 (15)), for the last b.
  void Complete(std::span<const double> x_p, std::span<double> x) const;

  // Multiply-adds of the last factorisation.
  double flops() const;

 private:
  struct Numeric;
  std::unique_ptr<SupernodeLayout> layout_;
  std::unique_ptr<Numeric> numeric_;
};

}  // namespace pliant::solvers
