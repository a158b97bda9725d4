#include "solvers/hessian/contact_jacobian.h"

#include <immintrin.h>

#include "solvers/linalg/vector_of.h"

namespace pliant::solvers {
namespace {

constexpr int kWidth = 4;

}  // namespace

void ContactJacobian::Start(const IslandView& island, Weights weights) {
  const ConstraintSystem& system = *island.system;
  rows_.clear();
  first_entries_.assign(1, 0);
  num_values_ = 0;
  for (const int c : island.contacts) {
    for (const IslandView::Entry& entry : system.entries_of(system.contacts[c])) {
      const int block = island.block_of(entry);
      if (!entry.is_by_weights()) {
        AddRows(block, island.first_of(entry), entry.columns, system.J(entry), 1);
        continue;
      }
      const std::span<const int> nodes = system.nodes_of(entry);
      const int first = island.local_first[entry.block];
      if (weights == Weights::kKept) {
        rows_.push_back({block, first, 0, 0, num_values_, system.Q(entry), 1, nodes});
        continue;
      }
      for (std::size_t k = 0; k < nodes.size(); ++k)
        AddRows(block, first + nodes[k], 3, system.Q(entry), system.weights(entry)[k]);
    }
    first_entries_.push_back(static_cast<int>(rows_.size()));
  }
  values_.resize(num_values_);
}

void ContactJacobian::AddRows(int block, int first, int columns, const double* J, double factor) {
  // a point of a joint tree moves only with the joints between it and the root
  while (columns > 0 && J[3 * columns - 1] == 0 && J[3 * columns - 2] == 0 &&
         J[3 * columns - 3] == 0)
    --columns;
  const int stride = (columns + kWidth - 1) / kWidth * kWidth;
  rows_.push_back({block, first, columns, stride, num_values_, J, factor});
  num_values_ += 3 * std::size_t(stride);
}

void ContactJacobian::Fill(int contact) {
  for (int e = first_entries_[contact]; e < first_entries_[contact + 1]; ++e) {
    const double* J = rows_[e].J;
    const double factor = rows_[e].factor;
    const int columns = rows_[e].columns, stride = rows_[e].stride;
    double* K = values_.data() + rows_[e].values;
    for (int j = 0; j < columns; ++j, J += 3) {
      for (int r = 0; r < 3; ++r) K[r * stride + j] = factor * J[r];
    }
    for (int j = columns; j < stride; ++j) {
      for (int r = 0; r < 3; ++r) K[r * stride + j] = 0;
    }
  }
}

Eigen::Vector3d ContactJacobian::Multiply(int contact, const double* v) const {
  __m256d x{}, y{}, z{};
  Eigen::Vector3d of_weights = Eigen::Vector3d::Zero();
  for (int e = first_entries_[contact]; e < first_entries_[contact + 1]; ++e) {
    if (rows_[e].is_by_weights()) {
      of_weights += MultiplyByWeights(rows_[e], v);
      continue;
    }
    const int stride = rows_[e].stride;
    const double* K = values_.data() + rows_[e].values;
    const double* v_e = v + rows_[e].first;
    for (int j = 0; j < stride; j += kWidth) {
      const __m256d part = _mm256_loadu_pd(v_e + j);
      x = _mm256_fmadd_pd(_mm256_loadu_pd(K + j), part, x);
      y = _mm256_fmadd_pd(_mm256_loadu_pd(K + stride + j), part, y);
      z = _mm256_fmadd_pd(_mm256_loadu_pd(K + 2 * stride + j), part, z);
    }
  }
  const auto sum = [](__m256d a) { return (a[0] + a[1]) + (a[2] + a[3]); };
  return of_weights + Eigen::Vector3d(sum(x), sum(y), sum(z));
}

// Q Σ w v
Eigen::Vector3d ContactJacobian::MultiplyByWeights(const Rows& rows, const double* v) const {
  const double *Q = rows.J, *w = Q + 9;
  v += rows.first;
  __m256d even{}, odd{};
  std::size_t k = 0;
  for (; k + 1 < rows.nodes.size(); k += 2) {
    even = _mm256_fmadd_pd(_mm256_set1_pd(w[k]), _mm256_loadu_pd(v + rows.nodes[k]), even);
    odd = _mm256_fmadd_pd(_mm256_set1_pd(w[k + 1]), _mm256_loadu_pd(v + rows.nodes[k + 1]), odd);
  }
  if (k < rows.nodes.size())
    even = _mm256_fmadd_pd(_mm256_set1_pd(w[k]), _mm256_loadu_pd(v + rows.nodes[k]), even);
  const __m256d mean = _mm256_add_pd(even, odd);
  return Eigen::Map<const Eigen::Matrix3d>(Q) * Eigen::Vector3d(mean[0], mean[1], mean[2]);
}

void ContactJacobian::AddTransposedByWeights(const Rows& rows, const Eigen::Vector3d& gamma,
                                             double* impulse) const {
  const double *Q = rows.J, *w = Q + 9;
  const Eigen::Vector3d p = Eigen::Map<const Eigen::Matrix3d>(Q).transpose() * gamma;
  // the last lane adds nothing; it is not stored, since another thread may write there
  const __m256d of_all = _mm256_setr_pd(p.x(), p.y(), p.z(), 0);
  impulse += rows.first;
  for (const int node : rows.nodes) {
    double* target = impulse + node;
    const __m256d before = _mm256_maskload_pd(target, FirstLanes(3));
    StoreFirstLanes(target, 3, _mm256_fmadd_pd(_mm256_set1_pd(*w++), of_all, before));
  }
}

void ContactJacobian::AddTransposed(int entry, const Eigen::Vector3d& gamma,
                                    double* impulse) const {
  if (rows_[entry].is_by_weights()) return AddTransposedByWeights(rows_[entry], gamma, impulse);
  const __m256d x = _mm256_set1_pd(gamma.x()), y = _mm256_set1_pd(gamma.y()),
                z = _mm256_set1_pd(gamma.z());
  const int columns = rows_[entry].columns, stride = rows_[entry].stride;
  const double* K = values_.data() + rows_[entry].values;
  double* target = impulse + rows_[entry].first;
  const auto add = [&](int j, __m256d sum) {
    sum = _mm256_fmadd_pd(_mm256_loadu_pd(K + j), x, sum);
    sum = _mm256_fmadd_pd(_mm256_loadu_pd(K + stride + j), y, sum);
    return _mm256_fmadd_pd(_mm256_loadu_pd(K + 2 * stride + j), z, sum);
  };
  int j = 0;
  for (; j + kWidth <= columns; j += kWidth)
    _mm256_storeu_pd(target + j, add(j, _mm256_loadu_pd(target + j)));
  if (j == columns) return;
  // another thread may write the numbers that follow
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

namespace {

// target += K_x x + K_y y + K_z z
inline void AddLinear(__m256d K_x, __m256d K_y, __m256d K_z, __m256d x, __m256d y, __m256d z,
                      double* target) {
  __m256d sum = _mm256_mul_pd(K_z, z);
  sum = _mm256_fmadd_pd(K_y, y, sum);
  sum = _mm256_fmadd_pd(K_x, x, sum);
  _mm256_storeu_pd(target, _mm256_add_pd(_mm256_loadu_pd(target), sum));
}

}  // namespace

template <int kStride>
void ContactJacobian::AddColumns(const Rows& left, const Weighed& right, bool only_lower,
                                 BlockCholesky::Place place) const {
  const int columns = rows_[right.entry].columns;
  const double* K = values_.data() + left.values;
  const double* x = right.values.data();
  const double *y = x + right.values.size() / 3, *z = y + right.values.size() / 3;
  if constexpr (kStride > 0) {
    // a node or a rigid body: its rows fit into registers
    constexpr int kCount = kStride / kWidth;
    __m256d K_x[kCount], K_y[kCount], K_z[kCount];
    for (int i = 0; i < kCount; ++i) {
      K_x[i] = _mm256_loadu_pd(K + kWidth * i);
      K_y[i] = _mm256_loadu_pd(K + kStride + kWidth * i);
      K_z[i] = _mm256_loadu_pd(K + 2 * kStride + kWidth * i);
    }
    for (int j = 0; j < columns; ++j, place.values += place.stride) {
      for (int i = only_lower ? j / kWidth : 0; i < kCount; ++i)
        AddLinear(K_x[i], K_y[i], K_z[i], _mm256_set1_pd(x[j]), _mm256_set1_pd(y[j]),
                  _mm256_set1_pd(z[j]), place.values + kWidth * i);
    }
  } else {
    const int stride = left.stride;
    for (int j = 0; j < columns; ++j, place.values += place.stride) {
      // most velocities of a tree do not move the point
      if (x[j] == 0 && y[j] == 0 && z[j] == 0) continue;
      for (int i = only_lower ? j / kWidth * kWidth : 0; i < stride; i += kWidth)
        AddLinear(_mm256_loadu_pd(K + i), _mm256_loadu_pd(K + stride + i),
                  _mm256_loadu_pd(K + 2 * stride + i), _mm256_set1_pd(x[j]), _mm256_set1_pd(y[j]),
                  _mm256_set1_pd(z[j]), place.values + i);
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
