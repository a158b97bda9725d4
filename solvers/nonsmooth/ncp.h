#pragma once

namespace pliant::solvers {

// Functions whose roots are 0 ≤ a ⊥ b ≥ 0 (macklin2019 §4).
enum class NcpFunction { kFischerBurmeister, kMinimumMap };

// Value and a generalised derivative of φ(C, r λ) by C and by λ.
struct NcpValue {
  double phi;
  double alpha;  // ∂φ/∂C
  double S;      // ∂φ/∂λ
};

// φ(C, r λ) with the complementarity preconditioner r > 0 (macklin2019 §4.1, §4.2, §6.3). At the
// kink (0, 0): α = 0, S = r.
NcpValue CalcNcp(NcpFunction ncp, double C, double r, double lambda);

// W ≥ 0 that makes v + W λ = 0 hold for a force λ opposite to the slip v at ψ(‖v‖, r (limit − ‖λ‖))
// = 0, as a fixed point (macklin2019 (35), appendix A). `slip` = ‖v‖ and `force` = ‖λ‖; beyond the
// limit W is positive at rest too, and pulls the force back. Without a limit it is as large as
// kLooseFriction · r.
double CalcFrictionCompliance(NcpFunction ncp, double slip, double force, double limit, double r);

inline constexpr double kLooseFriction = 1e12;

}  // namespace pliant::solvers
