#pragma once

#include <string_view>

namespace pliant::solvers {
class ContactLaw;
}

namespace pliant::physics {
class Integrator;
}

namespace pliant::physics {

enum class MethodKind { kConvex, kCorrective, kNonsmooth };

// Default of the methods that relinearise until the nonlinear momentum balance holds: an impact
// needs three to six rounds, a soft ball that is crushed flat some sixty.
inline constexpr int kMaxRelinearisations = 100;

// han2023 §VI, castro2022's constants.
struct ConvexOptions {
  enum class LineSearch { kExact, kBacktracking };
  double tolerance = 1e-6;  // ε_r
  int max_iterations = 100;
  bool warm_start = true;
  double sigma = 1e-3;
  double beta = 1;
  LineSearch line_search = LineSearch::kExact;
  const solvers::ContactLaw* law = nullptr;  // in place of SAP's friction cone
  double theta = 1;
  double theta_vq = 1;
  const Integrator* integrator = nullptr;  // in place of θ and θ_vq
  // Rounds in which bodies that are not linear are linearised anew at the solution, at most.
  int relinearisations = kMaxRelinearisations;
};

// zeng2022 §5–§7.
struct CorrectiveOptions {
  enum class Scheme { kFast, kStandard, kSingle };
  enum class Directions { kRecursion, kSweep, kContact };
  Scheme scheme = Scheme::kFast;
  Directions directions = Directions::kRecursion;
  double tolerance =
      1e-5;            // largest change of an impulse in a sweep, relative to the largest impulse
  int recursions = 5;  // at most
  int sweeps = 30;     // at most, in each
  bool warm_start = true;
};

// macklin2019.
struct NonsmoothOptions {
  enum class Ncp { kFischerBurmeister, kMinimumMap };
  // What finds friction: macklin2019's fixed point, Newton's method on the whole cone, or that
  // where the other does not arrive.
  enum class Friction { kFixedPoint, kCone, kFixedPointThenCone };
  enum class Preconditioner { kEffectiveMass, kTimeStep, kIdentity };
  enum class LinearSolver { kPcr, kPcg, kJacobi, kGaussSeidel, kDirect };
  enum class Coordinates { kReduced, kMaximal };
  enum class NormalScaling { kDivided, kBothSides };
  double tolerance = 1e-8;  // of the natural map [m]
  int newton_iterations = 30;
  int linear_iterations = 100;  // of each
  double step_length = 0.75;    // of a Newton step, until the residual has halved
  bool warm_start = true;
  Friction friction = Friction::kFixedPointThenCone;
  Ncp ncp = Ncp::kFischerBurmeister;
  Preconditioner preconditioner = Preconditioner::kEffectiveMass;
  LinearSolver linear_solver = LinearSolver::kPcr;
  // Joint velocities and tangents of whole bodies, or bodies and particles with what holds them
  // together as rows.
  Coordinates coordinates = Coordinates::kReduced;
  NormalScaling normal_scaling = NormalScaling::kDivided;
  bool geometric_stiffness = true;              // of particles, in maximal coordinates
  int relinearisations = kMaxRelinearisations;  // as ConvexOptions', in reduced coordinates
  double momentum_tolerance = 1e-6;             // of these: residual of the momentum balance
};

struct MethodOptions {
  MethodKind kind = MethodKind::kConvex;
  ConvexOptions convex;
  CorrectiveOptions corrective;
  NonsmoothOptions nonsmooth;

  // Whether blocks are to be in compliance form.
  bool is_maximal() const {
    return kind == MethodKind::kNonsmooth &&
           nonsmooth.coordinates == NonsmoothOptions::Coordinates::kMaximal;
  }

  // Why the contact problem of a step cannot be exported; empty: it can.
  std::string_view WhyNotExported() const {
    if (!is_maximal()) return {};
    return "describes problems in reduced coordinates; leave it out, or add --set "
           "method.nonsmooth.coordinates=REDUCED";
  }
};

// As scenes and reports call it.
constexpr const char* MethodName(MethodKind kind) {
  switch (kind) {
    case MethodKind::kConvex:
      return "convex";
    case MethodKind::kCorrective:
      return "corrective";
    case MethodKind::kNonsmooth:
      return "nonsmooth";
  }
  return "";
}

}  // namespace pliant::physics
