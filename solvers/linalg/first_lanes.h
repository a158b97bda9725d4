#pragma once

#include <immintrin.h>

namespace pliant::solvers {

// The ends of rows that do not fill a vector of four, or of eight in single precision.

// Mask of the first `count` lanes, as many as there are or none when it is beyond.
inline __m256i FirstLanes(int count) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}

// The first `count` numbers, fewer than four, of x. Not under a mask: there are processors that take such a store apart into a
// dozen operations.
inline void StoreFirstLanes(double* to, int count, __m256d x) {
  __m128d rest = _mm256_castpd256_pd128(x);
  if (count & 2) {
    _mm_storeu_pd(to, rest);
    to += 2;
    rest = _mm256_extractf128_pd(x, 1);
  }
  if (count & 1) _mm_store_sd(to, rest);
}

// The same of eight lanes.
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

}  // namespace pliant::solvers
