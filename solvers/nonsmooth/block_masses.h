#pragma once

#include <span>
#include <vector>

namespace pliant::solvers {

// A block-diagonal H on consecutive velocities, as its inverse. Blocks of three, and of six that
// couple not their halves (a particle; the turn and the motion of a rigid body about its centre of
// mass), are inverted; larger ones factored and inverted.
class BlockMasses {
 public:
  void Clear();
  // H of the next `size` velocities, size × size, both triangles; false when it is not positive
  // definite.
  bool Append(int size, const double* H);

  int size() const { return size_; }
  // z ← H⁻¹ z
  void Solve(std::span<double> z) const;
  // y ← H x
  void Multiply(std::span<const double> x, std::span<double> y) const;

  // Parts that are independent of each other: of three velocities, or a block that was factored.
  struct Part {
    int first, size;
    std::size_t inverse;  // of a part of three, column-major; or the Cholesky factor
    std::size_t values;   // H
    bool is_inverse;
    std::size_t dense = 0;  // of a part that was factored, its inverse
  };
  const std::vector<Part>& parts() const { return parts_; }
  const double* inverse(const Part& part) const { return &inverses_[part.inverse]; }
  // H⁻¹ of either kind, size × size, as it was given.
  const double* full_inverse(const Part& part) const {
    return part.is_inverse ? &inverses_[part.inverse] : &dense_[part.dense];
  }
  // X ← H⁻¹ X of one part, size × columns, column-major.
  void SolvePart(const Part& part, int columns, double* X) const;

  // H + diag(shift) of the parts of three from here on, shift ≥ 0 by velocity; zeros leave H as it
  // was given.
  void Shift(std::span<const double> shift);

 private:
  std::vector<Part> parts_;
  std::vector<double> inverses_, values_, dense_, panel_;
  mutable std::vector<double> product_;
  int size_ = 0;
};

}  // namespace pliant::solvers
