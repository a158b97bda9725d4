#include "solvers/convex/contact_lanes.h"

#include <algorithm>

#include "solvers/linalg/parallel.h"

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

// An expected impulse within this fraction of the cone is one of sticking. Nearer to its boundary,
// it may be one of sliding whose direction has turned.
constexpr double kInside = 0.9;

// Groups of four up to which threads do not pay off, and the number of groups per task.
constexpr int kMaxSerialGroups = 192, kGroupsPerTask = 32;

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

// Calls f(k) for each group of four, in parallel if there are many.
template <typename F>
void ContactLanes::ForEachFour(const F& f) const {
  const int count = static_cast<int>(fours_.size());
  if (count <= kMaxSerialGroups || CountThreads() == 1) {
    for (int k = 0; k < count; ++k) f(k);
    return;
  }
  ParallelForWithin((count + kGroupsPerTask - 1) / kGroupsPerTask, 1, [&](int s) {
    for (int k = s * kGroupsPerTask; k < std::min(count, (s + 1) * kGroupsPerTask); ++k) f(k);
  });
}

// Returns Σ term(k), always summed in the same order.
template <typename F>
double ContactLanes::SumOverFours(const F& term) const {
  sums_.resize(fours_.size());
  ForEachFour([&](int k) { sums_[k].slope = term(k); });
  Lanes sum{};
  for (const Sum& of_four : sums_) sum += of_four.slope;
  return SumOfLanes(sum);
}

void ContactLanes::Start(std::span<const ConvexProblem::Contact> contacts, const ContactLaw* law) {
  // lanes without a contact stick at rest
  Four at_rest{};
  at_rest.law.R_t += 1.0;
  at_rest.law.R_n += 1.0;
  fours_.assign((contacts.size() + kLanes - 1) / kLanes, at_rest);
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    ConeLaw<Lanes>& of = fours_[c / kLanes].law;
    of.R_t[c % kLanes] = contacts[c].R.x();
    of.R_n[c % kLanes] = contacts[c].R.z();
    of.mu[c % kLanes] = contacts[c].friction;
  }
  for (Four& four : fours_) four.law.Complete();
  law_ = law;
  slip_.clear();
  lagged_.clear();
  if (law_ == nullptr) return;
  for (const ConvexProblem::Contact& contact : contacts) {
    slip_.push_back(contact.slip);
    lagged_.push_back(contact.lagged);
  }
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

// y after α times the change.
struct ContactLanes::Ahead {
  Ahead(const Four& four, double alpha)
      : x(four.y[0] - alpha * four.law.of_t * four.change[0]),
        y(four.y[1] - alpha * four.law.of_t * four.change[1]),
        n(four.y[2] - alpha * four.law.of_n * four.change[2]) {}
  Lanes x, y, n;
};

void ContactLanes::Advance(double alpha) {
  ForEachFour([&](int k) {
    Four& four = fours_[k];
    const Ahead ahead(four, alpha);
    four.y[0] = ahead.x;
    four.y[1] = ahead.y;
    four.y[2] = ahead.n;
  });
}

ContactResponse ContactLanes::Respond(std::size_t contact, double alpha) const {
  const Four& four = fours_[contact / kLanes];
  const int l = static_cast<int>(contact % kLanes);
  const Eigen::Vector2d y_t(four.y[0][l] - alpha * four.law.of_t[l] * four.change[0][l],
                            four.y[1][l] - alpha * four.law.of_t[l] * four.change[1][l]);
  const double y_n = four.y[2][l] - alpha * four.law.of_n[l] * four.change[2][l];
  return law_->Respond({-four.law.R_t[l] * y_t, y_n, four.law.R_n[l], four.law.mu[l],
                        slip_[contact], lagged_[contact]});
}

double ContactLanes::ProjectByLaw() {
  double cost = 0;
  for (std::size_t c = 0; c < slip_.size(); ++c) {
    const ContactResponse response = Respond(c, 0);
    const Eigen::Matrix3d& G = response.G;
    Four& four = fours_[c / kLanes];
    const int l = static_cast<int>(c % kLanes);
    for (int r = 0; r < 3; ++r) four.gamma[r][l] = response.gamma[r];
    four.G.xx[l] = G(0, 0);
    four.G.xy[l] = G(0, 1);
    four.G.yy[l] = G(1, 1);
    four.G.xn[l] = G(0, 2);
    four.G.yn[l] = G(1, 2);
    four.G.nn[l] = G(2, 2);
    cost += response.cost;
  }
  return cost;
}

double ContactLanes::Project() {
  if (law_ != nullptr) return ProjectByLaw();
  return SumOverFours([this](int k) {
    Four& four = fours_[k];
    const auto& [x, y, n] = four.y;
    const ConePoint<Lanes> point(four.law, x, y, n);
    four.gamma[0] = point.shrink * x;
    four.gamma[1] = point.shrink * y;
    four.gamma[2] = point.gamma_n;
    four.G = ConeSlope<Lanes>(four.law, point, x, y);
    return CalcCostOf(four.law, four.gamma[0], four.gamma[1], four.gamma[2]);
  });
}

void ContactLanes::LinearizeHere() {
  for (Four& four : fours_)
    for (int r = 0; r < 3; ++r) four.at[r] = four.y[r];
}

void ContactLanes::Four::LinearizeAt(Lanes at_x, Lanes at_y, Lanes at_n) {
  at[0] = at_x;
  at[1] = at_y;
  at[2] = at_n;
  const ConePoint<Lanes> point(law, at_x, at_y, at_n);
  G = ConeSlope<Lanes>(law, point, at_x, at_y);
  const Lanes d_x = law.R_t * (y[0] - at_x), d_y = law.R_t * (y[1] - at_y),
              d_n = law.R_n * (y[2] - at_n);
  gamma[0] = point.shrink * at_x + (G.xx * d_x + G.xy * d_y + G.xn * d_n);
  gamma[1] = point.shrink * at_y + (G.xy * d_x + G.yy * d_y + G.yn * d_n);
  gamma[2] = point.gamma_n + (G.xn * d_x + G.yn * d_y + G.nn * d_n);
}

void ContactLanes::Four::LinearizeAtExpected(Lanes e_x, Lanes e_y, Lanes e_n) {
  const auto& [x, y, n] = this->y;
  const auto is_known = e_n > 0.0;
  const Lanes most = kInside * law.mu * e_n;
  const auto sticks = is_known && e_x * e_x + e_y * e_y < most * most;
  const Lanes pressed = e_n / law.c - law.mu_hat * SquareRoot(x * x + y * y);
  LinearizeAt(sticks ? e_x : x, sticks ? e_y : y, sticks ? e_n : is_known ? pressed : n);
}

void ContactLanes::Four::LinearizeAtExpected(Lanes e_x, Lanes e_y, Lanes e_n, Lanes slip) {
  const auto is_known = e_n > 0.0;
  const Lanes zero{}, most = kInside * law.mu * e_n, e_r = SquareRoot(e_x * e_x + e_y * e_y);
  const auto sticks = is_known && e_r < most;
  // beyond the cone by the slip; along the present y without friction
  const Lanes y_r = law.mu * e_n + law.of_t * slip, stretch = y_r / e_r;
  const Lanes slide_x = e_r > 0.0 ? stretch * e_x : y[0],
              slide_y = e_r > 0.0 ? stretch * e_y : y[1], slide_n = e_n / law.c - law.mu_hat * y_r;
  const Lanes there_x = sticks ? e_x : slide_x, there_y = sticks ? e_y : slide_y,
              there_n = sticks ? e_n : slide_n;
  LinearizeAt(is_known ? there_x : zero, is_known ? there_y : zero,
              is_known ? there_n : zero - 1.0);
}

bool ContactLanes::ProjectExpected(std::span<const ConvexProblem::Contact> contacts, Slip slip) {
  if (law_ != nullptr) return false;
  bool is_any = false;
  for (std::size_t f = 0; f < fours_.size(); ++f) {
    Lanes e[3] = {}, e_slip = {};
    for (std::size_t c = f * kLanes; c < std::min((f + 1) * kLanes, contacts.size()); ++c) {
      for (int r = 0; r < 3; ++r) e[r][c % kLanes] = contacts[c].expected[r];
      e_slip[c % kLanes] = contacts[c].expected_slip;
      is_any = is_any || contacts[c].expected.z() > 0;
    }
    if (slip == Slip::kAsExpected) {
      fours_[f].LinearizeAtExpected(e[0], e[1], e[2], e_slip);
    } else {
      fours_[f].LinearizeAtExpected(e[0], e[1], e[2]);
    }
  }
  return is_any;
}

bool ContactLanes::ProjectAhead(double left) {
  if (law_ != nullptr) return false;
  ForEachFour([&](int k) {
    Four& four = fours_[k];
    const Ahead end(four, left);
    const auto& [was_x, was_y, was_n] = four.at;
    const ConePoint<Lanes> was(four.law, was_x, was_y, was_n), is(four.law, end.x, end.y, end.n);
    const auto turns = was.slides & is.slides & (was_x * end.x + was_y * end.y < 0.0) &
                       (end.n > 0.0) & (four.law.mu > 0.0);
    four.LinearizeAt(turns ? Lanes{} : end.x, turns ? Lanes{} : end.y, end.n);
  });
  return true;
}

bool ContactLanes::TakeChanges() {
  bool has_changed = false;
  for (Four& four : fours_) {
    has_changed = has_changed || !IsSame(four.G, four.taken);
    four.taken = four.G;
  }
  return has_changed;
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
  result.col(0) = Vector3d(G.xx[l], G.xy[l], G.xn[l]);
  result.col(1) = Vector3d(G.xy[l], G.yy[l], G.yn[l]);
  result.col(2) = Vector3d(G.xn[l], G.yn[l], G.nn[l]);
  return result;
}

ContactLanes::Slope ContactLanes::CalcSlope(double alpha) const {
  Slope by_law{0, 0};
  for (std::size_t c = 0; c < slip_.size(); ++c) {
    const ContactResponse response = Respond(c, alpha);
    const auto& change = fours_[c / kLanes].change;
    const Vector3d d(change[0][c % kLanes], change[1][c % kLanes], change[2][c % kLanes]);
    by_law.slope -= d.dot(response.gamma);
    by_law.curvature += d.dot(response.G * d);
  }
  if (law_ != nullptr) return by_law;
  sums_.resize(fours_.size());
  ForEachFour([&](int k) {
    const Four& four = fours_[k];
    const Ahead ahead(four, alpha);
    const auto& [d_x, d_y, d_n] = four.change;
    const ConePoint<Lanes> point(four.law, ahead.x, ahead.y, ahead.n);
    sums_[k].slope = point.shrink * (d_x * ahead.x + d_y * ahead.y) + d_n * point.gamma_n;
    sums_[k].curvature = point.Curvature(four.law, ahead.x, ahead.y, d_x, d_y, d_n);
  });
  Lanes slope{}, curvature{};
  for (const Sum& of_four : sums_) {
    slope -= of_four.slope;
    curvature += of_four.curvature;
  }
  return {SumOfLanes(slope), SumOfLanes(curvature)};
}

double ContactLanes::CalcCost(double alpha) const {
  if (law_ != nullptr) {
    double by_law = 0;
    for (std::size_t c = 0; c < slip_.size(); ++c) by_law += Respond(c, alpha).cost;
    return by_law;
  }
  return SumOverFours([&](int k) {
    const Four& four = fours_[k];
    const Ahead ahead(four, alpha);
    const ConePoint<Lanes> point(four.law, ahead.x, ahead.y, ahead.n);
    return CalcCostOf(four.law, point.shrink * ahead.x, point.shrink * ahead.y, point.gamma_n);
  });
}

}  // namespace pliant::solvers
