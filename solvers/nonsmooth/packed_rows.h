#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace pliant::solvers {

// Rows of J on few consecutive velocities each, one or three rows at a time, laid out for vectors
// of four.
class PackedRows {
 public:
  // Numbers that may be read and written beyond the last velocity: what is written there has no
  // meaning, what is read must be finite.
  static constexpr int kBeyond = 3;

  void Clear();
  // `height` rows, 1 or 3; entries added from here on are theirs.
  void AddRows(int height);
  // height × columns, column-major, on the velocities from `first` on.
  void AddEntry(int first, int columns, const double* values);

  // z += Jᵀ x and y ← J z, with kBeyond numbers after the last velocity of z. Returns how many rows
  // there are.
  std::size_t AddTransposed(const double* x, double* z) const;
  std::size_t Multiply(const double* z, double* y) const;

 private:
  struct Rows {
    int height, num_parts;
  };
  struct Part {
    int first;
  };
  std::vector<Rows> rows_;
  std::vector<Part> parts_;     // four velocities each
  std::vector<double> values_;  // of each part, row by row
};

}  // namespace pliant::solvers
