#pragma once

#include <span>
#include <vector>

#include "solvers/linalg/partial_cholesky.h"

namespace pliant::solvers {

// Σ_k w_k u_k u_kᵀ: a dense part of a symmetric matrix that is otherwise sparse.
struct LowRank {
  std::vector<double> weights;               // ≥ 0
  std::vector<std::vector<double>> columns;  // u_k; those of weight 0 may have any size

  bool empty() const { return weights.empty(); }
  // y += Σ w u (uᵀ x)
  void AddProduct(std::span<const double> x, std::span<double> y) const;
  void AddDiagonal(std::span<double> diagonal) const;
};

// PartialCholesky of A + U W Uᵀ. With y = W Uᵀ x as further unknowns the matrix is sparse,
//
//     [A U; Uᵀ −W⁻¹],
//
// so that the factorisation of A alone and a solve for each column give everything exactly
// (Woodbury): with the nodes n that do not participate eliminated,
//
//     Û = U_p − A_pn A_nn⁻¹ U_n,   D = W⁻¹ + U_nᵀ A_nn⁻¹ U_n,   Â = Â_A + Û D⁻¹ Ûᵀ.
//
// A must be positive definite. Without columns, results are bitwise those of PartialCholesky; with
// columns, Â is dense.
class LowRankCholesky {
 public:
  LowRankCholesky(const BlockPattern* pattern, std::span<const int> order)
      : factor_(pattern, order) {}

  // As in PartialCholesky. `U` must outlive the use of the factor.
  bool Factor(const BlockMatrix& A, const LowRank& U, std::span<const int> participants,
              ComplementForm form, std::span<const double> b);
  bool Eliminate(const BlockMatrix& A, const LowRank& U, std::span<const int> participants,
                 ComplementForm form, std::span<const double> b);
  int failed_node() const { return factor_.failed_node(); }
  const std::vector<int>& participants() const { return factor_.participants(); }
  SchurComplement schur_complement() const;
  void CopyReduced(std::span<double> r_p) const;
  void SolveForParticipants(std::span<double> x_p) const;
  void Complete(std::span<const double> x_p, std::span<double> x) const;

 private:
  struct Column {
    const std::vector<double>* u;
    double weight;
    std::vector<double> reduced;     // of Û
    std::vector<double> eliminated;  // A_nn⁻¹ u_n, 0 on the participants
    std::vector<double> solved;      // Â_A⁻¹ of `reduced`, after Factor
  };
  bool Prepare(const BlockMatrix& A, const LowRank& U, std::span<const double> b, bool is_whole);
  // Solves D y_ = Ûᵀ x_p + shift_.
  void SolveForLast(std::span<const double> x_p) const;

  PartialCholesky factor_;
  std::vector<Column> columns_;            // of positive weight
  std::vector<double> shift_;              // U_nᵀ A_nn⁻¹ b_n
  std::vector<double> last_, whole_last_;  // Cholesky factors of D and of D + Ûᵀ Â_A⁻¹ Û
  std::vector<double> complement_;         // Â
  mutable std::vector<double> y_, scratch_;
};

}  // namespace pliant::solvers
