#pragma once

// Dense column-major kernels in double precision; those needed by a factor and a solution exist in
// single precision too. Written here because the bits must not depend on the CPU: every element is
// a sum in ascending k by fused multiply-adds, in any tile (an auto-dispatching BLAS, or one that
// blocks by cache size, gives different last bits on other machines).
namespace pliant::solvers {

// Lower trapezoid of C ← C − A Aᵀ: columns 0 … n − 1, rows from the diagonal to m − 1. A is m × k;
// leading dimensions in numbers. Entries just above the diagonal may be written too.
void SubtractLowerTrapezoid(int m, int n, int k, const double* A, int lda, double* C, int ldc);
void SubtractLowerTrapezoid(int m, int n, int k, const float* A, int lda, float* C, int ldc);

// Lower trapezoid of C ← −A Aᵀ, with the same arguments.
void NegateLowerTrapezoid(int m, int n, int k, const double* A, int lda, double* C, int ldc);
void NegateLowerTrapezoid(int m, int n, int k, const float* A, int lda, float* C, int ldc);

// C ← C − A Bᵀ and C ← −A Bᵀ, with A m × k, B n × k and C m × n.
void SubtractProduct(int m, int n, int k, const double* A, int lda, const double* B, int ldb,
                     double* C, int ldc);
void NegateProduct(int m, int n, int k, const double* A, int lda, const double* B, int ldb,
                   double* C, int ldc);

// Factors the first k columns of the lower trapezoid A (n × k) of a symmetric matrix: A ← L.
// Returns the index of the first pivot that is not above zero (NaN included), or −1.
int FactorPanel(int n, int k, double* A, int lda);
int FactorPanel(int n, int k, float* A, int lda);

// Cholesky factor of the lower triangle of A (n × n) in place; return value as above.
int FactorCholesky(int n, double* A, int lda);

// x ← L⁻¹ x and x ← L⁻ᵀ x with the n × n lower triangle of L.
void SolveLower(int n, const double* L, int ldl, double* x);
void SolveLower(int n, const float* L, int ldl, float* x);
void SolveLowerTransposed(int n, const double* L, int ldl, double* x);
void SolveLowerTransposed(int n, const float* L, int ldl, float* x);

// y ← y − A x and x ← x − Aᵀ y with A m × n.
void SubtractMatrixVector(int m, int n, const double* A, int lda, const double* x, double* y);
void SubtractMatrixVector(int m, int n, const float* A, int lda, const float* x, float* y);
void SubtractTransposedMatrixVector(int m, int n, const double* A, int lda, const double* y,
                                    double* x);
void SubtractTransposedMatrixVector(int m, int n, const float* A, int lda, const float* y,
                                    float* x);

// y ← A x with a full symmetric A (n × n, both triangles stored).
void MultiplySymmetric(int n, const double* A, int lda, const double* x, double* y);

// W ← J (L Lᵀ)⁻¹ Jᵀ, 3 × 3, with J 3 × n. X has room for 4 n numbers. The second function computes
// two W in little more time; X then has room for 8 n.
void CalcCompliance(int n, const double* L, int ldl, const double* J, double* X, double* W);
void CalcTwoCompliances(int n, const double* L, int ldl, const double* const (&J)[2], double* X,
                        double* const (&W)[2]);

// Σ x_i y_i, summed in eight fixed lanes.
double Dot(int n, const double* x, const double* y);

}  // namespace pliant::solvers
