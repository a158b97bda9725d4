#include "solvers/convex/sap.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "solvers/convex/contact_lanes.h"
#include "solvers/convex/evaluated_terms.h"
#include "solvers/hessian/by_group.h"
#include "solvers/hessian/contact_jacobian.h"
#include "solvers/hessian/dense_hessian.h"
#include "solvers/hessian/sparse_hessian.h"
#include "solvers/linalg/dense.h"
#include "solvers/linalg/parallel.h"

namespace pliant::solvers {

using Eigen::Vector3d;

namespace {

// Steps without a decrease in cost or gradient after which double precision is exhausted.
constexpr int kMaxFlatSteps = 20;

// If the line search cuts this many consecutive steps to less than kCutStep, the prediction of the
// active set is cycling.
constexpr int kMaxCutSteps = 3;
constexpr double kCutStep = 0.2;

// Fraction of the decrease predicted by the slope that a step has to achieve.
constexpr double kSufficientDecrease = 1e-4;

// Halvings of a step that increases a cost that is not convex, and the relative residual below
// which that is not checked.
constexpr int kMaxHalvings = 50;
constexpr double kNearResidual = 1e-3;
// Relative residual beyond which terms are linearised as far from a solution.
constexpr double kFarResidual = 0.5;

// Fraction of the initial slope at which an exact line search ends; the second with momentum terms.
// Their evaluation is expensive, and they are smooth, so Newton's full step is nearly the best one.
constexpr double kExactSlope = 1e-8, kTermsSlope = 0.05;

// Relative residual of a guess below which it is not rough: it solves the problem but for contacts
// that were found later.
constexpr double kRoughResidual = 0.1;

// Relative residual of the problem below which directions are computed with the last factor, their
// relative tolerance, and the number of products after which factoring again is cheaper.
constexpr double kReuseResidual = 1e-2, kReuseTolerance = 1e-3;
constexpr int kMaxReuseProducts = 6;
// Relative tolerances of directions with a new factor in single precision and with the last one,
// and the number of products after which a factor in double precision is better. What is left of
// the residual is momentum that a step gains or loses, about 1e-13 of that of the bodies, and an
// error of forces, about 1e-8.
constexpr double kSingleTolerance = 1e-8, kSingleReuseTolerance = 1e-5;
constexpr int kMaxSingleProducts = 8;
// Relative tolerance of directions of problems that are too large to factor, and the most products
// for one. Cubes of 22,000 particles took the least time with 0.01 to 0.03.
constexpr double kLargeTolerance = 0.02;
constexpr int kMaxProducts = 500;

// Contacts and velocities up to which threads do not pay off, and the number of contacts per task.
constexpr int kMaxSerialContacts = 256, kMaxSerialVelocities = 600, kContactsPerTask = 64;

}  // namespace

// The iterate and everything that depends on it. Keeps its buffers, so iterations do not allocate.
struct SapSolver::Workspace {
 public:
  void Start(const ConvexProblem& problem, std::span<const double> guess,
             const SapOptions& options) {
    problem_ = &problem;
    options_ = &options;
    island_ = &problem.island;
    n_ = problem.size();
    const std::size_t rows = problem.rows.size();
    for (auto* x : {&v_, &offset_, &Adv_, &momentum_, &impulse_, &gradient_, &dv_, &scale_,
                    &scaled_, &Av_, &right_side_})
      x->assign(n_ + ContactJacobian::kBeyond, 0.0);
    std::copy(guess.begin(), guess.end(), v_.begin());
    GatherMomentum();
    terms_.Start(problem, v_);
    is_large_ =
        num_contacts() > kMaxSerialContacts && n_ > kMaxSerialVelocities && CountThreads() > 1;
    is_sparse_ = SparseHessian::IsNeeded(*island_);
    // a dense Hessian finds its blocks by entries
    using Weights = ContactJacobian::Weights;
    jacobian_.Start(*island_, is_sparse_ ? Weights::kKept : Weights::kExpanded);
    ForEachContact([this](int c) { jacobian_.Fill(c); });
    contacts_.Start(problem.contacts, problem.law);
    FindTouching();
    row_rate_.resize(rows);
    row_change_.resize(rows);
    row_gamma_.resize(rows);
    row_is_free_.resize(rows);
    previous_row_is_free_.resize(rows);
    factored_ = is_any_factored_ = false;
    analysed_ = false;
    ForEachBlock([&](int b) {
      const SchurComplement& A = terms_.tangents()[b];
      double* diagonal = &scale_[island_->first_of_block(b)];
      const std::size_t size = island_->block(b).size;
      if (A.sparse != nullptr) {
        A.sparse->CopyDiagonal({diagonal, size});
      } else {
        for (std::size_t i = 0; i < size; ++i) diagonal[i] = A.dense[i * size + i];
      }
      for (std::size_t i = 0; i < size; ++i) diagonal[i] = 1 / std::sqrt(diagonal[i]);
    });
    is_single_insufficient_ = false;
    has_rough_guess_ = problem.has_rough_guess;
  }

  void SolveAgain(const SapOptions& options, SapResult* result) {
    options_ = &options;
    Solve(result, false);
  }

  void SolveRegularised(const SapOptions& options, SapResult* result) {
    options_ = &options;
    contacts_.Start(problem_->contacts, problem_->law);
    has_rough_guess_ = false;  // starts from a solution
    factored_ = is_any_factored_ = false;
    Solve(result, true);
  }

  void Solve(SapResult* result_out, bool is_predicted) {
    SapResult& result = *result_out;
    result.converged = result.stalled = false;
    result.iterations = result.factorisations = result.linear_iterations = 0;
    result.residual = 0;
    result.costs.clear();
    result.residuals.clear();
    Begin();
    Evaluate();
    is_under_way_ = false;
    cut_steps_ = 0;
    result.costs.push_back(cost_);
    double min_error = 0;
    int flat_steps = 0;  // consecutive steps that changed the cost by no more than its rounding
    for (int k = 0;; ++k) {
      const double error = Norm(gradient_);
      double size = std::max(Norm(Av_), Norm(impulse_));
      if (!terms_.empty()) size = std::max(size, Norm(terms_.gradient()));
      result.residual = size > 0 ? error / size : 0;
      result.residuals.push_back(result.residual);
      if (error <= options_->absolute_tolerance + options_->relative_tolerance * size) {
        result.converged = true;
        result.reason = StopReason::kConverged;
        break;
      }
      // The gradient is still accurate when the cost is down to rounding, so continue while it
      // shrinks. It need not shrink in every step, as contacts at the edge of their cones change
      // mode.
      if (flat_steps == 0 || error < 0.5 * min_error) {
        min_error = error;
        flat_steps = std::min(flat_steps, 1);
      } else if (flat_steps >= kMaxFlatSteps) {
        result.stalled = true;
        result.reason = StopReason::kStalled;
        break;
      }
      if (k == options_->max_iterations) {
        result.reason = StopReason::kMaxIterations;
        break;
      }
      if (k == 0 && is_predicted && TakePredictedStep(&result)) {
        result.iterations = 1;
        result.costs.push_back(cost_);
        continue;
      }
      if (!FindDescent(&result)) {
        result.reason = StopReason::kFactorisationFailed;
        break;
      }
      const double before = cost_, size_before = cost_size_;
      terms_.StartLine(v_, dv_);
      const double alpha = FindStep(result.residual);
      Advance(alpha);
      Evaluate();
      left_ = 1 - alpha;
      cut_steps_ = alpha < kCutStep && cut_steps_ < kMaxCutSteps ? cut_steps_ + 1 : 0;
      result.iterations = k + 1;
      result.costs.push_back(cost_);
      const double mean = 0.5 * (size_before + cost_size_);
      const bool is_flat = std::abs(cost_ - before) < 1e-30 + 1e-15 * mean;
      flat_steps = is_flat ? flat_steps + 1 : 0;
    }
    if (result.iterations > 0) {
      // steps along Δv accumulate rounding errors: recompute the reported impulses from v
      FindRates();
      contacts_.Project();
      ProjectRows();
    }
    result.v.assign(v_.begin(), v_.begin() + n_);
    result.gamma.resize(problem_->contacts.size());
    for (int c = 0; c < num_contacts(); ++c) result.gamma[c] = contacts_.gamma(c);
    result.row_gamma.assign(row_gamma_.begin(), row_gamma_.end());
  }

 private:
  int num_contacts() const { return static_cast<int>(problem_->contacts.size()); }

  // Calls f for every block, or every contact, in parallel if there are many. The result is the
  // same.
  template <typename F>
  void ForEachBlock(const F& f) const {
    const int count = island_->num_blocks();
    if (is_large_) {
      ParallelForWithin(count, 1, f);
    } else {
      for (int b = 0; b < count; ++b) f(b);
    }
  }
  template <typename F>
  void ForEachContact(const F& f) const {
    const int count = num_contacts();
    const auto some = [&](int k) {
      const int end = std::min(count, (k + 1) * kContactsPerTask);
      for (int c = k * kContactsPerTask; c < end; ++c) f(c);
    };
    const int stretches = (count + kContactsPerTask - 1) / kContactsPerTask;
    if (is_large_) {
      ParallelForWithin(stretches, 1, some);
    } else {
      for (int k = 0; k < stretches; ++k) some(k);
    }
  }

  // Lists the contacts' entries on each block, in the order of the contacts.
  void FindTouching() {
    touching_.Start();
    for (int c = 0; c < num_contacts(); ++c) {
      for (int e = jacobian_.first_entry(c); e < jacobian_.first_entry(c + 1); ++e)
        touching_.Add(jacobian_.block_of(e), {c, e});
    }
    touching_.Sort(island_->num_blocks());
  }

  // ‖D x‖
  double Norm(std::span<const double> x) {
    for (int i = 0; i < n_; ++i) scaled_[i] = scale_[i] * x[i];
    return std::sqrt(Dot(n_, scaled_.data(), scaled_.data()));
  }

  void MultiplyA(const std::vector<double>& x, std::vector<double>* y) const {
    ForEachBlock([&](int b) {
      const IslandView::Block& block = island_->block(b);
      const std::size_t size = block.size;
      const double* from = &x[island_->first_of_block(b)];
      double* to = &(*y)[island_->first_of_block(b)];
      if (block.A.sparse != nullptr) {
        block.A.sparse->Multiply({from, size}, {to, size});
      } else {
        MultiplySymmetric(block.size, block.A.dense.data(), size, from, to);
      }
    });
  }

  // Gathers v* and p in the island's numbering.
  void GatherMomentum() {
    island_->Gather(island_->system->v_star, &v_star_);
    island_->Gather(island_->system->linear_term, &linear_term_);
    // p is zero for rigid bodies
    if (std::ranges::all_of(linear_term_, [](double p) { return p == 0; })) linear_term_.clear();
  }

  // r = J v + b of a row
  double CalcRowRate(int k, const std::vector<double>& v) const {
    double rate = island_->row(k).bias;
    for (const IslandView::Entry& entry : island_->system->entries_of(island_->row(k))) {
      const double* J = island_->system->J(entry);
      const double* from = &v[island_->first_of(entry)];
      for (int j = 0; j < entry.columns; ++j) rate += J[j] * from[j];
    }
    return rate;
  }
  // impulse += Jᵀγ of a row
  void AddRowImpulse(int k, double gamma, std::vector<double>* impulse) const {
    for (const IslandView::Entry& entry : island_->system->entries_of(island_->row(k))) {
      const double* J = island_->system->J(entry);
      double* to = &(*impulse)[island_->first_of(entry)];
      for (int j = 0; j < entry.columns; ++j) to[j] += J[j] * gamma;
    }
  }

  // Computes the quantities that are linear in v at the initial guess.
  void Begin() {
    for (int i = 0; i < n_; ++i) offset_[i] = v_[i] - v_star_[i];
    // a warm start begins at v = v*, where A (v − v*) is zero
    if (std::all_of(offset_.begin(), offset_.end(), [](double x) { return x == 0; })) {
      std::fill(momentum_.begin(), momentum_.end(), 0.0);
    } else {
      MultiplyA(offset_, &momentum_);
    }
    for (std::size_t i = 0; i < linear_term_.size(); ++i) momentum_[i] -= linear_term_[i];
    MultiplyA(v_, &Av_);
    FindRates();
  }

  void FindRates() {
    ForEachContact([&](int c) {
      contacts_.SetVelocity(c, problem_->contacts[c].v_hat - island_->contact(c).bias -
                                   jacobian_.Multiply(c, v_.data()));
    });
    for (std::size_t k = 0; k < row_rate_.size(); ++k)
      row_rate_[k] = CalcRowRate(static_cast<int>(k), v_);
  }

  // Updates the same quantities after a step along Δv.
  void Advance(double alpha) {
    for (int i = 0; i < n_; ++i) {
      v_[i] += alpha * dv_[i];
      offset_[i] += alpha * dv_[i];
      momentum_[i] += alpha * Adv_[i];
      Av_[i] += alpha * Adv_[i];
    }
    contacts_.Advance(alpha);
    for (std::size_t k = 0; k < row_rate_.size(); ++k) row_rate_[k] += alpha * row_change_[k];
  }

  // Computes cost, gradient and projections.
  void Evaluate() {
    double quadratic = 0, size = 0;
    FindQuadratic(&quadratic, &size);
    const double of_contacts = contacts_.Project(), of_rows = ProjectRows();
    terms_.Evaluate(v_);
    cost_ = quadratic + terms_.cost() + of_contacts + of_rows;
    cost_size_ = size + std::abs(terms_.cost()) + of_contacts + of_rows;
    FindGradient();
  }

  // ½ uᵀA u − pᵀu with u = v − v*, and the size of the terms that it is the difference of.
  void FindQuadratic(double* quadratic, double* size) const {
    const double half = 0.5 * Dot(n_, offset_.data(), momentum_.data());
    const double linear =
        linear_term_.empty() ? 0 : 0.5 * Dot(n_, offset_.data(), linear_term_.data());
    *quadratic = half - linear;
    *size = std::abs(half + linear) + std::abs(2 * linear);
  }

  void FindGradient() {
    ForEachBlock([&](int b) {
      std::fill_n(&impulse_[island_->first_of_block(b)], island_->block(b).size, 0.0);
      for (const auto& [c, entry] : touching_.of(b))
        if (!contacts_.is_open(c))
          jacobian_.AddTransposed(entry, contacts_.gamma(c), impulse_.data());
    });
    for (std::size_t k = 0; k < row_gamma_.size(); ++k)
      AddRowImpulse(static_cast<int>(k), row_gamma_[k], &impulse_);
    for (int i = 0; i < n_; ++i) gradient_[i] = momentum_[i] - impulse_[i];
    for (std::size_t i = 0; i < terms_.gradient().size(); ++i) gradient_[i] += terms_.gradient()[i];
  }

  // Takes the first Newton step with the contact modes expected from the last time step. False,
  // with the iterate unchanged, if no modes are known or the step does not reduce the cost. A rough
  // guess is given up for the result of the step even if its cost is higher: modes that are nearly
  // right are a better start than velocities, unless terms are not convex.
  bool TakePredictedStep(SapResult* result) {
    const bool is_rough = has_rough_guess_ && result->residual > kRoughResidual;
    const ContactLanes::Slip slip =
        is_rough ? ContactLanes::Slip::kAsExpected : ContactLanes::Slip::kAsGiven;
    if (!contacts_.ProjectExpected(problem_->contacts, slip)) return false;
    const double before = cost_;
    guess_ = v_;
    FindGradient();
    if (FindDirection(result)) {
      double unused = 0;
      const double slope = Slope(0, &unused);
      Advance(1);
      Evaluate();
      const bool is_lower = cost_ < before && cost_ <= before + kSufficientDecrease * slope;
      if (is_lower || (is_rough && terms_.are_convex() && std::isfinite(cost_))) {
        left_ = 0;
        is_under_way_ = true;
        return true;
      }
    }
    v_ = guess_;
    factored_ = false;
    Begin();
    Evaluate();
    return false;
  }

  // Computes the impulses of the rows and returns their cost.
  double ProjectRows() {
    double cost = 0;
    for (std::size_t k = 0; k < row_gamma_.size(); ++k) {
      const ConvexProblem::Row& row = problem_->rows[k];
      const double y = (row.v_hat - row_rate_[k]) / row.R;
      row_gamma_[k] = std::clamp(y, row.lower, row.upper);
      row_is_free_[k] = row_gamma_[k] == y;
      cost += row.R * row_gamma_[k] * (y - 0.5 * row_gamma_[k]);
    }
    return cost;
  }

  // Finds a descent direction. The momentum is linear in v and needs no line search. So as long as
  // the result is a descent direction, each contact is linearised where the full step before would
  // have brought it. Otherwise the few contacts that reverse in a step would hold up all others.
  bool FindDescent(SapResult* result) {
    if (is_under_way_ && cut_steps_ < kMaxCutSteps && contacts_.ProjectAhead(left_)) {
      FindGradient();
      if (!FindDirection(result)) return false;
      double unused = 0;
      if (Slope(0, &unused) < 0) return true;
      contacts_.Project();
      FindGradient();
    }
    is_under_way_ = true;
    contacts_.LinearizeHere();
    return FindDirection(result);
  }

  // Computes Δv = −H⁻¹ ∇ℓ. Factors H = A + JᵀGJ only when some G has changed.
  bool FindDirection(SapResult* result) {
    const bool is_factored = !contacts_.TakeChanges() && factored_ &&
                             row_is_free_ == previous_row_is_free_ && terms_.empty();
    terms_.Linearise(v_, result->residual > kFarResidual);
    is_inexact_ = false;
    if (!(is_sparse_ ? SolveSparse(is_factored, result) : SolveDense(is_factored))) return false;
    if (is_inexact_) {
      factored_ = false;
    } else if (!is_factored) {
      previous_row_is_free_ = row_is_free_;
      factored_ = true;
      ++result->factorisations;
    }

    // quantities along Δv for the line search
    MultiplyA(dv_, &Adv_);
    ForEachContact([&](int c) { contacts_.SetChange(c, jacobian_.Multiply(c, dv_.data())); });
    for (std::size_t k = 0; k < row_change_.size(); ++k)
      row_change_[k] =
          CalcRowRate(static_cast<int>(k), dv_) - island_->row(static_cast<int>(k)).bias;
    slope_A_ = Dot(n_, dv_.data(), momentum_.data());
    curvature_A_ = Dot(n_, dv_.data(), Adv_.data());
    return true;
  }

  bool SolveDense(bool is_factored) {
    if (!analysed_) {
      hessian_.Analyse(*island_, jacobian_, terms_.tangents());
      analysed_ = true;
    } else if (!terms_.empty()) {
      hessian_.UpdateTangents();
    }
    for (int i = 0; i < n_; ++i) dv_[i] = -gradient_[i];
    const std::span<double> solution(dv_.data(), static_cast<std::size_t>(n_));
    if (is_factored) {
      hessian_.Solve(solution);
      return true;
    }
    const auto weigh = [this](int c, Eigen::Matrix3d* G) { return FindWeight(c, G); };
    const auto weigh_row = [this](int k) {
      return row_is_free_[k] ? 1 / problem_->rows[k].R : 0.0;
    };
    return hessian_.FactorAndSolve({weigh, weigh_row}, solution);
  }

  // G of a contact; false if it is open.
  bool FindWeight(int contact, Eigen::Matrix3d* G) const {
    if (contacts_.is_open(contact)) return false;
    *G = contacts_.G(contact);
    return true;
  }

  bool SolveSparse(bool is_factored, SapResult* result) {
    if (!analysed_) sparse_hessian_.Analyze(*island_);
    analysed_ = true;
    if (!is_factored) {
      sparse_hessian_.Start(terms_.tangents());
      sparse_hessian_.AddContacts([this](int c, Eigen::Matrix3d* G) { return FindWeight(c, G); });
      for (std::size_t k = 0; k < row_is_free_.size(); ++k)
        if (row_is_free_[k]) sparse_hessian_.AddRow(static_cast<int>(k), 1 / problem_->rows[k].R);
      if (SolveIteratively(result)) return true;
      if (sparse_hessian_.is_large()) return false;
      if (SolveInSingle(result)) return true;
      if (!sparse_hessian_.Factor()) return false;
      is_any_factored_ = true;
    }
    for (int i = 0; i < n_; ++i) dv_[i] = -gradient_[i];
    sparse_hessian_.Solve({dv_.data(), static_cast<std::size_t>(n_)});
    return true;
  }

  // Solves by conjugate gradients if H is too large to factor, where a direction that is cut off
  // still descends. Also near the solution, where H hardly differs from the H that was factored
  // last, with that factor, unless this takes too long; only from a rough guess, which takes
  // several iterations anyway.
  bool SolveIteratively(SapResult* result) {
    const bool is_near = has_rough_guess_ && is_any_factored_ && result->residual <= kReuseResidual;
    if (!sparse_hessian_.is_large() && !is_near) return false;
    if (sparse_hessian_.is_large()) return SolveByProducts(kLargeTolerance, kMaxProducts, result);
    const bool is_single = sparse_hessian_.is_single();
    return SolveByProducts(is_single ? kSingleReuseTolerance : kReuseTolerance, kMaxReuseProducts,
                           result);
  }

  bool SolveByProducts(double tolerance, int max_products, SapResult* result) {
    for (int i = 0; i < n_; ++i) right_side_[i] = -gradient_[i];
    const std::size_t size = n_;
    is_inexact_ = sparse_hessian_.SolveIteratively({right_side_.data(), size}, tolerance,
                                                   max_products, {dv_.data(), size});
    result->linear_iterations += sparse_hessian_.num_products();
    return is_inexact_;
  }

  // Factors H in single precision and refines the direction in double precision, where a solution
  // takes several iterations anyway. False, and not tried again in this problem, if H is too small
  // or too ill-conditioned for this.
  bool SolveInSingle(SapResult* result) {
    if (!has_rough_guess_ || is_single_insufficient_) return false;
    const bool is_solved = sparse_hessian_.FactorInSingle() &&
                           SolveByProducts(kSingleTolerance, kMaxSingleProducts, result);
    is_single_insufficient_ = !is_solved;
    if (!is_solved) return false;
    is_any_factored_ = true;
    ++result->factorisations;
    return true;
  }

  // Returns ℓ′ along Δv, and ℓ″ in `curvature`; at α = 0 without that of the momentum terms.
  double Slope(double alpha, double* curvature) const {
    const ContactLanes::Slope of_contacts = contacts_.CalcSlope(alpha);
    double slope = slope_A_ + alpha * curvature_A_ + of_contacts.slope;
    *curvature = curvature_A_ + of_contacts.curvature;
    if (!terms_.empty() && alpha == 0) {
      slope += terms_.CalcSlope(dv_);
    } else if (!terms_.empty()) {
      const MomentumTerm::Along terms = terms_.CalcAlong(alpha);
      slope += terms.slope;
      *curvature += terms.curvature;
    }
    for (std::size_t k = 0; k < row_change_.size(); ++k) {
      const ConvexProblem::Row& row = problem_->rows[k];
      const double y = (row.v_hat - row_rate_[k] - alpha * row_change_[k]) / row.R;
      const double gamma = std::clamp(y, row.lower, row.upper);
      slope -= row_change_[k] * gamma;
      if (gamma == y) *curvature += row_change_[k] * row_change_[k] / row.R;
    }
    return slope;
  }

  // Returns the fraction of Δv to advance by. `residual`: relative, of the problem.
  double FindStep(double residual) const {
    if (options_->line_search == SapOptions::LineSearch::kBacktracking) return Backtrack();
    double alpha = SearchExactly();
    // near a solution, the differences of ℓ are rounding errors
    if (terms_.are_convex() || residual < kNearResidual) return alpha;
    // a cost that is not convex may rise before it falls to the point that was found
    double unused = 0;
    const double slope = Slope(0, &unused), rounding = 1e-14 * cost_size_;
    const auto is_lower = [&] {
      return Cost(alpha) <= cost_ + kSufficientDecrease * alpha * slope + rounding;
    };
    for (int k = 0; k < kMaxHalvings && !is_lower(); ++k) alpha *= 0.5;
    return alpha;
  }

  // Finds the α at which ℓ′ vanishes, by Newton's method within a bracket. The minimum along Δv of
  // a strongly convex, smooth ℓ decreases it at least as much as Armijo's rule would.
  double SearchExactly() const {
    constexpr double kMax = 1.5;
    const double tolerance = terms_.empty() ? kExactSlope : kTermsSlope;
    double curvature = 0;
    const double start = Slope(0, &curvature);
    // near the solution, accept the full step
    const double whole = Slope(1, &curvature);
    if (std::abs(whole) <= tolerance * std::abs(start)) return 1;
    double unused = 0;
    if (whole < 0 && Slope(kMax, &unused) <= 0) return kMax;
    double low = whole < 0 ? 1 : 0, high = whole < 0 ? kMax : 1;
    double alpha = 1 - whole / curvature;
    if (!(alpha > low && alpha < high)) alpha = 0.5 * (low + high);
    for (int k = 0; k < 100; ++k) {
      const double slope = Slope(alpha, &curvature);
      if (std::abs(slope) <= tolerance * std::abs(start)) break;
      (slope > 0 ? high : low) = alpha;
      double next = alpha - slope / curvature;
      if (!(next > low && next < high)) next = 0.5 * (low + high);
      if (high - low < 1e-14) break;
      alpha = next;
    }
    return alpha;
  }

  double Cost(double alpha) const {
    double cost = 0, size = 0;
    FindQuadratic(&cost, &size);
    cost = cost + alpha * slope_A_ + 0.5 * alpha * alpha * curvature_A_ + contacts_.CalcCost(alpha);
    if (!terms_.empty()) cost += terms_.CalcAlong(alpha).value;
    for (std::size_t k = 0; k < row_change_.size(); ++k) {
      const ConvexProblem::Row& row = problem_->rows[k];
      const double y = (row.v_hat - row_rate_[k] - alpha * row_change_[k]) / row.R;
      const double gamma = std::clamp(y, row.lower, row.upper);
      cost += row.R * gamma * (y - 0.5 * gamma);
    }
    return cost;
  }

  // Backtracks from α = 1.25 until Armijo's rule holds and the cost no longer falls.
  double Backtrack() const {
    constexpr double kRho = 0.8;
    double curvature = 0;
    const double slope = Slope(0, &curvature);
    // When the decrease is below the rounding of the cost, the slope is still accurate. Accept
    // Newton's step if it meets the rule in terms of the slope (Hager and Zhang's approximate
    // condition), as it does if the cost is nearly quadratic.
    if (-slope < 1e-13 * cost_size_) {
      if (Slope(1, &curvature) <= (2 * kSufficientDecrease - 1) * slope) return 1;
      return SearchExactly();
    }
    double alpha = 1.25;
    double cost = Cost(alpha);
    for (int k = 0; k < 60; ++k) {
      const double next = Cost(kRho * alpha);
      if (cost <= cost_ + kSufficientDecrease * alpha * slope && cost <= next) return alpha;
      alpha *= kRho;
      cost = next;
    }
    return SearchExactly();
  }

  const ConvexProblem* problem_ = nullptr;
  const IslandView* island_ = nullptr;
  const SapOptions* options_ = nullptr;
  int n_ = 0;  // velocities; the vectors are longer
  std::vector<double> v_, guess_, offset_, momentum_, impulse_, gradient_, dv_, Adv_, Av_, scale_,
      scaled_, right_side_;
  std::vector<double> v_star_, linear_term_;  // the latter empty if it is zero
  EvaluatedTerms terms_;
  ContactJacobian jacobian_;
  ContactLanes contacts_;
  bool is_large_ = false;  // large enough for threads
  struct Touch {
    int contact, entry;
  };
  ByGroup<Touch> touching_;  // by block
  DenseHessian hessian_;
  SparseHessian sparse_hessian_;
  std::vector<double> row_rate_, row_change_, row_gamma_;
  std::vector<char> row_is_free_,
      previous_row_is_free_;  // whether the row's impulse was not clamped to its bounds
  double cost_ = 0, cost_size_ = 0, slope_A_ = 0, curvature_A_ = 0;
  double left_ = 0;  // fraction of the last full step that was not taken
  int cut_steps_ = 0;
  bool is_under_way_ = false, has_rough_guess_ = false;
  bool is_any_factored_ = false;         // some H of this problem, perhaps not the present one
  bool is_inexact_ = false;              // the last direction
  bool is_single_insufficient_ = false;  // the precision, for this problem
  bool factored_ = false, analysed_ = false, is_sparse_ = false;
};

void ConvexProblem::Clear() {
  island = {};
  contacts.clear();
  rows.clear();
  terms.clear();
  has_rough_guess = false;
}

SapSolver::SapSolver() : workspace_(std::make_unique<Workspace>()) {}
SapSolver::~SapSolver() = default;
SapSolver::SapSolver(SapSolver&&) noexcept = default;

void SapSolver::Solve(const ConvexProblem& problem, std::span<const double> guess,
                      const SapOptions& options, SapResult* result) {
  workspace_->Start(problem, guess, options);
  workspace_->Solve(result, true);
}

void SapSolver::SolveAgain(const SapOptions& options, SapResult* result) {
  workspace_->SolveAgain(options, result);
}

void SapSolver::SolveRegularised(const SapOptions& options, SapResult* result) {
  workspace_->SolveRegularised(options, result);
}

}  // namespace pliant::solvers
