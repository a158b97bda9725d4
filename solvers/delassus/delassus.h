#pragma once

#include <vector>

#include <Eigen/Core>

namespace pliant::solvers {

// Compliance of a world seen by its contacts: W = J A⁻¹ Jᵀ [1/kg], 3 × 3 blocks, one row and column a contact.
// A is block-diagonal; contacts couple blocks. (zeng2022 (12): W = Σ H A⁻¹ Hᵀ, with the world-frame directions in J.)
class DelassusOperator {
 public:
  // One contact's rows on consecutive velocities of one block.
  struct Entry {
    int block;
    int first;     // within the block
    int columns;
    const double* values;  // 3 × columns, column-major
  };

  // blocks: factor of each A as the lower Cholesky triangle, column-major.
  struct Factor {
    int size;
    const double* L;
  };

  DelassusOperator(const std::vector<Factor>& factors, const std::vector<std::vector<Entry>>& contacts);

  int num_contacts() const { return num_contacts_; }
  // Block (i, j), 3 × 3.
  Eigen::Map<const Eigen::Matrix3d> block(int i, int j) const {
    return Eigen::Map<const Eigen::Matrix3d>(&values_[9 * (std::size_t(i) * num_contacts_ + j)]);
  }
  // Contacts j with a block (i, j) that is not zero by structure, ascending.
  const std::vector<int>& neighbours(int i) const { return neighbours_[i]; }

 private:
  int num_contacts_;
  std::vector<double> values_;
  std::vector<std::vector<int>> neighbours_;
};

}  // namespace pliant::solvers
