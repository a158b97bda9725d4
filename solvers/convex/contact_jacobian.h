#pragma once

#include <vector>

#include <Eigen/Core>

#include "solvers/linalg/block_cholesky.h"
#include "solvers/problem/island_view.h"

namespace pliant::solvers {

// J of an island's contacts, in the layout that its products want: each entry's three rows one
// after another, filled up with zeros to whole SIMD lanes. Entries are numbered from 0, contact by
// contact. Vectors that it meets need room for kBeyond more numbers, which it does not change.
class ContactJacobian {
 public:
  static constexpr int kBeyond = BlockCholesky::kBeyond;

  // The island outlives it. Each contact is to be filled in then, at any time and side by side with
  // others. Keeps its memory.
  void Start(const IslandView& island);
  void Fill(int contact);

  // The entries of a contact begin at this one, and end where those of the next contact begin.
  int first_entry(int contact) const { return first_entries_[contact]; }
  // First velocity of an entry, and the block that this is of.
  int first_of(int entry) const { return rows_[entry].first; }
  int block_of(int entry) const { return rows_[entry].block; }

  // J v of a contact, without its bias.
  Eigen::Vector3d Multiply(int contact, const double* v) const;
  // impulse += Jᵀ γ of one of a contact's entries. Touches nothing else.
  void AddTransposed(int entry, const Eigen::Vector3d& gamma, double* impulse) const;

  // G J of an entry.
  struct Weighed {
    int entry;
    std::vector<double> values;
  };
  void Weigh(int entry, const Eigen::Matrix3d& G, Weighed* weighed) const;
  // Adds K_leftᵀ (G J) to `place`: where an entry meets itself, of the lower triangle and what
  // shares its lanes.
  void AddProduct(int left, const Weighed& right, BlockCholesky::Place place) const;

 private:
  struct Rows {
    int block, first;
    int columns;  // up to the last that is not zero
    int stride;   // from row to row: these, rounded up to whole lanes
    std::size_t values;
    const double* J;  // in the system
  };
  template <int kStride>
  void AddColumns(const Rows& left, const Weighed& right, bool only_lower,
                  BlockCholesky::Place place) const;

  std::vector<Rows> rows_;          // of each entry
  std::vector<int> first_entries_;  // of each contact; one more
  std::vector<double> values_;
};

}  // namespace pliant::solvers
