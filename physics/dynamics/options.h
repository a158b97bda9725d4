#pragma once

namespace pliant::physics {

enum class MethodKind { kConvex, kCorrective };

// han2023 §VI, castro2022's constants.
struct ConvexOptions {
  enum class LineSearch { kExact, kBacktracking };
  double tolerance = 1e-6;  // ε_r
  int max_iterations = 100;
  bool warm_start = true;
  double sigma = 1e-3;
  double beta = 1;
  LineSearch line_search = LineSearch::kExact;
  // SAP's cone, or its relatives with friction smoothed near zero slip.
  enum class Law { kCone, kSimilar, kLagged };
  Law law = Law::kCone;
  double theta = 1;
  double theta_vq = 1;
};

// zeng2022 in its plain form: one pass of projected Gauss–Seidel on totals.
struct CorrectiveOptions {
  double tolerance =
      1e-5;           // largest change of an impulse in a sweep, relative to the largest impulse
  int sweeps = 1000;  // at most
  bool warm_start = true;
};

struct MethodOptions {
  MethodKind kind = MethodKind::kConvex;
  ConvexOptions convex;
  CorrectiveOptions corrective;
};

}  // namespace pliant::physics
