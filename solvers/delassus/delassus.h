#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

namespace pliant::solvers {

// Compliance in contact space (Delassus operator): W = J A⁻¹ Jᵀ [1/kg], one 3 × 3 block per pair of
// contacts. A is block-diagonal with dense blocks; contacts couple blocks (zeng2022: W = Σ H A⁻¹
// Hᵀ, with the contact directions in J).
class DelassusOperator {
 public:
  struct Block {
    int size;
    const double* A;  // size × size, column-major; the lower triangle is read. Positive definite.
  };
  // One contact's rows on consecutive velocities of one block.
  struct Entry {
    int contact;
    int block;
    int first;  // within the block
    int columns;
    std::size_t values;  // offset in `values`: 3 × columns, column-major
  };

  // Builds W of contacts 0 … num_contacts − 1; `entries` are sorted by contact. Keeps its memory
  // from one call to the next.
  void Build(std::span<const Block> blocks, int num_contacts, std::span<const Entry> entries,
             std::span<const double> values);

  int num_contacts() const { return num_contacts_; }

  auto block(int i, int j) const {
    using Stride = Eigen::OuterStride<>;
    const std::ptrdiff_t n = 3 * num_contacts_;
    return Eigen::Map<const Eigen::Matrix3d, 0, Stride>(&values_[std::size_t(3 * j) * n + 3 * i],
                                                        Stride(n));
  }

  // Contacts j with a block (i, j) that is not zero by structure, ascending.
  std::span<const int> neighbours(int i) const {
    return std::span(neighbours_).subspan(starts_[i], starts_[i + 1] - starts_[i]);
  }

 private:
  int num_contacts_ = 0;
  std::vector<double> values_;            // 3 c × 3 c, column-major
  std::vector<int> starts_, neighbours_;  // of contact i from starts_[i] on
  // work space: rows of one block, contacts that touch it, A above these rows, and −J A⁻¹ Jᵀ
  std::vector<int> own_, touching_;
  std::vector<double> panel_, negative_;
  std::vector<std::pair<int, int>> pairs_;
};

}  // namespace pliant::solvers
