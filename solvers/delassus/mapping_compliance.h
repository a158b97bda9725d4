#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace pliant::solvers {

// Compliance of the nodes and frames that contacts are attached to: W_H = Σ H A⁻¹ Hᵀ (zeng2022
// (27), (28)).
// H maps the velocities of the blocks to mapped degrees of freedom: nodes of touching features
// (three each), rigid frames (angular, then linear: six), single velocities. It does not depend on
// contact directions and stays valid while these turn: W = Σ C W_H Cᵀ.
//
// A is block-diagonal with dense blocks, and so is W_H. Rows of H for one block are consecutive;
// rows after those of the last block belong to no block: their motion is prescribed.
class MappingCompliance {
 public:
  struct Block {
    int size;
    const double* A;  // size × size, column-major; the lower triangle is read. Positive definite.
    int first_row, num_rows;
    int first_velocity;  // among the velocities of all blocks
  };
  // A part of H: `height` rows from `row` on, for consecutive velocities of one block.
  struct Entry {
    int block;
    int row, height;
    int first, columns;  // within the block
    std::size_t values;  // offset in `values`: height × columns, column-major
  };

  // Builds W_H. Reuses blocks whose A and H equal those of the last call bit for bit. Returns the
  // first block whose A is not positive definite, or −1.
  int Build(std::span<const Block> blocks, std::span<const Entry> entries,
            std::span<const double> values);

  int num_blocks() const { return static_cast<int>(num_blocks_); }
  // number of blocks that the last Build reused
  int num_kept() const { return num_kept_; }
  int first_row(int block) const { return parts_[block].first_row; }
  int num_rows(int block) const { return parts_[block].num_rows; }
  // Element of W_H for two rows of one block; rows are numbered globally.
  double at(int block, int row, int column) const {
    const Part& part = parts_[block];
    return part.W[std::size_t(column - part.first_row) * part.num_rows + row - part.first_row];
  }

  // y += W_H f, where f has `count` ≤ 6 rows of one block, from `row` on, and y has all rows.
  void AddColumns(int block, int row, int count, const double* f, double* y) const;

  // dv = A⁻¹ Hᵀ F of one block, or of all; F has all rows, dv all velocities.
  void CalcVelocityChange(int block, std::span<const double> F, std::span<double> dv) const;
  void CalcVelocityChange(std::span<const double> F, std::span<double> dv) const;

  // impulse = Hᵀ F of all blocks, on all velocities.
  void CalcImpulse(std::span<const double> F, std::span<double> impulse) const;

  // y += H dv of all blocks.
  void AddMapped(std::span<const double> dv, std::span<double> y) const;

 private:
  struct Part {
    int size = 0, first_row = 0, num_rows = 0, first_velocity = 0;
    std::vector<double> A, H;   // inputs of W; H is num_rows × size
    std::vector<double> panel;  // L on top of H L⁻ᵀ
    std::vector<double> W;      // num_rows × num_rows, both triangles
    std::vector<double> new_H;
  };
  std::vector<Part> parts_;
  std::size_t num_blocks_ = 0;
  int num_kept_ = 0;
  mutable std::vector<double> scratch_;
};

}  // namespace pliant::solvers
