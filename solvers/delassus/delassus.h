#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace pliant::solvers {

// Compliance of a world seen by its contacts: W = J A⁻¹ Jᵀ [1/kg], one 3 × 3 block a pair of contacts. A is block-diagonal
// with dense blocks; contacts couple blocks (zeng2022: W = Σ H A⁻¹ Hᵀ, with the contact directions in J).
class DelassusOperator {
 public:
  struct Block {
    int size;
    const double* A;  // size × size, column-major; the lower triangle is read. Positive definite.
  };
  // One contact's rows on consecutive velocities of one block.
  struct Entry {
    int block;
    int first;  // within the block
    int columns;
    const double* values;  // 3 × columns, column-major
  };

  DelassusOperator(const std::vector<Block>& blocks,
                   const std::vector<std::vector<Entry>>& contacts);

  int num_contacts() const { return num_contacts_; }

  auto block(int i, int j) const {
    using Stride = Eigen::OuterStride<>;
    const std::ptrdiff_t n = 3 * num_contacts_;
    return Eigen::Map<const Eigen::Matrix3d, 0, Stride>(&values_[std::size_t(3 * j) * n + 3 * i],
                                                        Stride(n));
  }

  // Contacts j with a block (i, j) that is not zero by structure, ascending.
  const std::vector<int>& neighbours(int i) const { return neighbours_[i]; }

  // x ← A_b⁻¹ x for one block.
  void SolveBlock(int b, std::span<double> x) const;

 private:
  // Factor of a block: the lower Cholesky triangle on top of the rows J L⁻ᵀ of the contacts that touch it.
  struct Factor {
    int size = 0;
    int height = 0;
    std::vector<double> panel;
  };
  int num_contacts_;
  std::vector<Factor> factors_;
  std::vector<double> values_;  // 3 c × 3 c, column-major
  std::vector<std::vector<int>> neighbours_;
};

}  // namespace pliant::solvers
