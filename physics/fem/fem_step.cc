#include "physics/fem/fem_step.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

#include "physics/fem/assembly.h"
#include "physics/fem/fem_batch.h"
#include "solvers/linalg/dense.h"
#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/low_rank/low_rank_cholesky.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using solvers::LaneCholesky;

// Relative residual that is accepted, and reported, if rounding prevents a smaller one.
constexpr double kStallTolerance = 1e-6;
// Residual that counts as zero.
constexpr double kZeroResidual = 1e-14;
// Part of the predicted decrease that a step must achieve.
constexpr double kSufficientDecrease = 1e-4;
constexpr int kMaxHalvings = 40;
// A Newton step is extended while more than this part of the initial slope is left, up to
// kMaxExtension times its length.
constexpr double kExtensionSlope = 0.5;
constexpr double kMaxExtension = 1e4;
constexpr double kMinBlend = 1.0 / 256;  // minimum part of the convex tangent in a blend
// Up to this many nodes in contact, a dense Schur complement is cheap. With more, its factorisation
// may take kMaxDenseOperations of the operations of the whole factorisation before more nodes are
// kept, which makes it sparse.
constexpr int kMaxDenseNodes = 100;
constexpr double kMaxDenseOperations = 0.1;
// Change of a deformation gradient, about that of a rotation by 5°, beyond which a tangent is
// stale.
constexpr double kStaleGradient = 0.1;

// Number of nodes per participant below which it is cheaper to eliminate the participants last than
// to compute their Schur complement from the factor of all nodes.
constexpr int kNodesPerParticipant = 12;

double Dot(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

bool AllFinite(std::span<const double> x) {
  // 0 · inf is NaN, so one sum detects any value that is not finite
  Lane sum{};
  std::size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes) sum += 0.0 * Lane(_mm256_loadu_pd(&x[i]));
  for (; i < x.size(); ++i) sum += 0.0 * x[i];
  return All(sum == 0.0);
}

class FemStep final : public BatchedFemStep, public NonlinearBalance, public LaggedBalance {
 public:
  explicit FemStep(std::shared_ptr<const FemModel> model)
      : BatchedFemStep(std::move(model)),
        A_(&model_->pattern),
        factored_(&model_->pattern),
        factor_(&model_->pattern, model_->rest->elimination_order()),
        linear_A_(A_) {
    const std::size_t n = 3 * std::size_t(model_->num_nodes);
    if (is_linear()) linear_A_.values = {};
    residual_.resize(n);
  }

  StepAbilities abilities() override {
    if (is_linear()) return {.lagged = this};
    return {.nonlinear = this};
  }

  absl::Status Pose(const Stage& stage, const BlockState& base,
                    const BlockInputs& inputs) override {
    if (absl::Status status = Start(stage, base, inputs); !status.ok()) return status;
    inputs_ = &inputs;
    if (absl::Status status = PoseWithRotations(q0_); !status.ok()) return status;
    if (is_linear()) return absl::OkStatus();
    return SolveNonlinear();
  }

  double CalcRelativeGain(std::span<const double> v) override {
    if (stage_.force_move.trial == 0) return 0;
    return physics::CalcRelativeGain(*model_, stage_, q0_, v0_, q_turn_, v, [&] {
      double work = CalcInputWork(v);
      for (int i = 0; i < model_->num_nodes; ++i) {
        work += 0.5 * stage_.impulse_scale() * model_->node_mass[i] *
                inputs_->gravity.dot(VectorAt(v0_, 3 * i) + VectorAt(v, 3 * i));
      }
      return work;
    });
  }
  absl::Status PoseAhead(std::span<const double> v) override {
    q_ahead_.resize(v.size());
    for (std::size_t i = 0; i < v.size(); ++i)
      q_ahead_[i] = q0_[i] + stage_.h * stage_.force_move(v0_[i], v[i]);
    return PoseWithRotations(q_ahead_);
  }

  absl::Status Factor(std::span<const int> participants) override {
    return Factor(participants, solvers::ComplementForm::kDense, true);
  }

  void ExtendParticipants(std::vector<int>* groups) const override {
    const double n = 3 * static_cast<double>(groups->size());
    // with volumes, Â is dense in any case
    if (groups->size() <= kMaxDenseNodes || !model_->volumes.empty() ||
        n * n * n / 3 <= kMaxDenseOperations * model_->rest->elimination_operations())
      return;
    solvers::AddAncestors(model_->rest->elimination_tree(), &marks_, groups);
  }

  absl::Status Reduce(std::span<const int> participants) override {
    // a quadratic energy is convex; otherwise factoring Â may show that the tangent is indefinite
    return Factor(participants, solvers::ComplementForm::kSparseWherePays, !is_linear());
  }

  void CalcReducedMomentum(std::span<double> reference,
                           std::span<double> linear_term) const override {
    // the free motion is known already
    if (is_solved_) return BlockStep::CalcReducedMomentum(reference, linear_term);
    const std::vector<int>& participants = factor_.participants();
    dv_p_.resize(3 * participants.size());
    factor_.CopyReduced(dv_p_);
    for (std::size_t k = 0; k < participants.size(); ++k) {
      const std::size_t first = 3 * std::size_t(participants[k]);
      for (int r = 0; r < 3; ++r) {
        reference[first + r] = v0_[first + r];
        linear_term[first + r] = dv_p_[3 * k + r];
      }
    }
  }

  FreeMotionReport free_motion_report() const override { return report_; }

  void CalcFreeMotion(std::span<double> v_star) const override {
    if (is_solved_) {
      dv_p_.resize(3 * participants_.size());
      for (std::size_t k = 0; k < dv_p_.size(); ++k)
        dv_p_[k] = free_[3 * std::size_t(participants_[k / 3]) + k % 3];
    } else {
      dv_p_.resize(3 * factor_.participants().size());
      factor_.SolveForParticipants(dv_p_);
    }
    if (participants().empty()) return Complete({}, v_star);
    for (std::size_t k = 0; k < participants().size(); ++k) {
      const std::size_t first = 3 * std::size_t(participants()[k]);
      for (int r = 0; r < 3; ++r) v_star[first + r] = v0_[first + r] + dv_p_[3 * k + r];
    }
  }

  void Complete(std::span<const double> v_p, std::span<double> v) const override {
    if (is_solved_) {
      if (double* load = BeginCompletion(v_p, v)) {
        double* lanes[LaneCholesky::kLanes] = {};
        lanes[lane_] = load;
        lanes_->Solve(std::span(lanes).first(lane_ + 1));
      }
      return EndCompletion(v);
    }
    dv_p_.resize(v_p.size());
    for (std::size_t k = 0; k < participants().size(); ++k) {
      for (int r = 0; r < 3; ++r)
        dv_p_[3 * k + r] = v_p[3 * k + r] - v0_[3 * participants()[k] + r];
    }
    factor_.Complete(dv_p_, v);
    AddStart(v);
  }

  bool is_for_lanes(std::span<const int> participants) const override {
    return kNodesPerParticipant * static_cast<int>(participants.size()) <= model_->num_nodes;
  }
  bool is_in(const LaneCholesky* lanes) const override { return is_in_lanes_ && lanes_ == lanes; }
  const solvers::BlockMatrix& MaskTangent() override {
    if (!has_prescribed()) return A_;
    MaskPrescribed();
    return factored_;
  }
  double* LoadLane(LaneCholesky* lanes, int lane) override {
    lanes_ = lanes;
    lane_ = lane;
    is_in_lanes_ = true;
    const std::span<const double> load = CalcRightSide();
    free_.assign(load.begin(), load.end());
    return free_.data();
  }
  absl::Status FactorInLane(std::span<const int> participants, bool is_to_reduce) override {
    const int failed = lanes_->failed_node(lane_);
    if (failed >= 0) return NotDefinite(failed);
    is_solved_ = lanes_->CalcSchurComplement(lane_, participants, &schur_);
    if (!is_solved_) return is_to_reduce ? Reduce(participants) : Factor(participants);
    participants_.assign(participants.begin(), participants.end());
    return absl::OkStatus();
  }
  double* BeginCompletion(std::span<const double> v_p, std::span<double> v) const override {
    if (participants_.empty()) {
      std::ranges::copy(free_, v.begin());
      return nullptr;
    }
    const int n = static_cast<int>(v_p.size());
    dv_p_.resize(2 * v_p.size());
    double* change = dv_p_.data();
    double* force = change + n;
    const auto at = [this](int k) { return 3 * std::size_t(participants_[k / 3]) + k % 3; };
    for (int k = 0; k < n; ++k) change[k] = v_p[k] - v0_[at(k)] - free_[at(k)];
    solvers::MultiplySymmetric(n, schur_.data(), n, change, force);
    std::ranges::copy(known_, v.begin());
    for (int k = 0; k < n; ++k) v[at(k)] += force[k];
    return v.data();
  }
  void EndCompletion(std::span<double> v) const override { AddStart(v); }
  bool is_solved() const override { return is_solved_; }
  int lane() const override { return lane_; }

  ResidualScale CalcResidualScale() const override {
    diagonal_.resize(v0_.size());
    linear_diagonal_.resize(v0_.size());
    CalcTangentDiagonal(diagonal_);
    linear_A_.CopyDiagonal(linear_diagonal_);
    ResidualScale scale{CalcRounding(diagonal_, linear_diagonal_), 0};
    for (std::size_t i = 0; i < diagonal_.size(); ++i)
      scale.force += trial_elastic_[i] * trial_elastic_[i] / diagonal_[i];
    return scale;
  }

  // True if some element deforms or rotates so much from v_linear_ to v that A is stale.
  bool IsStale(std::span<const double> v) override {
    if (stage_.force_move.trial == 0) return false;
    for (std::size_t i = 0; i < v.size(); ++i)
      dv_[i] = stage_.h * stage_.move.trial * (v[i] - v_linear_[i]);
    for (const ElementBatch& batch : model_->elements.batches) {
      const LaneMatrix3 dF = CalcGradient(batch, dv_);
      Lane size2{};
      for (const Lane& entry : dF) size2 += entry * entry;
      if (!All(size2 <= kStaleGradient * kStaleGradient)) return true;
    }
    return false;
  }

  absl::Status Linearise(std::span<const double> v, TangentKind kind) override {
    std::copy(v.begin(), v.end(), v_linear_.begin());
    tangent_ = kind == TangentKind::kExact ? Tangent::kExact : Tangent::kConvex;
    Evaluate(v_linear_);
    return CheckFinite();
  }

  solvers::SchurComplement schur_complement() const override {
    if (is_solved_) return std::span<const double>(schur_);
    return factor_.schur_complement();
  }

  void MultiplyTangent(std::span<const double> x, std::span<double> y) const override {
    A_.Multiply(x, y);
    dense_.AddProduct(x, y);
  }
  void CalcTangentDiagonal(std::span<double> diagonal) const override {
    A_.CopyDiagonal(diagonal);
    dense_.AddDiagonal(diagonal);
  }

  void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) override {
    if (!is_linear()) return CalcNonlinearResidual(v, residual);
    A_.Multiply(CalcChange(v), residual);
    CompleteResidual(residual);
  }

  double CalcInputWork(std::span<const double> v) override {
    double work = NodeStep::CalcInputWork(v);
    if (!has_prescribed()) return work;
    // the holder of prescribed nodes supplies the impulses that their momentum balance lacks
    scratch_.resize(v.size());
    if (is_linear()) {
      A_.Multiply(CalcChange(v), scratch_);
      for (std::size_t i = 0; i < v.size(); ++i) scratch_[i] += residual_[i];
    } else {
      CalcWholeNonlinearResidual(v, scratch_);
    }
    ForEachPrescribed([&](int node, const Vector3d& velocity) {
      work += 0.5 * VectorAt(std::span<const double>(scratch_), 3 * node)
                        .dot(VectorAt(v0_, 3 * node) + velocity);
    });
    return work;
  }

  double CalcPotential(std::span<const double> v) override {
    CalcNonlinearResidual(v, {});
    return trial_potential_;
  }

  void CalcResidualTerms(std::span<const double> v, std::span<double> residual,
                         std::span<double> momentum, std::span<double> diagonal) override {
    if (!is_linear()) return BlockStep::CalcResidualTerms(v, residual, momentum, diagonal);
    A_.Multiply(CalcChange(v), v, residual, momentum);
    CompleteResidual(residual);
    A_.CopyDiagonal(diagonal);
  }

 private:
  bool is_linear() const { return model_->is_linear(); }

  // Sets up the balance with the elements' rotations at positions `q_turn`, which must outlive it.
  absl::Status PoseWithRotations(std::span<const double> q_turn) {
    q_turn_ = q_turn;
    is_in_lanes_ = is_solved_ = false;
    Assemble();
    AddExternalForces(*inputs_);
    model_->ProjectOntoPlane(residual_);
    if (AllFinite(residual_) && AllFinite(A_.values)) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("its forces are not finite; ", model_->DescribeWorstElement(q0_)));
  }

  // Right-hand side −m(v0) of A dv = −m(v0), to which the terms of prescribed velocities are moved;
  // valid until the next call.
  std::span<const double> CalcRightSide() const {
    std::vector<double>&dv = free_dv_, &known = known_;
    known.assign(residual_.size(), 0.0);
    if (has_prescribed()) {
      dv.assign(residual_.size(), 0.0);
      ForEachPrescribed([&](int node, const Vector3d& velocity) {
        for (int r = 0; r < 3; ++r) dv[3 * node + r] = velocity[r] - v0_[3 * node + r];
      });
      MultiplyTangent(dv, known);
    }
    for (std::size_t i = 0; i < known.size(); ++i) known[i] = -residual_[i] - known[i];
    ForEachPrescribed([&](int node, const Vector3d&) {
      const double* block = &factored_.values[9 * std::size_t(model_->pattern.column_starts[node])];
      for (int r = 0; r < 3; ++r) known[3 * node + r] = block[4 * r] * dv[3 * node + r];
    });
    return known;
  }

  const std::vector<int>& participants() const {
    return is_solved_ ? participants_ : factor_.participants();
  }

  // Turns v − v0 into v.
  void AddStart(std::span<double> v) const {
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += v0_[i];
    ForEachPrescribed([&](int node, const Vector3d& velocity) {
      for (int r = 0; r < 3; ++r) v[3 * node + r] = velocity[r];
    });
  }

  // v − v0, valid until the next call.
  std::span<const double> CalcChange(std::span<const double> v) const {
    free_dv_.resize(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) free_dv_[i] = v[i] - v0_[i];
    return free_dv_;
  }

  // Turns A (v − v0) into m(v).
  void CompleteResidual(std::span<double> residual) const {
    for (std::size_t i = 0; i < residual.size(); ++i) residual[i] += residual_[i];
    ForEachPrescribed([&](int node, const Vector3d&) {
      for (int r = 0; r < 3; ++r) residual[3 * node + r] = 0;
    });
  }

  // Assembles A (han2023 (11)) and the elements' part of m(v0), without the elastic forces of
  // nonlinear elements.
  void Assemble() {
    std::fill(A_.values.begin(), A_.values.end(), 0.0);
    std::fill(residual_.begin(), residual_.end(), 0.0);
    AssembleQuadratic(*model_, stage_, q0_, v0_, q_turn_, pressure_, &A_, &residual_);
    AssembleDamping(*model_, stage_, q0_, v0_, &deformation_, &A_, &residual_);
    const double alpha = model_->parameters.rayleigh_alpha;
    if (alpha != 0) {
      std::vector<double>& Mv = scratch_;
      Mv.resize(v0_.size());
      model_->MultiplyMass(v0_, Mv);
      for (std::size_t i = 0; i < Mv.size(); ++i)
        residual_[i] += stage_.impulse_scale() * alpha * Mv[i];
    }
  }

  void AddExternalForces(const BlockInputs& inputs) {
    const double h = stage_.impulse_scale();
    Vector3d acceleration = inputs.gravity;
    for (const BlockForce& applied : inputs.forces) {
      if (applied.node >= 0) {
        for (int r = 0; r < 3; ++r) residual_[3 * applied.node + r] -= h * applied.force_W[r];
      } else {
        acceleration += applied.force_W / model_->mass;
      }
    }
    for (int i = 0; i < model_->num_nodes; ++i) {
      for (int r = 0; r < 3; ++r)
        residual_[3 * i + r] -= h * model_->node_mass[i] * acceleration[r];
    }
  }

  // Makes the rows and columns of prescribed vertices diagonal.
  void MaskPrescribed() {
    factored_.values = A_.values;
    const solvers::BlockPattern& pattern = model_->pattern;
    for (int j = 0; j < pattern.num_nodes; ++j) {
      for (int k = pattern.column_starts[j]; k < pattern.column_starts[j + 1]; ++k) {
        const int i = pattern.rows[k];
        if (model_->prescribed_index[i] < 0 && model_->prescribed_index[j] < 0) continue;
        double* block = &factored_.values[9 * std::size_t(k)];
        for (int e = 0; e < 9; ++e) {
          if (i != j || e % 4 != 0) block[e] = 0;
        }
      }
    }
  }

  // Factors A, and with `is_whole` also Â.
  absl::Status Factor(std::span<const int> participants, solvers::ComplementForm form,
                      bool is_whole) {
    is_solved_ = false;
    const auto factor = [&] {
      const solvers::BlockMatrix& A = MaskTangent();
      const std::span<const double> load = CalcRightSide();
      return is_whole ? factor_.Factor(A, MaskDense(), participants, form, load)
                      : factor_.Eliminate(A, MaskDense(), participants, form, load);
    };
    if (factor()) return absl::OkStatus();
    if (MayProject()) {
      tangent_ = Tangent::kConvex;
      Evaluate(v_linear_);
      if (factor()) return absl::OkStatus();
    }
    return NotDefinite(factor_.failed_node());
  }

  absl::Status NotDefinite(int node) const {
    return absl::InternalError(
        absl::StrCat("its tangent matrix is not positive definite at vertex ", node, "; ",
                     model_->DescribeWorstElement(model_->is_linear() ? q0_ : q_)));
  }

  // True if negative eigenvalues of elements may still be clamped.
  bool MayProject() const {
    return !model_->is_linear() && model_->parameters.newton.projection &&
           tangent_ == Tangent::kExact;
  }

  // As AssembleNonlinear, for the nonlinear elements and the volumes.
  double AssembleForces(std::span<const double> q, double scale, Tangent tangent,
                        FemModel::Deformation* at, solvers::BlockMatrix* A,
                        std::vector<double>* residual) {
    const double impulse = stage_.impulse_scale();
    const double W =
        AssembleNonlinear(*model_, q, pressure_, impulse, scale, tangent, at, A, residual);
    const VolumeTangent of_volumes = tangent == Tangent::kNone    ? VolumeTangent::kNone
                                     : tangent == Tangent::kExact ? VolumeTangent::kExact
                                                                  : VolumeTangent::kConvex;
    return W + AssembleVolumes(model_->volumes, q, gauges_, impulse, scale, of_volumes, &gradient_,
                               A, &dense_, residual);
  }

  // Low-rank part of the matrix to be factored: dense_ with prescribed vertices decoupled.
  const solvers::LowRank& MaskDense() {
    if (!has_prescribed() || dense_.empty()) return dense_;
    factored_dense_ = dense_;
    for (std::vector<double>& column : factored_dense_.columns) {
      ForEachPrescribed([&](int node, const Vector3d&) {
        for (int r = 0; r < 3 && !column.empty(); ++r) column[3 * node + r] = 0;
      });
    }
    return factored_dense_;
  }

  // Incremental potential at a point v.
  struct Evaluation {
    double energy;  // its gradient is m [J]
    double scale;   // sum of the magnitudes of its terms; its rounding is 1e-16 of this
  };

  // Evaluates A and m at v, the latter as residual_ = m(v) − A (v − v0), so that both are used as
  // for a linear block.
  //
  // m is the gradient of the incremental potential ½ Δvᵀ A_lin Δv + m_linᵀ Δv + w W(q_f) / a with
  // Δv = v − v0, the elastic energy W, the stage's weight w and a = force_move.trial.
  Evaluation Evaluate(std::span<const double> v) {
    const double h = stage_.h, impulse = stage_.impulse_scale();
    for (std::size_t i = 0; i < v.size(); ++i) {
      q_[i] = q0_[i] + h * stage_.force_move(v0_[i], v[i]);
      dv_[i] = v[i] - v0_[i];
    }
    A_.values = linear_A_.values;
    A_.Multiply(dv_, momentum_);
    double energy = 0.5 * Dot(dv_, momentum_), scale = energy;
    const double work = Dot(dv_, linear_residual_);
    energy += work;
    scale += std::abs(work);
    for (std::size_t i = 0; i < v.size(); ++i) momentum_[i] += linear_residual_[i];

    std::fill(elastic_.begin(), elastic_.end(), 0.0);
    const double implicit = stage_.force_move.trial;
    if (implicit == 0) dense_.weights.assign(dense_.weights.size(), 0.0);
    const double W =
        AssembleForces(q_, implicit * h * impulse, implicit == 0 ? Tangent::kNone : tangent_,
                       &deformation_, &A_, &elastic_);
    if (implicit != 0) {
      energy += stage_.weight * W / implicit;
      scale += std::abs(stage_.weight * W / implicit);
    }
    report_.projected_elements = std::max(report_.projected_elements, deformation_.projected);
    model_->ProjectOntoPlane(elastic_);
    for (std::size_t i = 0; i < v.size(); ++i) momentum_[i] += elastic_[i];
    MultiplyTangent(dv_, residual_);
    for (std::size_t i = 0; i < v.size(); ++i) residual_[i] = momentum_[i] - residual_[i];
    ForEachPrescribed([&](int node, const Vector3d&) {
      for (int r = 0; r < 3; ++r) momentum_[3 * node + r] = 0;
    });
    return {energy, scale};
  }

  // Computes m(v) and the incremental potential, without a tangent; the linearisation is kept.
  void CalcNonlinearResidual(std::span<const double> v, std::span<double> residual) {
    CalcWholeNonlinearResidual(v, residual);
    if (residual.empty()) return;
    ForEachPrescribed([&](int node, const Vector3d&) {
      for (int r = 0; r < 3; ++r) residual[3 * node + r] = 0;
    });
  }

  // As above, with the residual on prescribed nodes.
  void CalcWholeNonlinearResidual(std::span<const double> v, std::span<double> residual) {
    const std::size_t n = v.size();
    for (auto* x : {&trial_q_, &trial_change_, &trial_residual_, &trial_elastic_}) x->resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      trial_q_[i] = q0_[i] + stage_.h * stage_.force_move(v0_[i], v[i]);
      trial_change_[i] = v[i] - v0_[i];
    }
    linear_A_.Multiply(trial_change_, trial_residual_);
    trial_potential_ =
        0.5 * Dot(trial_change_, trial_residual_) + Dot(trial_change_, linear_residual_);
    std::ranges::fill(trial_elastic_, 0.0);
    const double W =
        AssembleForces(trial_q_, 0, Tangent::kNone, &trial_deformation_, nullptr, &trial_elastic_);
    if (stage_.force_move.trial != 0)
      trial_potential_ += stage_.weight * W / stage_.force_move.trial;
    if (residual.empty()) return;
    model_->ProjectOntoPlane(trial_elastic_);
    for (std::size_t i = 0; i < n; ++i)
      residual[i] = trial_residual_[i] + linear_residual_[i] + trial_elastic_[i];
  }

  // Relative residual ‖D m‖ / max(‖D A v‖, ‖D h f‖), D = diag(A)^(−1/2), as for the whole step
  // (han2023 §VI). 0 if m is within the rounding of the positions: for a stiff body at rest, m is
  // all rounding.
  double CalcRelativeResidual(std::span<const double> v) {
    std::vector<double>&diagonal = scratch_, &Av = step_;
    diagonal.resize(v.size());
    CalcTangentDiagonal(diagonal);
    linear_A_.CopyDiagonal(Av);
    const double rounding = CalcRounding(diagonal, Av);
    MultiplyTangent(v, Av);
    double error = 0, motion = 0, force = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      error += momentum_[i] * momentum_[i] / diagonal[i];
      motion += Av[i] * Av[i] / diagonal[i];
      force += elastic_[i] * elastic_[i] / diagonal[i];
    }
    if (error <= rounding) return 0;
    return std::sqrt(error / std::max(motion, force));
  }

  // Squared error in m due to the rounding of positions, in the norm of D. The diagonals of A and
  // of its constant part differ by a w h² K, a = force_move.trial, and a rounding error dq of
  // positions exerts w h K dq.
  double CalcRounding(std::span<const double> diagonal, std::span<const double> linear) const {
    double largest = 0;
    for (const double x : q_) largest = std::max(largest, std::abs(x));
    const double position_error = 4 * std::numeric_limits<double>::epsilon() * largest /
                                  (stage_.h * std::max(stage_.force_move.trial, kZeroResidual));
    double rounding = kZeroResidual * kZeroResidual;
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
      const double force = position_error * (diagonal[i] - linear[i]);
      rounding += force * force / diagonal[i];
    }
    for (std::size_t k = 0; k < dense_.weights.size(); ++k) {
      // the pressure of a volume has the errors of all its nodes
      const std::vector<double>& u = dense_.columns[k];
      const double pressure = position_error * dense_.weights[k];
      const double square = pressure * pressure * Dot(u, u);
      for (std::size_t i = 0; i < u.size(); ++i) rounding += square * u[i] * u[i] / diagonal[i];
    }
    return rounding;
  }

  // Solves the free motion by Newton's method, with a line search on the incremental potential.
  // Uses the exact tangent where it is positive definite, and elsewhere a blend with the one
  // without the negative eigenvalues of elements.
  absl::Status SolveNonlinear() {
    const NewtonOptions& options = model_->parameters.newton;
    const std::size_t n = residual_.size();
    for (auto* x : {&q_, &dv_, &momentum_, &elastic_, &step_, &trial_, &v_linear_}) x->resize(n);
    linear_A_.values = A_.values;
    linear_residual_ = residual_;
    tangent_ = Tangent::kExact;
    blend_ = 1;
    report_ = {};

    v_linear_.assign(v0_.begin(), v0_.end());
    ForEachPrescribed([&](int node, const Vector3d& velocity) {
      for (int r = 0; r < 3; ++r) v_linear_[3 * node + r] = velocity[r];
    });
    Evaluation at = Evaluate(v_linear_);
    // an explicit stage takes one evaluation
    if (stage_.force_move.trial == 0 || options.max_iterations == 0) return CheckFinite();
    if (!newton_factor_)
      newton_factor_ = std::make_unique<solvers::LowRankCholesky>(
          &model_->pattern, model_->rest->elimination_order());

    for (;;) {
      if (absl::Status status = CheckFinite(); !status.ok()) return status;
      report_.residual = CalcRelativeResidual(v_linear_);
      if (report_.residual <= options.tolerance) return absl::OkStatus();
      if (report_.iterations == options.max_iterations) return NotConverged("after");
      ++report_.iterations;

      // Newton direction
      for (std::size_t i = 0; i < n; ++i) step_[i] = -momentum_[i];
      if (!FactorForNewton()) {
        if (!MayProject() || !FactorBlended()) return NotDefinite(newton_factor_->failed_node());
      }
      direction_.resize(n);
      newton_factor_->Complete({}, direction_);
      const double slope = Dot(momentum_, direction_);

      // step length
      const double old_residual = report_.residual;
      const auto try_length = [&](double length) {
        for (std::size_t i = 0; i < n; ++i) trial_[i] = v_linear_[i] + length * direction_[i];
        return Evaluate(trial_);
      };
      bool accepted = false;
      double length = 1;
      for (int halvings = 0; halvings <= kMaxHalvings; ++halvings, length *= 0.5) {
        const Evaluation next = try_length(length);
        // Where rounding hides the predicted decrease, residuals decide: energies that are equal up
        // to rounding would accept steps for ever.
        accepted = -length * slope <= 1e-11 * at.scale
                       ? CalcRelativeResidual(trial_) < old_residual
                       : next.energy <= at.energy + kSufficientDecrease * length * slope;
        if (!accepted) continue;
        at = next;
        break;
      }
      // a tangent without negative eigenvalues is stiffer than the energy, so its steps past a
      // saddle are short: extend them while the descent goes on
      while (accepted && length >= 1 && length < kMaxExtension &&
             Dot(momentum_, direction_) < kExtensionSlope * slope) {
        const Evaluation next = try_length(2 * length);
        if (next.energy < at.energy) {
          at = next;
          length *= 2;
        } else {
          at = try_length(length);
          break;
        }
      }
      if (!accepted) {
        Evaluate(v_linear_);
        report_.is_above_tolerance = old_residual <= kStallTolerance;
        return report_.is_above_tolerance ? absl::OkStatus()
                                          : NotConverged("for lack of a descent in");
      }
      v_linear_.swap(trial_);
    }
  }

  // Factors A_ with the load step_.
  bool FactorForNewton() {
    return newton_factor_->Factor(MaskTangent(), MaskDense(), {}, solvers::ComplementForm::kDense,
                                  step_);
  }

  // Factors the exact tangent plus as much as needed of the convex one, which is positive definite,
  // but so much stiffer in other directions that Newton's method converges slowly. False if even
  // that fails.
  bool FactorBlended() {
    exact_.swap(A_.values);
    A_.values.resize(exact_.size());
    tangent_ = Tangent::kConvex;
    Evaluate(v_linear_);
    tangent_ = Tangent::kExact;
    convex_ = A_.values;
    // start near the last blend
    for (blend_ = std::max(0.25 * blend_, kMinBlend);; blend_ = std::min(4 * blend_, 1.0)) {
      for (std::size_t i = 0; i < exact_.size(); ++i)
        A_.values[i] = exact_[i] + blend_ * (convex_[i] - exact_[i]);
      if (FactorForNewton()) return true;
      if (blend_ == 1) return false;
    }
  }

  absl::Status CheckFinite() const {
    if (AllFinite(momentum_) && AllFinite(A_.values)) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("its forces are not finite; ", model_->DescribeWorstElement(q_)));
  }

  absl::Status NotConverged(const char* when) const {
    return absl::InternalError(absl::StrCat(
        "its free motion did not converge: relative residual ", report_.residual, " ", when, " ",
        report_.iterations, " Newton iterations; ", model_->DescribeWorstElement(q_)));
  }

  solvers::BlockMatrix A_;
  solvers::BlockMatrix factored_;  // A_ with prescribed vertices decoupled
  // low-rank part of the tangent, from volumes, and with prescribed vertices decoupled
  solvers::LowRank dense_, factored_dense_;
  solvers::LowRankCholesky factor_;
  std::vector<double> residual_;  // m(v0)
  mutable std::vector<double> free_dv_, known_, dv_p_;
  mutable std::vector<char> marks_;  // per node
  // Valid if is_solved_, instead of factor_.
  bool is_solved_ = false;
  std::vector<int> participants_;
  std::vector<double> schur_, free_;  // Â; A⁻¹ (−m(v0))
  // as a member of a batch
  LaneCholesky* lanes_ = nullptr;
  int lane_ = 0;
  bool is_in_lanes_ = false;  // lanes_ holds this body's factor

  // mainly for nonlinear bodies
  FemModel::Deformation deformation_;
  solvers::BlockMatrix linear_A_;        // the part of A_ that is constant over the step
  std::vector<double> linear_residual_;  // m(v0) without nonlinear elastic forces
  Tangent tangent_ = Tangent::kExact;
  std::unique_ptr<solvers::LowRankCholesky> newton_factor_;
  std::vector<double> v_linear_;        // point of linearisation
  std::vector<double> exact_, convex_;  // tangents to be blended
  double blend_ = 1;
  const BlockInputs* inputs_ = nullptr;  // of the step
  std::span<const double> q_turn_;  // positions at which rotations of quadratic elements are taken
  std::vector<double> q_ahead_;
  std::vector<double> q_, dv_, momentum_, elastic_, step_, direction_, trial_, scratch_;
  FreeMotionReport report_;

  // scratch of CalcNonlinearResidual
  std::vector<double> trial_q_, trial_change_, trial_residual_, trial_elastic_;
  std::vector<double> gradient_;  // of a volume
  FemModel::Deformation trial_deformation_;
  mutable std::vector<double> diagonal_, linear_diagonal_;
  double trial_potential_ = 0;
};

}  // namespace

std::unique_ptr<BlockStep> MakeFemStep(std::shared_ptr<const FemModel> model) {
  return std::make_unique<FemStep>(std::move(model));
}

}  // namespace pliant::physics
