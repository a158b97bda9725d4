#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace pliant::solvers {

// Rows of J that couple few consecutive velocities each, one or three rows at a time, laid out for
// vectors of four.
class PackedRows {
 public:
  // Number of elements beyond the last velocity that may be read and written. They must be finite
  // on input and have no meaning on output.
  static constexpr int kBeyond = 3;

  void Clear();
  // Adds `height` rows, 1 or 3; later entries belong to them.
  void AddRows(int height);
  // Adds J of the current rows for the velocities from `first` on: height × columns, column-major.
  void AddEntry(int first, int columns, const double* values);

  // z += Jᵀ x and y ← J z; z has kBeyond more numbers after the last velocity. Returns the number
  // of rows.
  std::size_t AddTransposed(const double* x, double* z) const;
  std::size_t Multiply(const double* z, double* y) const;
  // Number of elements that a product reads.
  std::size_t num_values() const { return values_.size(); }

 private:
  struct Rows {
    int height, num_parts;
  };
  // Four velocities, or two if no more are left: padding would be read and written together with
  // the next body, and stall on its stores.
  struct Part {
    int first;
    bool is_narrow;
  };
  std::vector<Rows> rows_;
  std::vector<Part> parts_;
  std::vector<double> values_;  // of each part, row by row
};

}  // namespace pliant::solvers
