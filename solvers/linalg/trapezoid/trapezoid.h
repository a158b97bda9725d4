#pragma once

namespace pliant::solvers {

// Lower trapezoid of C ← C − A Aᵀ, or of C ← −A Aᵀ when `overwrite`: columns 0 … n − 1, rows from
// the diagonal to m − 1. A is m × k. A few entries above the diagonal are written too. There is one
// function per vector width; all give the same bits.
void SubtractLowerTrapezoidAvx2(int m, int n, int k, const double* A, int lda, double* C, int ldc,
                                bool overwrite);
void SubtractLowerTrapezoidAvx2(int m, int n, int k, const float* A, int lda, float* C, int ldc,
                                bool overwrite);
// The same for a rectangle: C ← C − A Bᵀ or C ← −A Bᵀ, with A m × k and B n × k.
void SubtractProductAvx2(int m, int n, int k, const double* A, int lda, const double* B, int ldb,
                         double* C, int ldc, bool overwrite);
// These need a CPU with AVX-512 F.
void SubtractLowerTrapezoidAvx512(int m, int n, int k, const double* A, int lda, double* C, int ldc,
                                  bool overwrite);
void SubtractLowerTrapezoidAvx512(int m, int n, int k, const float* A, int lda, float* C, int ldc,
                                  bool overwrite);
void SubtractProductAvx512(int m, int n, int k, const double* A, int lda, const double* B, int ldb,
                           double* C, int ldc, bool overwrite);

}  // namespace pliant::solvers
