#include "solvers/nonsmooth/ncp.h"

#include <algorithm>
#include <cmath>

namespace pliant::solvers {
namespace {

constexpr double kMaxForceRatio = 1.5;  // cap on the force relative to its limit

}  // namespace

NcpValue CalcNcp(NcpFunction ncp, double C, double r, double lambda) {
  const double b = r * lambda;
  if (ncp == NcpFunction::kMinimumMap) {
    if (C <= b) return {C, 1, 0};
    return {b, 0, r};
  }
  const double root = std::sqrt(C * C + b * b);
  if (root == 0) return {0, 0, r};
  // for a + b > 0, a + b − √(a² + b²) = 2 a b / (a + b + √…) avoids cancellation
  const double sum = C + b;
  return {sum > 0 ? 2 * C * b / (sum + root) : sum - root, 1 - C / root, r * (1 - b / root)};
}

double CalcFrictionCompliance(NcpFunction ncp, double slip, double force, double limit, double r) {
  const double loose = kUnloadedCompliance * r;
  if (!(limit > 0)) return loose;
  // at rest, W of the Fischer–Burmeister function has a pole at twice the limit
  force = std::min(force, kMaxForceRatio * limit);
  const double room = r * (limit - force);
  if (slip == 0 && room >= 0) return 0;
  double above, below;  // r (‖v‖ − ψ) and r ‖λ‖ + ψ
  if (ncp == NcpFunction::kMinimumMap) {
    if (slip <= room) return 0;
    above = r * (slip - room);
    below = r * limit;
  } else {
    const double root = std::sqrt(slip * slip + room * room);
    // avoid cancellation below the limit
    above = room > 0 ? r * slip * slip / (root + room) : r * (root - room);
    below = r * force + (room > 0 ? 2 * slip * room / (slip + room + root) : slip + room - root);
  }
  return below > above / kUnloadedCompliance / r ? above / below : loose;
}

}  // namespace pliant::solvers
