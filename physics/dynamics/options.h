#pragma once

namespace pliant::solvers {
class ContactLaw;
}

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
  const solvers::ContactLaw* law = nullptr;  // in place of SAP's friction cone
  double theta = 1;
  double theta_vq = 1;
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

struct MethodOptions {
  MethodKind kind = MethodKind::kConvex;
  ConvexOptions convex;
  CorrectiveOptions corrective;
};

}  // namespace pliant::physics
