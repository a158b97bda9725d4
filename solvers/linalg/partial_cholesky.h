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
// The symbolic factorisation is reused until the pattern or the participants change. Reuse, also of
// memory, changes no result. The bits are the same for any number of threads.
class PartialCholesky {
 public:
  // Needs SetPattern.
  PartialCholesky();
  // Uses FindEliminationOrder.
  explicit PartialCholesky(const BlockPattern* pattern);
  PartialCholesky(const BlockPattern* pattern, std::span<const int> order);
  ~PartialCholesky();

  // Sets the pattern; needed again after it has changed in place. `order`: elimination order of the
  // nodes that do not participate. Reuses memory, but drops the factor.
  void SetPattern(const BlockPattern* pattern, std::span<const int> order);

  // Factors A. `participants`: ascending node numbers. A load b of 3 · num_nodes numbers is reduced
  // at the same time, for less than Reduce takes. Returns false when A is not positive definite;
  // failed_node() then says where, and the factor must not be used.
  bool Factor(const BlockMatrix& A, std::span<const int> participants,
              ComplementForm form = ComplementForm::kDense, std::span<const double> b = {});
  int failed_node() const;

  // Like Factor, but does not factor Â: sufficient for Reduce and Complete.
  bool Eliminate(const BlockMatrix& A, std::span<const int> participants, ComplementForm form,
                 std::span<const double> b = {});

  // The symbolic part of Eliminate.
  void Analyze(std::span<const int> participants, ComplementForm form);

  // Â, 3 · participants.size() square, rows in the order of the participants. Block-sparse only
  // where that was allowed and takes fewer operations to factor.
  SchurComplement schur_complement() const;

  const std::vector<int>& participants() const;

  // x ← A⁻¹ x, 3 · num_nodes numbers.
  void Solve(std::span<double> x) const;

  // Solve in stages. Eliminates the other nodes than the participants from a load b. The functions
  // below refer to this b:
  void Reduce(std::span<const double> b) const;
  // the right side of Â x_p = r_p, r_p = b_p − A_pn A_nn⁻¹ b_n;
  void CopyReduced(std::span<double> r_p) const;
  // the participants' part of A⁻¹ b;
  void SolveForParticipants(std::span<double> x_p) const;
  // all of x, with A x = b on the other nodes for a given x_p on the participants (han2023 (15)).
  void Complete(std::span<const double> x_p, std::span<double> x) const;

  // Additions and multiplications of the last analysed factorisation.
  double flops() const;

 private:
  struct Numeric;
  void ChooseForm(ComplementForm form);
  bool EliminateOthers(const BlockMatrix& A, std::span<const int> participants, ComplementForm form,
                       std::span<const double> b);
  bool EliminatePanels(absl::FunctionRef<void(int)> fill, const UpdateHome<double>& home,
                       std::span<double> y);
  void Permute(std::span<const double> b) const;
  void FindHome();
  void AssembleDenseComplement(const BlockMatrix& A);
  void AssembleSparseComplement(const BlockMatrix& A);
  bool FactorDenseComplement();
  bool FactorSparseComplement(const BlockMatrix& A);
  int PlaceInRoot(int participant) const;
  void SolveComplement(std::span<double> x_p) const;

  const BlockPattern* pattern_ = nullptr;
  std::unique_ptr<SupernodeLayout> layout_;
  std::unique_ptr<Numeric> numeric_;
};

}  // namespace pliant::solvers
