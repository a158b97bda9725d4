#pragma once

#include <cmath>

#include <Eigen/Core>

namespace pliant::physics {

// A number with its derivatives in N directions: x + ε·d with ε² = 0. Functions that are templates
// of their scalar give exact derivatives with it (forward-mode differentiation).
template <int N>
struct Dual {
  double x = 0;
  Eigen::Matrix<double, N, 1> d = Eigen::Matrix<double, N, 1>::Zero();

  Dual() = default;
  Dual(double value) : x(value) {}  // NOLINT(google-explicit-constructor): a constant
  Dual(double value, const Eigen::Matrix<double, N, 1>& derivatives) : x(value), d(derivatives) {}

  Dual& operator+=(const Dual& b) { return *this = *this + b; }
  Dual& operator-=(const Dual& b) { return *this = *this - b; }
  Dual& operator*=(const Dual& b) { return *this = *this * b; }
  Dual& operator/=(const Dual& b) { return *this = *this / b; }
  Dual operator-() const { return {-x, -d}; }

  friend Dual operator+(const Dual& a, const Dual& b) { return {a.x + b.x, a.d + b.d}; }
  friend Dual operator-(const Dual& a, const Dual& b) { return {a.x - b.x, a.d - b.d}; }
  friend Dual operator*(const Dual& a, const Dual& b) { return {a.x * b.x, b.x * a.d + a.x * b.d}; }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const double q = a.x / b.x;
    return {q, (a.d - q * b.d) / b.x};
  }
  // Comparisons use the values, so derivatives are those of the branch that is taken.
  friend bool operator<(const Dual& a, const Dual& b) { return a.x < b.x; }
  friend bool operator>(const Dual& a, const Dual& b) { return a.x > b.x; }
  friend bool operator<=(const Dual& a, const Dual& b) { return a.x <= b.x; }
  friend bool operator>=(const Dual& a, const Dual& b) { return a.x >= b.x; }
  friend bool operator==(const Dual& a, const Dual& b) { return a.x == b.x; }
  friend bool operator!=(const Dual& a, const Dual& b) { return a.x != b.x; }
};

// The derivative at zero, where it is infinite, is set to zero.
template <int N>
Dual<N> sqrt(const Dual<N>& a) {
  const double root = std::sqrt(a.x);
  return root > 0 ? Dual<N>(root, a.d / (2 * root)) : Dual<N>(root);
}
template <int N>
Dual<N> abs(const Dual<N>& a) {
  return a.x < 0 ? -a : a;
}

inline double ValueOf(double x) {
  return x;
}
template <int N>
double ValueOf(const Dual<N>& x) {
  return x.x;
}

}  // namespace pliant::physics

namespace Eigen {

template <int N>
struct NumTraits<pliant::physics::Dual<N>> : NumTraits<double> {
  using Real = pliant::physics::Dual<N>;
  using NonInteger = pliant::physics::Dual<N>;
  using Nested = pliant::physics::Dual<N>;
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = N,
    AddCost = N,
    MulCost = 2 * N
  };
};

// Allows mixed expressions of Dual and double.
template <int N, typename BinaryOp>
struct ScalarBinaryOpTraits<pliant::physics::Dual<N>, double, BinaryOp> {
  using ReturnType = pliant::physics::Dual<N>;
};
template <int N, typename BinaryOp>
struct ScalarBinaryOpTraits<double, pliant::physics::Dual<N>, BinaryOp> {
  using ReturnType = pliant::physics::Dual<N>;
};

}  // namespace Eigen
