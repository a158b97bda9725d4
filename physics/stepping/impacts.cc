#include "physics/stepping/impacts.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "solvers/problem/near_rigid.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using solvers::ConstraintSystem;
using solvers::ConvexProblem;
using solvers::IslandView;

// Regularisation of contacts and joints, relative to their compliances W. It is the
// relative error of an impact.
constexpr double kImpactRegularisation = 1e-8;
constexpr double kImpactTolerance = 1e-10;
// Maximum number of collisions that are followed in a step, per contact of an island.
constexpr int kMaxImpactsPerContact = 8;
// Contacts with gaps below this are closed [m].
constexpr double kClosedGap = 1e-6;
// Maximum number of times that further contacts are made to hold, which close within the step.
constexpr int kMaxHolds = 8;
// Maximum number of corrections of the normal velocity, to which friction in a convex problem adds
// μ times the slip.
constexpr int kMaxCorrections = 8;
constexpr double kSpeedTolerance = 1e-10;  // of the speed after a collision, relative
// Maximum number of halvings of the restitution of a collision that would gain energy.
constexpr int kMaxHalvings = 4;

// Stabilisation velocity of a contact that exerts nothing [m/s].
constexpr double kOpen = -1e6;
// Gain of energy in a collision that counts as rounding, relative to the energy that its impulse
// exchanges.
constexpr double kGainTolerance = 1e-6;

// A problem of an island in which no contact and no row exerts anything.
void MakeFreeProblem(const IslandView& island, ConvexProblem* problem) {
  problem->Clear();
  problem->island = island;
  for (int c = 0; c < island.num_contacts(); ++c) {
    ConvexProblem::Contact& made = problem->contacts.emplace_back();
    made.R = Vector3d::Constant(kImpactRegularisation *
                                solvers::CalcMeanCompliance(island.contact(c).W));
    made.v_hat = Vector3d(0, 0, kOpen);
    made.friction = island.contact(c).friction;
  }
  for (int k = 0; k < island.num_rows(); ++k) {
    ConvexProblem::Row& made = problem->rows.emplace_back();
    made.R = 1;
    made.v_hat = made.lower = made.upper = 0;
  }
}

// Solves the scratch's problem from the system's v*, and writes the island's part of `v`.
void SolvePosed(const IslandView& island, const ConstraintSystem& system, ImpactScratch* scratch,
                std::vector<double>* v) {
  solvers::SapOptions options;
  options.relative_tolerance = kImpactTolerance;
  island.Gather(system.v_star, &scratch->guess);
  scratch->solver.Solve(scratch->problem, scratch->guess, options, &scratch->result);
  island.Scatter(scratch->result.v, *v);
}

bool HasMatrices(const IslandView& island) {
  for (int b = 0; b < island.num_blocks(); ++b)
    if (island.block(b).is_in_compliance_form()) return false;
  return true;
}

class ImpactSolver {
 public:
  ImpactSolver(StepStages* stages, ImpactScratch* scratch)
      : contacts_(stages->contacts.points),
        parameters_(stages->blocks.model.contact),
        system_(stages->system),
        impacts_(stages->impacts),
        scratch_(*scratch),
        h_(stages->system.h) {}

  // Returns whether all collisions of an island were followed, each as far as it should be.
  bool Solve(const IslandView& island) {
    island_ = &island;
    is_cut_ = false;
    if (!HasMatrices(island) || !HasRestitution()) return true;
    FindFreeMotion();
    const int limit = kMaxImpactsPerContact * island.num_contacts();
    double t = 0;
    for (int k = 0; k < limit; ++k) {
      const int c = FindNext(&t);
      if (c < 0) return !is_cut_;
      Collide(c, t);
    }
    return false;
  }

 private:
  const ContactPoint& PointOf(int c) const { return contacts_[island_->contacts[c]]; }
  Vector3d ContactVelocity(int c, const std::vector<double>& v) const {
    return CalcContactVelocity(system_, island_->contacts[c], v);
  }
  // J x of a change x of velocities, without the prescribed part.
  Vector3d ContactChange(int c, const std::vector<double>& x) const {
    return ContactVelocity(c, x) - island_->contact(c).bias;
  }

  bool HasRestitution() const {
    for (int c = 0; c < island_->num_contacts(); ++c)
      if (PointOf(c).restitution > 0) return true;
    return false;
  }

  // Calls f(i) for every velocity of the island, numbered as in the system. This class must not
  // loop over the velocities of other islands, since there may be thousands.
  template <typename F>
  void ForEachVelocity(const F& f) const {
    for (const int b : island_->blocks) {
      const ConstraintSystem::Block& block = system_.blocks[b];
      for (int i = block.first; i < block.first + block.size; ++i) f(i);
    }
  }

  // Solves the posed problem from velocities `start` without contact, in place.
  void SolveFrom(std::vector<double>* start) {
    island_->Gather(system_.v_star, &scratch_.v_star);
    island_->Gather(system_.linear_term, &scratch_.linear_term);
    ForEachVelocity([&](int i) {
      system_.v_star[i] = (*start)[i];
      system_.linear_term[i] = 0;
    });
    SolvePosed(*island_, system_, &scratch_, start);
    island_->Scatter(scratch_.v_star, system_.v_star);
    island_->Scatter(scratch_.linear_term, system_.linear_term);
  }

  // Makes joints keep their rates at v; drives, limits and dry friction act later, in the step.
  void HoldJoints(const std::vector<double>& v) {
    for (int k = 0; k < island_->num_rows(); ++k) {
      const ConstraintSystem::Row& row = island_->row(k);
      const bool is_joint = std::isinf(row.stiffness) && !row.dry_friction &&
                            std::isinf(row.lower) && std::isinf(row.upper) && row.W > 0;
      if (!is_joint) continue;
      ConvexProblem::Row& made = scratch_.problem.rows[k];
      made.R = kImpactRegularisation * row.W;
      made.lower = row.lower;
      made.upper = row.upper;
      made.v_hat = CalcRowRate(system_, island_->rows[k], v);
    }
  }

  // Finds the acceleration without collisions, and the velocities with which the parabola starts.
  // Closed contacts hold, unless they collide at once; so do those that close within the step
  // without a collision, since bodies that fell through them would meet others too fast.
  void FindFreeMotion() {
    std::vector<double>&v = scratch_.v, &free = scratch_.free;
    MakeFreeProblem(*island_, &scratch_.problem);
    HoldJoints(v);
    for (int c = 0; c < island_->num_contacts(); ++c) {
      const bool collides = PointOf(c).restitution > 0 &&
                            ContactVelocity(c, v).z() < -parameters_.restitution_threshold;
      if (!collides && scratch_.gaps[island_->contacts[c]] <= kClosedGap)
        scratch_.problem.contacts[c].v_hat.z() = 0;
    }
    ForEachVelocity([&](int i) { scratch_.start[i] = v[i]; });
    for (int k = 0;; ++k) {
      SolvePosed(*island_, system_, &scratch_, &free);
      ForEachVelocity([&](int i) {
        scratch_.acceleration[i] = (free[i] - scratch_.start[i]) / h_;
        v[i] = 0.5 * (scratch_.start[i] + free[i]);
      });
      if (!HoldLanding()) return;
      if (k < kMaxHolds) continue;
      is_cut_ = true;
      return;
    }
  }

  // Makes contacts hold that close within the step too slowly for a collision. Returns whether
  // there are any that did not hold before.
  bool HoldLanding() {
    bool is_any = false;
    for (int c = 0; c < island_->num_contacts(); ++c) {
      if (scratch_.problem.contacts[c].v_hat.z() == 0) continue;
      const std::optional<Approach> closing = FindClosing(c, 0);
      if (!closing || closing->wait > h_) continue;
      if (PointOf(c).restitution > 0 && closing->velocity < -parameters_.restitution_threshold)
        continue;
      scratch_.problem.contacts[c].v_hat.z() = 0;
      is_any = true;
    }
    return is_any;
  }

  double GapAt(int c, double t) const {
    return scratch_.gaps[island_->contacts[c]] + t * ContactVelocity(c, scratch_.v).z() +
           0.5 * t * t * ContactChange(c, scratch_.acceleration).z();
  }

  // When and with which velocity a contact closes.
  struct Approach {
    double wait;      // from now on [s]
    double velocity;  // negative [m/s]
  };

  // Returns when contact c closes next, from time t on; none if it never does.
  std::optional<Approach> FindClosing(int c, double t) const {
    const double a = ContactChange(c, scratch_.acceleration).z(), gap = GapAt(c, t),
                 u = ContactVelocity(c, scratch_.v).z() + a * t;
    if (gap <= kClosedGap) return Approach{0, u};
    // gap + u s + a s²/2 = 0
    const double discriminant = u * u - 2 * a * gap;
    if (!(discriminant >= 0)) return std::nullopt;
    const double root = std::sqrt(discriminant);
    if (u >= 0 && a >= 0) return std::nullopt;
    const double wait = u < 0 ? 2 * gap / (root - u) : (u + root) / -a;
    return Approach{wait, u + a * wait};
  }

  // Returns the contact that collides next, from time *t on, and sets *t; −1 if none does in this
  // step.
  int FindNext(double* t) const {
    int next = -1;
    double first = h_;
    for (int c = 0; c < island_->num_contacts(); ++c) {
      if (!(PointOf(c).restitution > 0)) continue;
      const std::optional<Approach> closing = FindClosing(c, *t);
      if (!closing || !(closing->velocity < -parameters_.restitution_threshold)) continue;
      if (!(*t + closing->wait < first)) continue;
      first = *t + closing->wait;
      next = c;
    }
    if (next >= 0) *t = first;
    return next;
  }

  // Solves the collision of contact c at time t, and applies it to velocities and gaps.
  void Collide(int c, double t) {
    std::vector<double>&before = scratch_.before, &after = scratch_.after;
    ForEachVelocity([&](int i) { before[i] = scratch_.v[i] + t * scratch_.acceleration[i]; });
    MakeFreeProblem(*island_, &scratch_.problem);
    HoldJoints(before);
    for (int k = 0; k < island_->num_contacts(); ++k) {
      if (k == c || PointOf(k).restitution > 0 || GapAt(k, t) > kClosedGap) continue;
      scratch_.problem.contacts[k].v_hat.z() = std::min(0.0, ContactVelocity(k, before).z());
    }
    double speed = -PointOf(c).restitution * ContactVelocity(c, before).z();
    for (int k = 0;; ++k, speed *= 0.5) {
      SolveWithSpeed(c, speed);
      if (!HasGainedEnergy()) break;
      if (k < kMaxHalvings) continue;
      is_cut_ = true;
      break;
    }

    std::vector<double>& change = after;
    ForEachVelocity([&](int i) { change[i] -= before[i]; });
    for (int k = 0; k < island_->num_contacts(); ++k) {
      const int contact = island_->contacts[k];
      const double shift = -t * ContactChange(k, change).z();
      scratch_.gaps[contact] += shift;
      system_.contacts[contact].gap += shift;
      system_.contacts[contact].gap_shift += shift;
      impacts_.impulses.contacts[contact] += scratch_.result.gamma[k];
    }
    for (int k = 0; k < island_->num_rows(); ++k)
      impacts_.impulses.rows[island_->rows[k]] += scratch_.result.row_gamma[k];
    ForEachVelocity([&](int i) {
      scratch_.v[i] += change[i];
      impacts_.setback[i] += t / h_ * change[i];
    });
    impacts_.is_any = true;
  }

  // Solves for velocities `after`, with which contact c separates at `speed`.
  void SolveWithSpeed(int c, double speed) {
    ConvexProblem::Contact& contact = scratch_.problem.contacts[c];
    contact.v_hat = Vector3d(0, 0, speed);
    for (int k = 0;; ++k) {
      ForEachVelocity([&](int i) { scratch_.after[i] = scratch_.before[i]; });
      SolveFrom(&scratch_.after);
      // in a convex problem, friction adds μ times the slip
      const double excess = ContactVelocity(c, scratch_.after).z() - speed;
      if (std::abs(excess) <= kSpeedTolerance * speed) return;
      if (k == kMaxCorrections) {
        is_cut_ = true;
        return;
      }
      contact.v_hat.z() -= excess;
    }
  }

  // Computes the gain from the work of the impulses with the mean of the velocities before and
  // after.
  bool HasGainedEnergy() const {
    double work = 0, size = 0;
    const std::vector<Vector3d>& gamma = scratch_.result.gamma;
    for (int c = 0; c < island_->num_contacts(); ++c) {
      if (gamma[c].isZero(0)) continue;
      const Vector3d before = ContactVelocity(c, scratch_.before),
                     after = ContactVelocity(c, scratch_.after);
      work += 0.5 * gamma[c].dot(before + after);
      size += 0.5 * std::abs(gamma[c].dot(before - after));
    }
    return work > kGainTolerance * size;
  }

  const IslandView* island_ = nullptr;
  const std::vector<ContactPoint>& contacts_;
  const ContactParameters& parameters_;
  ConstraintSystem& system_;
  StepImpacts& impacts_;
  ImpactScratch& scratch_;
  double h_;
  bool is_cut_ = false;  // whether a limit above ended a loop before it had converged
};

}  // namespace

int SolveImpacts(StepStages* stages, ImpactScratch* scratch) {
  const std::vector<ContactPoint>& points = stages->contacts.points;
  StepImpacts& impacts = stages->impacts;
  solvers::ConstraintSystem& system = stages->system;
  if (impacts.is_found) return 0;
  impacts.is_found = true;
  if (std::ranges::none_of(points, [](const ContactPoint& p) { return p.restitution > 0; }))
    return 0;

  impacts.setback.assign(system.num_velocities, 0.0);
  impacts.impulses.contacts.assign(system.contacts.size(), Vector3d::Zero());
  impacts.impulses.rows.assign(system.rows.size(), 0.0);
  GatherParticipants(stages->blocks.v_start, stages->blocks, stages->participation, &scratch->v);
  for (auto* x :
       {&scratch->start, &scratch->free, &scratch->acceleration, &scratch->before, &scratch->after})
    x->assign(system.num_velocities, 0.0);
  scratch->gaps.clear();
  for (const ContactPoint& point : points) scratch->gaps.push_back(point.gap);
  ImpactSolver solver(stages, scratch);
  int num_cut = 0;
  for (const IslandView& island : stages->islands.views) num_cut += !solver.Solve(island);
  if (impacts.is_any) CalcExertedImpulse(system, impacts.impulses, &impacts.exerted);
  return num_cut;
}

void ApplyImpacts(StepStages* stages, ImpactScratch* scratch) {
  StepImpacts& impacts = stages->impacts;
  solvers::ConstraintSystem& system = stages->system;
  if (!impacts.is_any || impacts.is_applied) return;
  impacts.is_applied = true;
  if (stages->blocks.terms == Terms::kMomentum) {
    for (std::size_t i = 0; i < impacts.exerted.size(); ++i)
      system.linear_term[i] += impacts.exerted[i];
    return;
  }
  // methods that read no linear term get v* + A⁻¹ p
  std::vector<double>& linear_term = scratch->linear_term;
  linear_term = impacts.exerted;
  system.linear_term.swap(linear_term);
  scratch->after = system.v_star;
  for (const IslandView& island : stages->islands.views) {
    if (!HasMatrices(island)) continue;
    MakeFreeProblem(island, &scratch->problem);
    SolvePosed(island, system, scratch, &scratch->after);
  }
  system.linear_term.swap(linear_term);
  system.v_star = scratch->after;
}

void ReportImpacts(const StepStages& stages, StepReport* report) {
  const StepImpacts& impacts = stages.impacts;
  if (!impacts.is_any) return;
  for (std::size_t c = 0; c < stages.contacts.points.size(); ++c)
    report->contacts[c].impulse_W += stages.contacts.points[c].R_WC * impacts.impulses.contacts[c];
  // forces on sleeping blocks come first
  const std::size_t first = report->constraint_forces.size() - impacts.impulses.rows.size();
  for (std::size_t k = 0; k < impacts.impulses.rows.size(); ++k)
    report->constraint_forces[first + k].impulse += impacts.impulses.rows[k];
}

}  // namespace pliant::physics
