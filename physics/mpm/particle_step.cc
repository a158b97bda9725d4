#include "physics/mpm/particle_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"

#include "physics/mpm/cell_matrix.h"
#include "physics/mpm/kernel.h"
#include "physics/mpm/nonlinear_part.h"
#include "physics/mpm/particle_transfer.h"
#include "physics/mpm/plastic_flow.h"
#include "solvers/linalg/grid/grid_dissection.h"
#include "solvers/linalg/iterative/swept_matrix.h"
#include "solvers/linalg/partial_cholesky.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Relative residual of the free motion of nonlinear materials.
constexpr double kFreeTolerance = 1e-8;
// Residual that is accepted, and reported, if rounding prevents a smaller one.
constexpr double kStallTolerance = 1e-6;
constexpr int kMaxFreeIterations = 100;
// Relative residual of a direction by conjugate gradients, and the most products that it takes.
constexpr double kFreeDirectionTolerance = 1e-3;
constexpr int kMaxFreeProducts = 500;
// Additions and multiplications of a factorisation beyond which conjugate gradients take less time.
// Linear materials are factored once per step, others in every iteration.
constexpr double kMaxOperations = 1e10, kMaxLinearOperations = 2e11;
// Part of the predicted decrease that a step must achieve.
constexpr double kSufficientDecrease = 1e-4;
constexpr int kMaxHalvings = 40;
// A decrease below this part of the potential's terms is lost in rounding.
constexpr double kRounding = 1e-11;
// Change of the displacement gradient beyond which a tangent is stale.
constexpr double kStaleGradient = 0.1;

double Dot(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

// If all of its nodes participate in a convex problem, the step eliminates none of them and adds
// the nonlinear part of its balance to that problem, whose Newton iterations factor A + JᵀGJ. This
// has the sparsity of A, since the nodes of a contact lie in one cell, which A couples already.
// Where a factor would cost too much, all nodes participate too, and systems are solved by
// conjugate gradients.
class ParticleStep final : public BlockStep, public NonlinearBalance, public VelocityMap {
 public:
  explicit ParticleStep(std::shared_ptr<const ParticleModel> model)
      : model_(std::move(model)),
        is_linear_(std::ranges::all_of(model_->bodies,
                                       [&](const ParticleBody& body) {
                                         return body.material->is_quadratic(
                                             model_->grid.is_corrected);
                                       })),
        transfer_(model_.get()),
        flow_(model_.get(), &transfer_),
        nonlinear_(model_.get(), &transfer_, &places_, &flow_) {}

  std::span<const double> start_velocities() const override { return transfer_.start_velocities(); }
  StepAbilities abilities() override {
    return {.nonlinear = is_linear_ ? nullptr : this,
            .map = this,
            .beyond_linear = nonlinear_.is_zero() ? nullptr : &nonlinear_};
  }
  FreeMotionReport free_motion_report() const override { return report_; }

  absl::Status Pose(const Stage& stage, const BlockState& base,
                    const BlockInputs& inputs) override {
    stage_ = stage;
    gravity_ = inputs.gravity;
    report_ = {};
    if (absl::Status status = transfer_.Begin(base, stage.h); !status.ok()) return status;
    if (!transfer_.grid().is_unchanged()) UsePattern();
    AddExternalForces(inputs);
    const std::span<const double> v0 = transfer_.start_velocities();
    v_linear_.assign(v0.begin(), v0.end());
    flow_.Start();
    return LineariseThere();
  }

  bool IsStale(std::span<const double> v) override {
    bool is_stale = false;
    const std::span<const double> change = CalcChange(v);
    transfer_.ForEachParticle(
        change, [&](int /*p*/, const Kernel& kernel, const NodeVectors& nodes) {
          const Matrix3d H = stage_.h * InterpolateGradient(kernel, nodes);
          is_stale = is_stale || H.squaredNorm() > kStaleGradient * kStaleGradient;
        });
    return is_stale;
  }

  absl::Status Linearise(std::span<const double> v, TangentKind) override {
    flow_.Set(v, stage_.h);
    v_linear_.assign(v.begin(), v.end());
    return LineariseThere();
  }

  // A potential that is not quadratic becomes part of the contact problem, so that all nodes
  // participate.
  void ExtendParticipants(std::vector<int>* groups) const override {
    if (nonlinear_.is_zero() && !is_large_) return;
    groups->resize(A_.pattern->num_nodes);
    std::iota(groups->begin(), groups->end(), 0);
  }
  absl::Status Factor(std::span<const int> participants) override {
    is_whole_ = is_free_ = false;
    return FactorAs(participants, solvers::ComplementForm::kDense, true);
  }
  absl::Status Reduce(std::span<const int> participants) override {
    is_whole_ = (!nonlinear_.is_zero() || is_large_) &&
                static_cast<int>(participants.size()) == A_.pattern->num_nodes;
    if (is_whole_) return absl::OkStatus();
    is_free_ = is_large_ && participants.empty();
    if (is_free_) return SolveFreeMotion();
    return FactorAs(participants, solvers::ComplementForm::kSparseWherePays, false);
  }
  solvers::SchurComplement schur_complement() const override {
    if (is_whole_) return {&A_, is_large_ ? std::span<const int>() : order_};
    return factor_.schur_complement();
  }

  void CalcReducedMomentum(std::span<double> reference,
                           std::span<double> linear_term) const override {
    if (is_whole_) {
      std::ranges::copy(v_linear_, reference.begin());
      std::ranges::transform(residual_, linear_term.begin(), std::negate<>());
      return;
    }
    const std::vector<int>& participants = factor_.participants();
    dv_p_.resize(3 * participants.size());
    factor_.CopyReduced(dv_p_);
    for (std::size_t k = 0; k < participants.size(); ++k) {
      for (int r = 0; r < 3; ++r) {
        const std::size_t i = 3 * std::size_t(participants[k]) + r;
        reference[i] = v_linear_[i];
        linear_term[i] = dv_p_[3 * k + r];
      }
    }
  }

  void CalcFreeMotion(std::span<double> v_star) const override {
    const std::vector<int>& participants = factor_.participants();
    if (is_free_ || participants.empty()) return Complete({}, v_star);
    dv_p_.resize(3 * participants.size());
    factor_.SolveForParticipants(dv_p_);
    for (std::size_t k = 0; k < dv_p_.size(); ++k) {
      const std::size_t i = 3 * std::size_t(participants[k / 3]) + k % 3;
      v_star[i] = v_linear_[i] + dv_p_[k];
    }
  }

  void Complete(std::span<const double> v_p, std::span<double> v) const override {
    if (is_whole_ || is_free_) {
      std::ranges::copy(is_whole_ ? v_p : v_linear_, v.begin());
      return;
    }
    const std::vector<int>& participants = factor_.participants();
    dv_p_.resize(v_p.size());
    for (std::size_t k = 0; k < v_p.size(); ++k)
      dv_p_[k] = v_p[k] - v_linear_[3 * std::size_t(participants[k / 3]) + k % 3];
    factor_.Complete(dv_p_, v);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += v_linear_[i];
  }

  void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) override {
    if (is_linear_) {
      A_.Multiply(CalcChange(v), residual);
      for (std::size_t i = 0; i < residual.size(); ++i) residual[i] += residual_[i];
      return;
    }
    Evaluate(v, residual);
  }

  ResidualScale CalcResidualScale() const override {
    ResidualScale scale;
    diagonal_.resize(v_linear_.size());
    A_.CopyDiagonal(diagonal_);
    for (std::size_t i = 0; i < diagonal_.size(); ++i)
      scale.force += elastic_[i] * elastic_[i] / diagonal_[i];
    return scale;
  }

  double CalcPotential(std::span<const double> v) override {
    scratch_.resize(v.size());
    return Evaluate(v, scratch_).energy;
  }

  void MultiplyTangent(std::span<const double> x, std::span<double> y) const override {
    A_.Multiply(x, y);
  }
  void CalcTangentDiagonal(std::span<double> diagonal) const override { A_.CopyDiagonal(diagonal); }
  const solvers::BlockMatrix* tangent_matrix() const override { return &A_; }
  void CalcResidualTerms(std::span<const double> v, std::span<double> residual,
                         std::span<double> momentum, std::span<double> diagonal) override {
    if (!is_linear_) return BlockStep::CalcResidualTerms(v, residual, momentum, diagonal);
    A_.Multiply(CalcChange(v), v, residual, momentum);
    for (std::size_t i = 0; i < residual.size(); ++i) residual[i] += residual_[i];
    A_.CopyDiagonal(diagonal);
  }

  void SetContacts(int block, std::span<const ContactPoint> contacts) override {
    transfer_.SetContacts(block, contacts);
  }

  void AppendRows(const Attachment& attachment, BlockRows* rows) const override {
    for (int n = 0; n < attachment.nodes.size(); ++n) {
      const ParticleTransfer::GridWeights of =
          transfer_.FindContactWeights(attachment.nodes.node(n), attachment.p_W);
      std::array<double, kKernelNodes> weights;
      for (int k = 0; k < of.count; ++k) weights[k] = attachment.nodes.weight(n) * of.weights[k];
      rows->AppendByWeights(std::span(of.nodes).first(of.count),
                            std::span(weights).first(of.count));
    }
  }

  double CalcInputWork(std::span<const double> v) override {
    const std::span<const double> v0 = transfer_.start_velocities();
    double work = 0;
    for (std::size_t i = 0; i < v.size(); ++i) work += 0.5 * applied_[i] * (v0[i] + v[i]);
    return work + transfer_.CalcSpreadWork(gravity_);
  }

  void CalcStateVelocities(std::span<const double> v, std::span<double> state_v) const override {
    transfer_.CalcVelocities(v, state_v);
  }
  // The affine field is part of the velocity.
  void StoreVelocities(std::span<const double> v, MutableBlockState state) const override {
    transfer_.CalcVelocities(v, state.v);
    transfer_.CalcAffineFields(v, state.internals);
  }
  void Integrate(std::span<const double> v, MutableBlockState state) const override {
    transfer_.Advance(v, stage_.h, state);
  }

 private:
  void UsePattern() {
    const solvers::GridPattern& grid = transfer_.grid().pattern();
    space_ = VelocitySpace::MakeUniform(transfer_.grid().num_nodes(), 3);
    const std::size_t count = transfer_.grid().cells().size();
    places_.resize(count * kCellBlocks);
    for (std::size_t c = 0; c < count; ++c) {
      grid.FindBlocks(static_cast<int>(c),
                      std::span<int, kCellBlocks>(&places_[c * kCellBlocks], kCellBlocks));
    }
    A_.pattern = &grid.pattern();
    A_.values.resize(9 * grid.pattern().rows.size());
    const double limit = is_linear_ ? kMaxLinearOperations : kMaxOperations;
    const std::span<const int> order = dissection_.FindOrder(grid.nodes(), grid.pattern(), limit);
    order_.assign(order.begin(), order.end());
    is_large_ = dissection_.operations() > limit;
    is_pattern_new_ = true;
  }

  // Sums the known momenta: initial momentum, gravity and applied forces.
  void AddExternalForces(const BlockInputs& inputs) {
    const double h = stage_.impulse_scale();
    momentum_.assign(transfer_.momenta().begin(), transfer_.momenta().end());
    applied_.assign(momentum_.size(), 0.0);
    const auto apply = [&](int node, const Vector3d& impulse) {
      const ParticleTransfer::GridWeights of = transfer_.FindGridWeights(node);
      for (int k = 0; k < of.count; ++k)
        for (int r = 0; r < 3; ++r)
          applied_[3 * std::size_t(of.nodes[k]) + r] += of.weights[k] * impulse[r];
    };
    for (const BlockForce& force : inputs.forces) {
      if (force.node >= 0) {
        apply(force.node, h * force.force_W);
        continue;
      }
      const IndexRange range = model_->particles[force.part];
      double mass = 0;
      for (int p = range.first; p < range.first + range.count; ++p)
        mass += model_->particle_mass[p];
      for (int p = range.first; p < range.first + range.count; ++p)
        apply(model_->node[p], h * model_->particle_mass[p] / mass * force.force_W);
    }
    for (std::size_t i = 0; i < momentum_.size(); ++i)
      momentum_[i] += applied_[i] + h * transfer_.masses()[i / 3] * inputs.gravity[i % 3];
  }

  // Assembles A and m at v_linear_.
  absl::Status LineariseThere() {
    const double lumped = model_->lumped();
    std::ranges::fill(A_.values, 0.0);
    residual_.assign(v_linear_.size(), 0.0);
    elastic_.assign(v_linear_.size(), 0.0);
    nonlinear_.Start(stage_.h);
    const Evaluation sum = AddParticles(v_linear_, true, residual_, elastic_);
    const solvers::BlockPattern& pattern = *A_.pattern;
    const std::span<const double> mass = transfer_.masses();
    for (int i = 0; i < pattern.num_nodes; ++i) {
      double* block = &A_.values[9 * std::size_t(pattern.column_starts[i])];
      // a node at the very edge of all kernels has no mass and no stiffness
      const double m = mass[i] > 0 ? lumped * mass[i] : 1;
      for (int r = 0; r < 3; ++r) block[4 * r] += m;
    }
    at_linear_ = CompleteEvaluation(v_linear_, sum, residual_);
    double finite = 0;
    for (const double x : residual_) finite += 0 * x;
    for (const double x : A_.values) finite += 0 * x;
    if (finite == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("its forces are not finite; ", DescribeWorst()));
  }

  // Contributions of the particles of a cell.
  struct CellTerms {
    NodeVectors momentum, force;
    double energy = 0, elastic = 0;
    int projected = 0;  // tangents that lost negative eigenvalues
    CellMatrix matrix;
  };

  static void AddForces(const Kernel& kernel, const Vector3d& momentum, const Matrix3d& stress,
                        CellTerms* terms) {
    for (int r = 0; r < 3; ++r)
      for (int a = 0; a < kPaddedNodes; ++a) terms->momentum.of[r][a] += kernel.w[a] * momentum[r];
    AddStress(kernel, stress, &terms->force);
  }
  static void Scatter(const ActiveGrid::Cell& cell, const CellTerms& terms,
                      std::span<double> residual, std::span<double> elastic) {
    for (int a = 0; a < kKernelNodes; ++a) {
      for (int r = 0; r < 3; ++r) {
        const std::size_t i = 3 * std::size_t(cell.nodes[a]) + r;
        residual[i] += terms.momentum.of[r][a] + terms.force.of[r][a];
        elastic[i] += terms.force.of[r][a];
      }
    }
  }

  // Incremental potential at v.
  struct Evaluation {
    double energy = 0;  // with gradient m [J]
    double scale = 0;  // sum of the magnitudes of its terms, of which 1e-16 is lost in rounding [J]
  };

  // Adds the lumped mass and the known momenta.
  Evaluation CompleteEvaluation(std::span<const double> v, Evaluation sum,
                                std::span<double> residual) const {
    const double lumped = model_->lumped();
    for (std::size_t i = 0; i < v.size(); ++i) {
      const double inertia = lumped * transfer_.masses()[i / 3] * v[i];
      residual[i] += inertia - momentum_[i];
      sum.energy += 0.5 * inertia * v[i] - momentum_[i] * v[i];
      sum.scale += std::abs(momentum_[i] * v[i]);
    }
    return sum;
  }

  // m(v) and the potential. The linearisation does not change.
  Evaluation Evaluate(std::span<const double> v, std::span<double> residual) {
    std::ranges::fill(residual, 0.0);
    trial_elastic_.assign(v.size(), 0.0);
    return CompleteEvaluation(v, AddParticles(v, false, residual, trial_elastic_), residual);
  }

  // Adds the particles' contributions to m(v) and to its elastic part, in the order of their cells.
  // To linearise at v, it also adds their tangents to A_ and stores their displacement gradients.
  Evaluation AddParticles(std::span<const double> v, bool is_to_linearise,
                          std::span<double> residual, std::span<double> elastic) {
    const double consistent = 1 - model_->lumped(), h = stage_.h;
    Evaluation sum;
    const std::span<const ActiveGrid::Cell> cells = transfer_.grid().cells();
    const auto compute = [&](int c, CellTerms* terms) {
      const ActiveGrid::Cell& cell = cells[c];
      terms->momentum = terms->force = {};
      terms->energy = terms->elastic = 0;
      terms->projected = 0;
      if (is_to_linearise) terms->matrix.Clear();
      NodeVectors nodes;
      ParticleTransfer::Gather(cell, v, &nodes);
      ParticleResponse response;
      for (int i = cell.first; i < cell.first + cell.count; ++i) {
        const int p = transfer_.particle_at(i);
        const Kernel kernel = transfer_.MakeKernel(p, cell);
        const double m = consistent * model_->particle_mass[p], V = model_->particle_volume[p];
        const Vector3d velocity = Interpolate(kernel, nodes);
        const Matrix3d H = h * InterpolateGradient(kernel, nodes);
        if (is_to_linearise) {
          flow_.Respond(p, H, &response);
        } else {
          model_->material_of(p).Respond(model_->parameters_of(p), transfer_.start(p), H,
                                         ParticleTangent::kNone, &response);
        }
        terms->energy += 0.5 * m * velocity.squaredNorm() + V * response.energy;
        terms->elastic += V * std::abs(response.energy);
        AddForces(kernel, m * velocity, V * h * response.stress, terms);
        if (!is_to_linearise) continue;
        terms->projected += response.is_projected;
        nonlinear_.Linearise(p, H, response);
        terms->matrix.Add(kernel, V * h * h, response.tangent, m);
      }
    };
    int projected = 0;
    transfer_.ForEachCell(&matrices_, compute, [&](int c, const CellTerms& terms) {
      projected += terms.projected;
      sum.energy += terms.energy;
      sum.scale += terms.elastic;
      Scatter(cells[c], terms, residual, elastic);
      if (is_to_linearise) terms.matrix.Scatter(PlacesOf(c), A_.values);
    });
    report_.projected_elements = std::max(report_.projected_elements, projected);
    return sum;
  }

  absl::Status FactorAs(std::span<const int> participants, solvers::ComplementForm form,
                        bool with_participants) {
    // analysed here and not with the pattern: a contact problem with all nodes has its own analysis
    if (is_pattern_new_) factor_.SetPattern(A_.pattern, order_);
    is_pattern_new_ = false;
    // the stepper does not relinearise a nonlinear block without participants
    if (participants.empty() && !is_linear_) return SolveFreeMotion();
    negated_.resize(residual_.size());
    for (std::size_t i = 0; i < residual_.size(); ++i) negated_[i] = -residual_[i];
    const bool is_factored = with_participants
                                 ? factor_.Factor(A_, participants, form, negated_)
                                 : factor_.Eliminate(A_, participants, form, negated_);
    if (is_factored) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("its tangent matrix is not positive definite; ", DescribeWorst()));
  }

  // Newton's method with a line search on the incremental potential.
  absl::Status SolveFreeMotion() {
    for (;; ++report_.iterations) {
      report_.residual = CalcRelativeResidual(residual_, v_linear_, elastic_);
      const bool is_solved = report_.residual <= kFreeTolerance;
      if (!is_solved && report_.iterations == kMaxFreeIterations) return NotConverged("after");
      negated_.resize(residual_.size());
      for (std::size_t i = 0; i < residual_.size(); ++i) negated_[i] = -residual_[i];
      if (is_free_ && is_solved) return absl::OkStatus();
      direction_.resize(residual_.size());
      const bool is_definite =
          is_free_ ? FindDirectionIteratively()
                   : factor_.Factor(A_, {}, solvers::ComplementForm::kDense, negated_);
      if (!is_definite) {
        return absl::InternalError(
            absl::StrCat("its tangent matrix is not positive definite; ", DescribeWorst()));
      }
      if (is_solved) return absl::OkStatus();
      if (!is_free_) factor_.Complete({}, direction_);
      const double slope = Dot(residual_, direction_);
      bool is_accepted = false;
      double length = 1;
      trial_.resize(v_linear_.size());
      scratch_.resize(v_linear_.size());
      for (int halvings = 0; halvings <= kMaxHalvings && !is_accepted; ++halvings, length *= 0.5) {
        for (std::size_t i = 0; i < trial_.size(); ++i)
          trial_[i] = v_linear_[i] + length * direction_[i];
        const Evaluation next = Evaluate(trial_, scratch_);
        is_accepted = next.energy <= at_linear_.energy + kSufficientDecrease * length * slope;
        // the predicted decrease is lost in rounding: compare residuals
        if (!is_accepted && -length * slope <= kRounding * at_linear_.scale)
          is_accepted = CalcRelativeResidual(scratch_, trial_, trial_elastic_) < report_.residual;
      }
      if (!is_accepted) {
        report_.is_above_tolerance = report_.residual <= kStallTolerance;
        return report_.is_above_tolerance ? absl::OkStatus()
                                          : NotConverged("for lack of a descent in");
      }
      flow_.Advance(v_linear_, direction_, stage_.h);
      v_linear_.swap(trial_);
      if (absl::Status status = LineariseThere(); !status.ok()) return status;
    }
  }

  bool FindDirectionIteratively() {
    if (!swept_.Set(A_)) return false;
    swept_.Solve(negated_, kFreeDirectionTolerance, kMaxFreeProducts, direction_);
    report_.linear_iterations += swept_.iterations();
    return true;
  }

  // ‖D m‖ / max(‖D A v‖, ‖D h f‖), D = diag(A)^(−1/2), as in the whole step (han2023 §VI).
  double CalcRelativeResidual(std::span<const double> residual, std::span<const double> v,
                              std::span<const double> elastic) const {
    diagonal_.resize(v.size());
    product_.resize(v.size());
    A_.CopyDiagonal(diagonal_);
    A_.Multiply(v, product_);
    double error = 0, motion = 0, force = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      error += residual[i] * residual[i] / diagonal_[i];
      motion += product_[i] * product_[i] / diagonal_[i];
      force += elastic[i] * elastic[i] / diagonal_[i];
    }
    return error == 0 ? 0 : std::sqrt(error / std::max(motion, force));
  }

  absl::Status NotConverged(const char* when) const {
    return absl::InternalError(absl::StrCat("its free motion did not converge: relative residual ",
                                            report_.residual, " ", when, " ", report_.iterations,
                                            " Newton iterations; ", DescribeWorst()));
  }

  // Describes the most compressed particle.
  std::string DescribeWorst() const {
    int worst = -1;
    double smallest = 0;
    for (int p = 0; p < model_->num_particles; ++p) {
      const ParticleState& state = transfer_.start(p).state;
      const double ratio = model_->material_of(p).is_liquid() ? state.J : state.F.determinant();
      if (worst >= 0 && !(ratio < smallest)) continue;
      worst = p;
      smallest = ratio;
    }
    const int body = model_->body[worst];
    return absl::StrCat("particle ", worst - model_->particles[body].first, " of \"",
                        model_->bodies[body].name, "\" has ", smallest,
                        " times its volume at rest");
  }

  // v − v_linear_, valid until the next call.
  std::span<const double> CalcChange(std::span<const double> v) const {
    change_.resize(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) change_[i] = v[i] - v_linear_[i];
    return change_;
  }

  std::span<const int> PlacesOf(std::size_t cell) const {
    return std::span<const int>(places_).subspan(cell * kCellBlocks, kCellBlocks);
  }

  std::shared_ptr<const ParticleModel> model_;
  const bool is_linear_;
  Vector3d gravity_ = Vector3d::Zero();
  Stage stage_;
  FreeMotionReport report_;

  // the grid of the step, and the factorisation for its pattern
  ParticleTransfer transfer_;
  std::vector<int> places_;  // of the blocks of each cell in the pattern
  solvers::BlockMatrix A_{&transfer_.grid().pattern().pattern()};
  solvers::GridDissection dissection_;
  std::vector<int> order_;
  solvers::PartialCholesky factor_;
  solvers::SweptMatrix swept_;
  bool is_pattern_new_ = false;   // not yet given to factor_
  bool is_large_ = false;         // too large to factor
  bool is_free_ = false;          // nothing participates, and v_linear_ is the free motion
  bool is_whole_ = false;         // all nodes participate, and none is eliminated
  std::vector<double> momentum_;  // see AddExternalForces
  std::vector<double> applied_;   // impulses of applied forces

  // the linearisation: m(v) = residual_ + A (v − v_linear_)
  std::vector<double> v_linear_, residual_, elastic_;
  PlasticFlow flow_;
  NonlinearPart nonlinear_;
  Evaluation at_linear_;

  std::vector<CellTerms> matrices_;
  std::vector<double> trial_, trial_elastic_, scratch_, direction_, negated_;
  mutable std::vector<double> dv_p_, change_, diagonal_, product_;
};

}  // namespace

std::unique_ptr<BlockStep> MakeParticleStep(std::shared_ptr<const ParticleModel> model) {
  return std::make_unique<ParticleStep>(std::move(model));
}

}  // namespace pliant::physics
