#pragma once

#include <string_view>

namespace pliant::solvers {
class ContactLaw;
}

namespace pliant::physics {
class Integrator;
struct StageRule;
}  // namespace pliant::physics

namespace pliant::physics {

enum class MethodKind { kConvex, kCorrective, kNonsmooth, kSmooth };

// Default of the methods that relinearise until the nonlinear momentum balance holds: an impact
// needs three to six rounds, a soft ball being crushed flat about sixty.
inline constexpr int kMaxRelinearisations = 100;

// han2023 §VI, castro2022's constants.
struct ConvexOptions {
  enum class LineSearch { kExact, kBacktracking };
  double tolerance = 1e-6;  // ε_r
  int max_iterations = 100;
  bool warm_start = true;
  double sigma = 1e-3;
  // β of near-rigid contacts and constraints; 0: as the bodies in contact give it
  // (FrameSet::contact_beta), and as frames for constraints.
  double beta = 0;
  LineSearch line_search = LineSearch::kExact;
  const solvers::ContactLaw* law = nullptr;  // replaces SAP's friction cone
  double theta = 1;
  double theta_vq = 1;
  const Integrator* integrator = nullptr;  // replaces θ and θ_vq
  // Largest number of relinearisations of nonlinear bodies at the solution.
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
  int recursions = 5;  // with sweeps
  // Maximum number of recursions: if those with sweeps do not converge, others follow that solve
  // the linearised problem. Equal to `recursions` if the scene gives a limit.
  int max_recursions = 60;
  int sweeps = 30;  // at most, per recursion
  bool warm_start = true;
};

// macklin2019.
struct NonsmoothOptions {
  enum class Ncp { kFischerBurmeister, kMinimumMap };
  // Friction solver: macklin2019's fixed point, Newton's method on the whole cone, or the latter
  // where the former does not converge.
  enum class Friction { kFixedPoint, kCone, kFixedPointThenCone };
  enum class Preconditioner { kEffectiveMass, kTimeStep, kIdentity };
  enum class LinearSolver { kPcr, kPcg, kJacobi, kGaussSeidel, kDirect };
  enum class Coordinates { kReduced, kMaximal };
  enum class NormalScaling { kDivided, kBothSides };
  double tolerance = 1e-8;  // of the natural map [m]
  int newton_iterations = 30;
  int linear_iterations = 100;  // per Newton iteration
  double step_length = 0.75;    // of a Newton step, until the residual has halved
  bool warm_start = true;
  Friction friction = Friction::kFixedPointThenCone;
  Ncp ncp = Ncp::kFischerBurmeister;
  Preconditioner preconditioner = Preconditioner::kEffectiveMass;
  LinearSolver linear_solver = LinearSolver::kPcr;
  // Reduced: joint velocities, and tangents of whole bodies. Maximal: bodies and particles, held
  // together by rows.
  Coordinates coordinates = Coordinates::kReduced;
  NormalScaling normal_scaling = NormalScaling::kDivided;
  bool geometric_stiffness = true;              // of particles, in maximal coordinates
  int relinearisations = kMaxRelinearisations;  // as in ConvexOptions; reduced coordinates
  double momentum_tolerance = 1e-6;             // residual at which relinearisation ends
};

// Options of the smooth method (larionov2023).
struct SmoothOptions {
  enum class LinearSolver { kDirect, kIterative };
  enum class Friction { kImplicit, kLagged };
  enum class Potential { kCubic, kLogBarrier };
  const StageRule* integrator = nullptr;  // null: BE
  LinearSolver linear_solver = LinearSolver::kDirect;
  Friction friction = Friction::kImplicit;
  int passes = 1;                           // of lagged friction: solves of a step
  double contact_distance = 1e-3;           // δ [m]
  Potential potential = Potential::kCubic;  // of normal forces
  double stick_speed = 1e-3;                // ε [m/s]
  double contact_stiffness = 0;  // κ [N/m] of a point, [N/m³] of a surface; 0: from the weights
  bool sliding_basis = true;     // include the terms of turning normals in the Jacobian
  bool exact_volume_tangent = true;  // include the terms of changing pressure
  bool damped_start = false;         // the first two steps are four half steps of BE
  bool contact_at_end = false;       // TR: contacts act by their force at the end of the step
  double tolerance = 1e-9;           // relative residual of the whole momentum balance
  int max_iterations = 100;
};

struct MethodOptions {
  MethodKind kind = MethodKind::kConvex;
  ConvexOptions convex;
  CorrectiveOptions corrective;
  NonsmoothOptions nonsmooth;
  SmoothOptions smooth;

  // True if blocks are stepped in compliance form.
  bool is_maximal() const {
    return kind == MethodKind::kNonsmooth &&
           nonsmooth.coordinates == NonsmoothOptions::Coordinates::kMaximal;
  }

  // True if steps never add energy, as those of implicit Euler. Other integrators, and rows that
  // correct drift in maximal coordinates, may add some.
  bool is_dissipative() const {
    if (kind == MethodKind::kSmooth) return true;  // its energy is exact with BE only
    if (kind != MethodKind::kConvex) return !is_maximal();
    return convex.theta == 1 && convex.theta_vq == 1 && convex.integrator == nullptr;
  }

  // Flag that selects a method whose contact problems can be exported: their unknowns are impulses
  // in reduced coordinates. Empty if this method's can be.
  std::string_view flag_for_export() const {
    if (kind == MethodKind::kSmooth) return "--method convex";
    return is_maximal() ? "--set method.nonsmooth.coordinates=REDUCED" : "";
  }
};

// Name in scenes and reports.
constexpr const char* MethodName(MethodKind kind) {
  switch (kind) {
    case MethodKind::kConvex:
      return "convex";
    case MethodKind::kCorrective:
      return "corrective";
    case MethodKind::kNonsmooth:
      return "nonsmooth";
    case MethodKind::kSmooth:
      return "smooth";
  }
  return "";
}

}  // namespace pliant::physics
