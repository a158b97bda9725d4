#pragma once

#include <immintrin.h>

namespace pliant::solvers {

// Partial vectors for the ends of rows: fewer than four doubles, or fewer than eight floats.

// Mask of the first `count` lanes; `count` may be negative or larger than the vector.
inline __m256i FirstLanes(int count) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}

// Stores the first `count` < 4 numbers of x. A masked store is avoided: some processors split it
// into a dozen operations.
inline void StoreFirstLanes(double* to, int count, __m256d x) {
  __m128d rest = _mm256_castpd256_pd128(x);
  if (count & 2) {
    _mm_storeu_pd(to, rest);
    to += 2;
    rest = _mm256_extractf128_pd(x, 1);
  }
  if (count & 1) _mm_store_sd(to, rest);
}

// Mask of the first `count` of eight lanes.
inline __m256i FirstEightLanes(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline void StoreFirstLanes(float* to, int count, __m256 x) {
  __m128 rest = _mm256_castps256_ps128(x);
  if (count & 4) {
    _mm_storeu_ps(to, rest);
    to += 4;
    rest = _mm256_extractf128_ps(x, 1);
  }
  if (count & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), rest);
    to += 2;
    rest = _mm_movehl_ps(rest, rest);
  }
  if (count & 1) _mm_store_ss(to, rest);
}

// A vector register of T, for code shared by both precisions. First(count) is the mask of the first
// `count` lanes, all of them when there are fewer.
template <typename T>
struct VectorOf;

template <>
struct VectorOf<double> {
  using Type = __m256d;
  using Mask = __m256i;
  using Four = __m256d;  // numbers
  static constexpr int kWidth = 4;
  static Type Zero() { return _mm256_setzero_pd(); }
  static Type Set(double x) { return _mm256_set1_pd(x); }
  static Type Broadcast(const double* p) { return _mm256_broadcast_sd(p); }
  static Type Load(const double* p) { return _mm256_loadu_pd(p); }
  static void Store(double* p, Type x) { _mm256_storeu_pd(p, x); }
  static Mask First(int count) { return FirstLanes(count); }
  static Type LoadFirst(const double* p, Mask mask) { return _mm256_maskload_pd(p, mask); }
  static void StoreFirst(double* p, int count, Type x) { StoreFirstLanes(p, count, x); }
  // to ← to + from, for fewer numbers than a vector
  static void AddFirst(int count, const double* from, double* to) {
    if (count & 2) {
      _mm_storeu_pd(to, _mm_add_pd(_mm_loadu_pd(to), _mm_loadu_pd(from)));
      from += 2;
      to += 2;
    }
    if (count & 1) to[0] += from[0];
  }
  static Type Add(Type a, Type b) { return _mm256_add_pd(a, b); }
  static Type Multiply(Type a, Type b) { return _mm256_mul_pd(a, b); }
  static Type MultiplyAdd(Type a, Type b, Type c) { return _mm256_fmadd_pd(a, b, c); }
  static Type NegativeMultiplyAdd(Type a, Type b, Type c) { return _mm256_fnmadd_pd(a, b, c); }
  // the sum over the lanes of each of four vectors
  static Four SumLanes(const Type (&x)[4]) {
    const Type first = _mm256_hadd_pd(x[0], x[1]), last = _mm256_hadd_pd(x[2], x[3]);
    return _mm256_add_pd(_mm256_permute2f128_pd(first, last, 0x20),
                         _mm256_permute2f128_pd(first, last, 0x31));
  }
  static void StoreFour(double* p, Four x) { _mm256_storeu_pd(p, x); }
};

template <>
struct VectorOf<float> {
  using Type = __m256;
  using Mask = __m256i;
  using Four = __m128;
  static constexpr int kWidth = 8;
  static Type Zero() { return _mm256_setzero_ps(); }
  static Type Set(float x) { return _mm256_set1_ps(x); }
  static Type Broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static Type Load(const float* p) { return _mm256_loadu_ps(p); }
  static void Store(float* p, Type x) { _mm256_storeu_ps(p, x); }
  static Mask First(int count) { return FirstEightLanes(count); }
  static Type LoadFirst(const float* p, Mask mask) { return _mm256_maskload_ps(p, mask); }
  static void StoreFirst(float* p, int count, Type x) { StoreFirstLanes(p, count, x); }
  static void AddFirst(int count, const float* from, float* to) {
    if (count & 4) {
      _mm_storeu_ps(to, _mm_add_ps(_mm_loadu_ps(to), _mm_loadu_ps(from)));
      from += 4;
      to += 4;
    }
    if (count & 2) {
      to[0] += from[0];
      to[1] += from[1];
      from += 2;
      to += 2;
    }
    if (count & 1) to[0] += from[0];
  }
  static Type Add(Type a, Type b) { return _mm256_add_ps(a, b); }
  static Type Multiply(Type a, Type b) { return _mm256_mul_ps(a, b); }
  static Type MultiplyAdd(Type a, Type b, Type c) { return _mm256_fmadd_ps(a, b, c); }
  static Type NegativeMultiplyAdd(Type a, Type b, Type c) { return _mm256_fnmadd_ps(a, b, c); }
  static Four SumLanes(const Type (&x)[4]) {
    const Type halves = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3]));
    return _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
  }
  static void StoreFour(float* p, Four x) { _mm_storeu_ps(p, x); }
};

}  // namespace pliant::solvers
