#include "solvers/convex/contact_lanes.h"

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

double SumOfLanes(Lanes x) {
  return (x[0] + x[1]) + (x[2] + x[3]);
}

Lanes CalcCostOf(const ConeLaw<Lanes>& law, Lanes x, Lanes y, Lanes n) {
  return 0.5 * (law.R_t * (x * x + y * y) + law.R_n * (n * n));
}

bool IsSame(const ConeSlope<Lanes>& a, const ConeSlope<Lanes>& b) {
  const auto is_same =
      a.xx == b.xx && a.xy == b.xy && a.yy == b.yy && a.xn == b.xn && a.yn == b.yn && a.nn == b.nn;
  return is_same[0] && is_same[1] && is_same[2] && is_same[3];
}

}  // namespace

void ContactLanes::Start(std::span<const ConvexProblem::Contact> contacts) {
  // lanes without a contact stick at rest
  Four at_rest{};
  at_rest.law.R_t += 1.0;
  at_rest.law.R_n += 1.0;
  fours_.assign((contacts.size() + kLanes - 1) / kLanes, at_rest);
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    ConeLaw<Lanes>& law = fours_[c / kLanes].law;
    law.R_t[c % kLanes] = contacts[c].R.x();
    law.R_n[c % kLanes] = contacts[c].R.z();
    law.mu[c % kLanes] = contacts[c].friction;
  }
  for (Four& four : fours_) four.law.Complete();
}

void ContactLanes::SetVelocity(int contact, const Vector3d& velocity) {
  Four& four = fours_[contact / kLanes];
  const int lane = contact % kLanes;
  four.y[0][lane] = velocity.x() / four.law.R_t[lane];
  four.y[1][lane] = velocity.y() / four.law.R_t[lane];
  four.y[2][lane] = velocity.z() / four.law.R_n[lane];
}

void ContactLanes::SetChange(int contact, const Vector3d& change) {
  for (int r = 0; r < 3; ++r) fours_[contact / kLanes].change[r][contact % kLanes] = change[r];
}

// y after α of the change
struct ContactLanes::Ahead {
  Ahead(const Four& four, double alpha)
      : x(four.y[0] - alpha * four.law.of_t * four.change[0]),
        y(four.y[1] - alpha * four.law.of_t * four.change[1]),
        n(four.y[2] - alpha * four.law.of_n * four.change[2]) {}
  Lanes x, y, n;
};

void ContactLanes::Advance(double alpha) {
  for (Four& four : fours_) {
    const Ahead ahead(four, alpha);
    four.y[0] = ahead.x;
    four.y[1] = ahead.y;
    four.y[2] = ahead.n;
  }
}

double ContactLanes::Project() {
  Lanes cost{};
  has_changed_ = false;
  for (Four& four : fours_) {
    const auto& [x, y, n] = four.y;
    const ConePoint<Lanes> point(four.law, x, y, n);
    four.gamma[0] = point.shrink * x;
    four.gamma[1] = point.shrink * y;
    four.gamma[2] = point.gamma_n;
    cost += CalcCostOf(four.law, four.gamma[0], four.gamma[1], four.gamma[2]);
    const ConeSlope<Lanes> G(four.law, point, x, y);
    has_changed_ = has_changed_ || !IsSame(G, four.G);
    four.G = G;
  }
  return SumOfLanes(cost);
}

Vector3d ContactLanes::gamma(int contact) const {
  const Four& four = fours_[contact / kLanes];
  const int lane = contact % kLanes;
  return {four.gamma[0][lane], four.gamma[1][lane], four.gamma[2][lane]};
}

Eigen::Matrix3d ContactLanes::G(int contact) const {
  const ConeSlope<Lanes>& G = fours_[contact / kLanes].G;
  const int l = contact % kLanes;
  Eigen::Matrix3d result;
  result << G.xx[l], G.xy[l], G.xn[l], G.xy[l], G.yy[l], G.yn[l], G.xn[l], G.yn[l], G.nn[l];
  return result;
}

ContactLanes::Slope ContactLanes::CalcSlope(double alpha) const {
  Lanes slope{}, curvature{};
  for (const Four& four : fours_) {
    const Ahead ahead(four, alpha);
    const auto& [d_x, d_y, d_n] = four.change;
    const ConePoint<Lanes> point(four.law, ahead.x, ahead.y, ahead.n);
    slope -= point.shrink * (d_x * ahead.x + d_y * ahead.y) + d_n * point.gamma_n;
    curvature += point.Curvature(four.law, ahead.x, ahead.y, d_x, d_y, d_n);
  }
  return {SumOfLanes(slope), SumOfLanes(curvature)};
}

double ContactLanes::CalcCost(double alpha) const {
  Lanes cost{};
  for (const Four& four : fours_) {
    const Ahead ahead(four, alpha);
    const ConePoint<Lanes> point(four.law, ahead.x, ahead.y, ahead.n);
    cost += CalcCostOf(four.law, point.shrink * ahead.x, point.shrink * ahead.y, point.gamma_n);
  }
  return SumOfLanes(cost);
}

}  // namespace pliant::solvers
