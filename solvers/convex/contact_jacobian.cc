#include "solvers/convex/contact_jacobian.h"

#include <immintrin.h>

#include "solvers/linalg/vector_of.h"

namespace pliant::solvers {
namespace {

constexpr int kWidth = 4;

}  // namespace

void ContactJacobian::Start(const ConvexProblem& problem) {
  problem_ = &problem;
  rows_.resize(problem.entries.size());
  std::size_t size = 0;
  for (const ConvexProblem::Contact& contact : problem.contacts) {
    for (int e = contact.first_entry; e < contact.first_entry + contact.num_entries; ++e) {
      const double* J = &problem.values[problem.entries[e].values];
      // a joint tree's point moves with the joints between it and the root only
      int columns = problem.entries[e].columns;
      while (columns > 0 && J[3 * columns - 1] == 0 && J[3 * columns - 2] == 0 &&
             J[3 * columns - 3] == 0)
        --columns;
      const int stride = (columns + kWidth - 1) / kWidth * kWidth;
      rows_[e] = {columns, stride, size};
      size += 3 * std::size_t(stride);
    }
  }
  values_.resize(size);
}

void ContactJacobian::Fill(int contact) {
  const ConvexProblem::Contact& of = problem_->contacts[contact];
  for (int e = of.first_entry; e < of.first_entry + of.num_entries; ++e) {
    const double* J = &problem_->values[problem_->entries[e].values];
    const int columns = rows_[e].columns, stride = rows_[e].stride;
    double* K = values_.data() + rows_[e].values;
    for (int j = 0; j < columns; ++j, J += 3) {
      for (int r = 0; r < 3; ++r) K[r * stride + j] = J[r];
    }
    for (int j = columns; j < stride; ++j) {
      for (int r = 0; r < 3; ++r) K[r * stride + j] = 0;
    }
  }
}

Eigen::Vector3d ContactJacobian::Multiply(int contact, const double* v) const {
  const ConvexProblem::Contact& c = problem_->contacts[contact];
  __m256d x{}, y{}, z{};
  for (int e = c.first_entry; e < c.first_entry + c.num_entries; ++e) {
    const int stride = rows_[e].stride;
    const double* K = values_.data() + rows_[e].values;
    const double* v_e = v + problem_->entries[e].first;
    for (int j = 0; j < stride; j += kWidth) {
      const __m256d part = _mm256_loadu_pd(v_e + j);
      x = _mm256_fmadd_pd(_mm256_loadu_pd(K + j), part, x);
      y = _mm256_fmadd_pd(_mm256_loadu_pd(K + stride + j), part, y);
      z = _mm256_fmadd_pd(_mm256_loadu_pd(K + 2 * stride + j), part, z);
    }
  }
  const auto sum = [](__m256d a) { return (a[0] + a[1]) + (a[2] + a[3]); };
  return {sum(x), sum(y), sum(z)};
}

void ContactJacobian::AddTransposed(int entry, const Eigen::Vector3d& gamma,
                                    double* impulse) const {
  const __m256d x = _mm256_set1_pd(gamma.x()), y = _mm256_set1_pd(gamma.y()),
                z = _mm256_set1_pd(gamma.z());
  const int columns = rows_[entry].columns, stride = rows_[entry].stride;
  const double* K = values_.data() + rows_[entry].values;
  double* target = impulse + problem_->entries[entry].first;
  const auto add = [&](int j, __m256d sum) {
    sum = _mm256_fmadd_pd(_mm256_loadu_pd(K + j), x, sum);
    sum = _mm256_fmadd_pd(_mm256_loadu_pd(K + stride + j), y, sum);
    return _mm256_fmadd_pd(_mm256_loadu_pd(K + 2 * stride + j), z, sum);
  };
  int j = 0;
  for (; j + kWidth <= columns; j += kWidth)
    _mm256_storeu_pd(target + j, add(j, _mm256_loadu_pd(target + j)));
  if (j == columns) return;
  // somebody else may be at what follows
  const int rest = columns - j;
  StoreFirstLanes(target + j, rest, add(j, _mm256_maskload_pd(target + j, FirstLanes(rest))));
}

void ContactJacobian::Weigh(int entry, const Eigen::Matrix3d& G, Weighed* weighed) const {
  weighed->entry = entry;
  const int stride = rows_[entry].stride;
  const double* K = values_.data() + rows_[entry].values;
  weighed->values.resize(3 * std::size_t(stride));
  for (int j = 0; j < stride; j += kWidth) {
    const __m256d x = _mm256_loadu_pd(K + j), y = _mm256_loadu_pd(K + stride + j),
                  z = _mm256_loadu_pd(K + 2 * stride + j);
    for (int r = 0; r < 3; ++r) {
      __m256d sum = _mm256_mul_pd(_mm256_set1_pd(G(r, 2)), z);
      sum = _mm256_fmadd_pd(_mm256_set1_pd(G(r, 1)), y, sum);
      sum = _mm256_fmadd_pd(_mm256_set1_pd(G(r, 0)), x, sum);
      _mm256_storeu_pd(weighed->values.data() + r * stride + j, sum);
    }
  }
}

template <int kStride>
void ContactJacobian::AddColumns(const Rows& left, const Weighed& right, bool only_lower,
                                 BlockCholesky::Place place) const {
  const int columns = rows_[right.entry].columns;
  const int stride = kStride > 0 ? kStride : left.stride;
  const double* K = values_.data() + left.values;
  const double* x = right.values.data();
  const double *y = x + right.values.size() / 3, *z = y + right.values.size() / 3;
  for (int j = 0; j < columns; ++j, place.values += place.stride) {
    if (x[j] == 0 && y[j] == 0 && z[j] == 0) continue;
    const __m256d x_j = _mm256_set1_pd(x[j]), y_j = _mm256_set1_pd(y[j]),
                  z_j = _mm256_set1_pd(z[j]);
    for (int i = only_lower ? j / kWidth * kWidth : 0; i < stride; i += kWidth) {
      __m256d sum = _mm256_mul_pd(_mm256_loadu_pd(K + 2 * stride + i), z_j);
      sum = _mm256_fmadd_pd(_mm256_loadu_pd(K + stride + i), y_j, sum);
      sum = _mm256_fmadd_pd(_mm256_loadu_pd(K + i), x_j, sum);
      double* target = place.values + i;
      _mm256_storeu_pd(target, _mm256_add_pd(_mm256_loadu_pd(target), sum));
    }
  }
}

void ContactJacobian::AddProduct(int left, const Weighed& right, BlockCholesky::Place place) const {
  const bool only_lower = left == right.entry;
  switch (rows_[left].stride) {
    case 4:  // a node
      return AddColumns<4>(rows_[left], right, only_lower, place);
    case 8:  // a rigid body
      return AddColumns<8>(rows_[left], right, only_lower, place);
    default:
      return AddColumns<0>(rows_[left], right, only_lower, place);
  }
}

}  // namespace pliant::solvers
