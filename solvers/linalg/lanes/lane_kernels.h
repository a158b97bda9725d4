#pragma once

namespace pliant::solvers {

// The inner loops of LaneCholesky, compiled once per vector width. All give the same bits: every
// number is a chain of fused multiply-adds in an order given by the layout, and lanes are
// independent.
//
// A block of eight factors has nine entries, column-major, of eight lanes each: 72 numbers. A
// diagonal block holds the reciprocals of its diagonal. Everything is aligned to 64 bytes.
struct LaneKernels {
  static constexpr int kLanes = 8;
  static constexpr int kBlock = 9 * kLanes;
  // The Schur complement is computed kColumns columns, eight nodes, at a time. A panel is a node's
  // three rows of these columns.
  static constexpr int kColumns = 24;
  static constexpr int kPanel = 3 * kColumns;

  // LaneLayout as plain arrays.
  struct Layout {
    int num_nodes;
    int num_sources;  // blocks of A
    const int* column_starts;
    const int* rows;
    const int* sources;
    const char* is_transposed;
    const int* term_starts;
    const int* terms;  // pairs
  };
  // Indices of a panel of A and a panel of B.
  struct Pair {
    int a, b;
  };

  // Factors `count` matrices; `values` has kLanes pointers. failed[l]: first position where a pivot
  // of lane l is not above zero (NaN included), or −1.
  void (*factor)(const Layout& layout, int count, const double* const* values, double* L,
                 int* failed);
  // y ← A⁻¹ y, by positions: (position, axis, lane).
  void (*solve)(const Layout& layout, int count, const double* L, double* y);
  // X ← L⁻¹ X of one lane; L points to the lane's first number. `touched`: the positions where X
  // may be nonzero, ascending; slots[position]: the index of X's panel.
  void (*solve_columns)(const Layout& layout, const double* L, const int* touched, int count,
                        const int* slots, double* X);
  // C ← C ± Σ Aᵀ B over pairs of panels. C is kColumns × kColumns, row-major, as are all below.
  void (*add_products)(const Pair* pairs, int count, const double* A, const double* B, double* C);
  void (*subtract_products)(const Pair* pairs, int count, const double* A, const double* B,
                            double* C);
  // C = Uᵀ U in place, with reciprocals on the diagonal of U; false when C is not positive
  // definite. B ← U⁻ᵀ B.
  bool (*factor_square)(double* C);
  void (*solve_square)(const double* U, double* B);
};

extern const LaneKernels kLaneKernelsAvx2;
extern const LaneKernels kLaneKernelsAvx512;  // needs a CPU with AVX-512 F

}  // namespace pliant::solvers
