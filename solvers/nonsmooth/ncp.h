#pragma once

namespace pliant::solvers {

// Complementarity functions; their roots satisfy 0 ≤ a ⊥ b ≥ 0 (macklin2019 §4).
enum class NcpFunction { kFischerBurmeister, kMinimumMap };

// Value of φ(C, r λ) and a generalised derivative with respect to C and λ.
struct NcpValue {
  double phi;
  double alpha;  // ∂φ/∂C
  double S;      // ∂φ/∂λ
};

// φ(C, r λ) with the complementarity preconditioner r > 0 (macklin2019 §4.1, §4.2, §6.3). At the
// kink (0, 0): α = 0, S = r.
NcpValue CalcNcp(NcpFunction ncp, double C, double r, double lambda);

// Fixed-point compliance W ≥ 0 of friction (macklin2019 (35), appendix A): v + W λ = 0 for a force
// λ opposite to the slip v at ψ(‖v‖, r (limit − ‖λ‖)) = 0. `slip` = ‖v‖ and `force` = ‖λ‖. Beyond
// the limit W is positive at rest too, and reduces the force. W = kUnloadedCompliance · r when
// limit ≤ 0.
double CalcFrictionCompliance(NcpFunction ncp, double slip, double force, double limit, double r);

inline constexpr double kUnloadedCompliance = 1e12;

}  // namespace pliant::solvers
