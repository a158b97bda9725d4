#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/schur_complement.h"
#include "solvers/linalg/supernodal_factor.h"

namespace pliant::solvers {

enum class ComplementForm { kDense, kSparseWherePays };

// Supernodal multifrontal Cholesky factorisation of a BlockMatrix that eliminates chosen nodes, the
// participants, last and records the Schur complement on them on the way, at no additional cost
// (han2023 §VI-B):
//
//     A = [A_nn A_np; A_pn A_pp],   Â = A_pp − A_pn A_nn⁻¹ A_np = L_pp L_ppᵀ
//
// The fill-reducing order of a pattern is found once; the symbolic work for a set of participants
// is kept until the set changes. Nothing that is kept changes a result. For any number of threads
// the bits are those of one.
class PartialCholesky {
 public:
  explicit PartialCholesky(const BlockPattern* pattern);
  // `order`: in which nodes that do not participate are eliminated.
  PartialCholesky(const BlockPattern* pattern, std::vector<int> order);
  ~PartialCholesky();

  // Factors A. `participants`: ascending node numbers. A load b of 3 · num_nodes numbers is reduced
  // along, for less than Reduce takes. Returns false when A is not positive definite; then
  // failed_node() says where and the factor may not be used.
  bool Factor(const BlockMatrix& A, std::span<const int> participants,
              ComplementForm form = ComplementForm::kDense, std::span<const double> b = {});
  int failed_node() const;

  // The same up to Â, which is not factored: all that Reduce and Complete need.
  bool Eliminate(const BlockMatrix& A, std::span<const int> participants, ComplementForm form,
                 std::span<const double> b = {});

  // Of Eliminate what is symbolic.
  void Analyze(std::span<const int> participants, ComplementForm form);

  // Â, 3 · participants.size() square, rows in the order of the participants. Block-sparse only
  // where that was allowed, and factors with fewer operations.
  SchurComplement schur_complement() const;

  const std::vector<int>& participants() const;

  // x ← A⁻¹ x, 3 · num_nodes numbers.
  void Solve(std::span<double> x) const;

  // The same in parts. Eliminates the others than the participants from a load b, which the rest is
  // of:
  void Reduce(std::span<const double> b) const;
  // the right side of Â x_p = r_p, b_p − A_pn A_nn⁻¹ b_n;
  void CopyReduced(std::span<double> r_p) const;
  // the participants' part of A⁻¹ b;
  void SolveForParticipants(std::span<double> x_p) const;
  // all of x with A x = b on the other nodes and any x_p on the participants (han2023 (15)).
  void Complete(std::span<const double> x_p, std::span<double> x) const;

  // Additions and multiplications of the factorisation last analysed.
  double flops() const;

 private:
  struct Numeric;
  void ChooseForm(ComplementForm form);
  bool EliminateOthers(const BlockMatrix& A, std::span<const int> participants, ComplementForm form,
                       std::span<const double> b);
  bool EliminatePanels(absl::FunctionRef<void(int)> fill,
                       const SupernodalFactor<double>::Home& home, std::span<double> y);
  void Permute(std::span<const double> b) const;
  void FindHome();
  void AssembleDenseComplement(const BlockMatrix& A);
  void AssembleSparseComplement(const BlockMatrix& A);
  bool FactorDenseComplement();
  bool FactorSparseComplement(const BlockMatrix& A);
  int PlaceInRoot(int participant) const;
  void SolveComplement(std::span<double> x_p) const;

  const BlockPattern* pattern_;
  std::unique_ptr<SupernodeLayout> layout_;
  std::unique_ptr<Numeric> numeric_;
};

}  // namespace pliant::solvers
