#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "solvers/linalg/block_cholesky.h"
#include "solvers/problem/island_view.h"

namespace pliant::solvers {

// Jacobian of an island's contacts in a SIMD-friendly layout: each entry's three rows one after
// another, padded with zeros to whole SIMD lanes. Entries are numbered from 0, contact by contact.
// Vectors passed in need room for kBeyond additional numbers, which are left unchanged.
//
// Entries by weights are either read where the system has them, or become an entry for each of
// their nodes.
class ContactJacobian {
 public:
  static constexpr int kBeyond = BlockCholesky::kBeyond;
  enum class Weights { kKept, kExpanded };

  // `island` must outlive this. Fill must then be called once for each contact, in any order,
  // concurrently for different contacts. Keeps its memory.
  void Start(const IslandView& island, Weights weights);
  void Fill(int contact);

  // First entry of a contact; its entries end at first_entry(contact + 1).
  int first_entry(int contact) const { return first_entries_[contact]; }
  // First velocity of an entry, unless it is kept by weights, and the block that it belongs to.
  int first_of(int entry) const { return rows_[entry].first; }
  int block_of(int entry) const { return rows_[entry].block; }

  // J v of a contact, without the bias.
  Eigen::Vector3d Multiply(int contact, const double* v) const;
  // impulse += Jᵀ γ of one entry. Changes no other velocities.
  void AddTransposed(int entry, const Eigen::Vector3d& gamma, double* impulse) const;

  // G J of an entry, which must not be kept by weights.
  struct Weighed {
    int entry;
    std::vector<double> values;
  };
  void Weigh(int entry, const Eigen::Matrix3d& G, Weighed* weighed) const;
  // Adds J_leftᵀ (G J) to `place`. For an entry with itself, only the lower triangle is added, and
  // entries that share its SIMD lanes.
  void AddProduct(int left, const Weighed& right, BlockCholesky::Place place) const;

 private:
  struct Rows {
    int block;
    int first;    // by weights: of the block
    int columns;  // up to the last nonzero one
    int stride;   // from row to row: columns, rounded up to whole lanes
    std::size_t values;
    const double* J;                  // in the system; by weights: Q, and then the weights
    double factor = 1;                // of J
    std::span<const int> nodes = {};  // by weights: as in the system

    bool is_by_weights() const { return !nodes.empty(); }
  };
  void AddRows(int block, int first, int columns, const double* J, double factor);
  Eigen::Vector3d MultiplyByWeights(const Rows& rows, const double* v) const;
  void AddTransposedByWeights(const Rows& rows, const Eigen::Vector3d& gamma,
                              double* impulse) const;
  template <int kStride>
  void AddColumns(const Rows& left, const Weighed& right, bool only_lower,
                  BlockCholesky::Place place) const;

  std::vector<Rows> rows_;          // of each entry
  std::vector<int> first_entries_;  // of each contact; one more
  std::size_t num_values_ = 0;
  std::vector<double> values_;
};

}  // namespace pliant::solvers
