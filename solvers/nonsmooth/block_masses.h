#pragma once

#include <span>
#include <vector>

namespace pliant::solvers {

// A block-diagonal mass matrix H and its inverse. Blocks of three, and blocks of six whose halves
// are not coupled (a particle; rotation and translation of a rigid body about its centre of mass),
// are inverted; larger blocks are factored and inverted.
class BlockMasses {
 public:
  void Clear();
  // Appends H of the next `size` velocities, size × size, both triangles. False when it is not
  // positive definite.
  bool Append(int size, const double* H);

  int size() const { return size_; }
  // z ← H⁻¹ z
  void Solve(std::span<double> z) const;
  // y ← H x
  void Multiply(std::span<const double> x, std::span<double> y) const;

  // An independent part: three velocities, or a block that was factored.
  struct Part {
    int first, size;
    std::size_t inverse;  // inverse of a part of three, column-major; or the Cholesky factor
    std::size_t values;   // H
    bool is_inverse;
    std::size_t dense = 0;  // inverse of a part that was factored
  };
  const std::vector<Part>& parts() const { return parts_; }
  const double* inverse(const Part& part) const { return &inverses_[part.inverse]; }
  // H⁻¹ of either kind, size × size, as appended.
  const double* full_inverse(const Part& part) const {
    return part.is_inverse ? &inverses_[part.inverse] : &dense_[part.dense];
  }
  // X ← H⁻¹ X of one part, size × columns, column-major.
  void SolvePart(const Part& part, int columns, double* X) const;

  // Uses H + diag(shift) for the parts of three from now on, shift ≥ 0 by velocity. Zeros restore
  // the original H.
  void Shift(std::span<const double> shift);

 private:
  std::vector<Part> parts_;
  std::vector<double> inverses_, values_, dense_, panel_;
  mutable std::vector<double> product_;
  int size_ = 0;
};

}  // namespace pliant::solvers
