#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/contact/contact_detection.h"
#include "physics/control/controllers.h"
#include "physics/dynamics/block.h"
#include "physics/dynamics/body_motions.h"
#include "physics/dynamics/constraint_row.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/parallel.h"
#include "physics/stepping/sleepers.h"
#include "physics/stepping/stepper.h"
#include "physics/stepping/teams.h"

namespace pliant::physics {

// What contacts and scalar constraints exert over a step.
struct Impulses {
  std::vector<Eigen::Vector3d> contacts;  // in contact frames [N·s]
  std::vector<double> constraints;        // [N·s], [N·m·s]
};

// What every method starts from: all blocks posed at the start of the step, the contacts and constraints between them,
// which velocities take part in these, the factor of A with those last, the free motion, and the rows on the participants.
//
// "Participating velocities" are numbered from 0 over the blocks that touch something, in Model order.
class PosedStep {
 public:
  // A block that touches something or is constrained.
  struct ActiveBlock {
    int block;  // in Model::blocks
    int first;  // its first participating velocity
    int size;   // participating velocities
    int first_group, num_groups;
    solvers::SchurComplement
        A;  // size × size; of kFreeMotion it is dense, of compliance form empty
  };
  // Rows of one contact or constraint on consecutive participating velocities. In a contact's frame
  // v_c += values (3 × columns, column-major) · v[first …]; of a constraint there is one value a column.
  struct Entry {
    int active;  // index in active_blocks()
    int first;
    int columns;
    std::size_t values;
  };
  struct ContactRows {
    int first_entry, num_entries;
    Eigen::Vector3d bias;  // prescribed part of v_c [m/s]
    Eigen::Matrix3d W;  // Σ J_g A_gg⁻¹ J_gᵀ over the groups it touches [1/kg]: a diagonal estimate
  };
  struct ScalarRows {
    int first_entry, num_entries;
    double bias;
    double W;
  };
  // Contacts and constraints that share no block with others: an independent problem.
  struct Island {
    std::span<const int> blocks, contacts, constraints;  // ascending
  };

  // What a method is to know of the blocks that take part: their free motion v* and a dense Â; or a momentum balance,
  // which is all that one needs whose unknowns are velocities, and is cheaper; or their compliance form, of blocks that have
  // one (see CompliantForm): all of their groups take part then, and their A is that of each group.
  enum class Terms { kFreeMotion, kMomentum, kCompliance };

  explicit PosedStep(const Model& model, Terms terms = Terms::kFreeMotion);
  ~PosedStep();

  // INTERNAL, naming the body, when forces are not finite or a tangent matrix is not positive definite.
  absl::Status Pose(const Inputs& inputs, const StepSettings& settings, const State& state);

  // times that contact is looked for again in one step, at most
  static constexpr int kLooksAgain = 3;
  // Looks for contact once more where what was solved, velocities v, takes bodies other ways than those on which contact was
  // looked for. True when there is more of it: everything stands posed with it then, to be solved again.
  absl::StatusOr<bool> LookAgain(std::span<const double> v, const State& state);

  // Solves and looks again until nothing new is in the way. `solve` sets `v_p`, which it finds at the free motion, and
  // `impulses`, which have their sizes; all velocities `v` follow.
  template <typename Solve>
  absl::Status SolveAsSeen(const State& state, std::vector<double>* v_p, std::vector<double>* v,
                           Impulses* impulses, const Solve& solve) {
    for (int look = 0;; ++look) {
      impulses->contacts.resize(contacts_.size());
      impulses->constraints.resize(constraints_.rows.size());
      v_p->assign(v_star_p_.begin(), v_star_p_.end());
      absl::Status status = solve();
      if (status.ok()) status = Complete(*v_p, v);
      if (!status.ok() || look == kLooksAgain) return status;
      const absl::StatusOr<bool> more = LookAgain(*v, state);
      if (!more.ok()) return more.status();
      if (!*more) return absl::OkStatus();
    }
  }

  const std::vector<ActiveBlock>& active_blocks() const { return active_; }
  const std::vector<ContactPoint>& contacts() const { return contacts_; }
  const std::vector<ConstraintRow>& constraints() const { return constraints_.rows; }
  const std::vector<ContactRows>& contact_rows() const { return contact_rows_; }
  const std::vector<ScalarRows>& constraint_rows() const { return scalar_rows_; }
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<double>& values() const { return raw_.values; }
  int num_participating() const { return num_participating_; }

  const std::vector<ConstraintTerm>& constraint_terms() const { return constraints_.terms; }
  const BlockStep& step(int block) const { return *steps_[block]; }
  CompliantForm* compliant_form(int block) const { return steps_[block]->compliant_form(); }
  // Index in active_blocks(), −1 of a block that takes no part.
  int active_block(int block) const { return active_of_block_[block]; }
  // First participating velocity of a group of a block, −1 of one that takes no part.
  int FindParticipating(int block, int group) const;
  // All velocities of the free motion; of an active block only those that take part, and of v_star.
  const std::vector<double>& v_free() const { return v_star_; }
  // A contact's frame as it is at the end of the step: what its impulses are told in from then on.
  void SetContactFrame(int contact, const Eigen::Matrix3d& R_WC) { contacts_[contact].R_WC = R_WC; }

  // The participants' momentum balance is Â (v − v_star) − push = Jᵀγ (han2023 (16)); by terms of kFreeMotion push is zero
  // and v_star their free motion. And their velocities at the start of the step, or as solved for when contacts were last
  // looked for.
  const std::vector<double>& v_star() const { return v_star_p_; }
  const std::vector<double>& push() const { return push_p_; }
  const std::vector<double>& v_start() const { return v_start_p_; }
  // How many of contacts(), the first, were there when they were last looked for, and solved with.
  int num_solved() const { return num_solved_; }

  const std::vector<Island>& islands() const { return islands_; }

  // Last step's impulse of a contact that is still there, turned into its new tangent plane, in its new frame; zero of a
  // new one.
  const std::vector<Eigen::Vector3d>& remembered_impulses() const { return remembered_; }
  // Last step's impulse of a constraint that was there and was kept (see KeepConstraints), zero of another.
  const std::vector<double>& remembered_constraint_impulses() const {
    return remembered_constraints_;
  }

  // v_c = J v + b of a contact, in its frame, and the rate of a constraint.
  Eigen::Vector3d CalcContactVelocity(int contact, std::span<const double> v_participating) const;
  double CalcConstraintRate(int constraint, std::span<const double> v_participating) const;

  // Jᵀγ on the participating velocities [N·s].
  void CalcExertedImpulse(const Impulses& impulses, std::vector<double>* exerted) const;

  // The problem that it poses, with its solution.
  void Describe(std::span<const double> v_participating, const Impulses& impulses,
                ContactProblem* problem) const;

  // All velocities from the participating ones (han2023 (15)). INTERNAL, naming the body, when not finite.
  absl::Status Complete(std::span<const double> v_participating, std::vector<double>* v);

  // Takes blocks whose tangents have become stale at velocities v to these, and the free motion and `active_blocks()` with them.
  // How many there were; INTERNAL as Pose.
  absl::StatusOr<int> Relinearise(std::span<const double> v, const State& state);

  // A block's failure, naming the body.
  absl::Status Fault(int block, const absl::Status& status) const;

  // ‖D (m(v) − Jᵀγ)‖ / max(‖D A v‖, ‖D Jᵀγ‖) on the full, unreduced system, D = diag(A)^(−1/2). 0 when the numerator is
  // below 1e-14.
  double CalcResidual(std::span<const double> v, const Impulses& impulses);

  // Moves the state to the end of the step, and records what the contacts and constraints exerted.
  void Commit(std::span<const double> v, const Impulses& impulses, State* state,
              StepReport* report);
  // Remembers what constraints exerted, for methods that start from it; those of sleepers keep what they have.
  void KeepConstraints(const Impulses& impulses, State* state) const;

 private:
  // A participating group of velocities, and the Cholesky factor of its diagonal block of A.
  struct Group {
    int id;     // in its block
    int first;  // its first participating velocity
    int size;
    const double* factor;
  };
  // One part of a contact's or constraint's rows on consecutive velocities of one group, not yet on participants.
  struct RawEntry {
    int block;
    int group;
    int offset;  // first velocity in its group
    int columns;
    std::size_t values;
  };
  // Rows of contacts and constraints as they are built, and what that needs of memory.
  struct RawRows {
    std::vector<RawEntry> entries;
    std::vector<double> values;
    int first_entry = 0;  // of a stretch of contacts, among all
    std::size_t first_value = 0;
    BlockRows of_block;
    std::vector<double> scratch;

    double* AddEntry(int first_entry, int height, int block, const BlockRows::Part& part);
  };
  // f(stretch, begin, end) of stretches of `count` contacts.
  template <typename F>
  void ForEachStretch(int count, const F& f) const;
  int CountStretches(int count) const;
  // Calls f(b) for all blocks, or f(i) for 0 ≤ i < count, at the same time when they are worth it.
  template <typename F>
  void ForEach(int count, const F& f) const {
    if (is_parallel_) {
      ParallelFor(count, 1, f);
    } else {
      for (int i = 0; i < count; ++i) f(i);
    }
  }
  template <typename F>
  void ForEachBlock(const F& f) const {
    ForEach(static_cast<int>(steps_.size()), f);
  }

  void PoseBlock(int block, const State& state);
  absl::Status CheckBlocks() const;
  absl::Status WakeTouched(const State& state);
  // Those groups of a block that take part, none of one that touches nothing.
  std::span<const int> participants(int block) const;
  // A block's among all velocities.
  template <typename V>
  auto PartOf(int block, V& v) const {
    const int first = model_.velocity_offsets[block];
    return std::span(v).subspan(first, model_.velocity_offsets[block + 1] - first);
  }
  void FactorBlocks();
  // Whether the participants of all of a team are those that it was factored with in this step.
  bool IsFactored(std::span<const int> blocks) const;
  // Rows of contacts and constraints, participants, factors and the free motion. `v` is to start from.
  absl::Status PoseRows(const State& state, std::span<const double> v);
  void GatherInputs(int block, const Inputs& inputs, BlockInputs* gathered) const;
  void CollectConstraints(const State& state);
  void BuildContactRows();
  void BuildContactRows(int contact, RawRows* raw);
  void BuildConstraintRows();
  void FindParticipants();
  void AddActiveBlock(int block);
  void CopyParticipants(std::span<const double> v);
  absl::Status FactorGroups();
  void PlaceEntries();
  void PlaceContactEntries(int begin, int end, std::vector<double>* scratch);
  const Group& PlaceEntry(int entry);
  void ShareCompliance();
  void FindIslands();
  void Recall(const State& state);
  void RecallConstraints(const State& state);
  void SetContactsToRestAside();
  void RememberContacts(const Impulses& impulses, State* state, StepReport* report);
  void RememberConstraints(const Impulses& impulses, State* state, StepReport* report);

  const Model& model_;
  const Terms terms_;
  ContactDetector detector_;
  BodyMotions motions_;
  Sleepers sleepers_;
  std::vector<std::unique_ptr<BlockStep>> steps_;
  Teams teams_;
  std::vector<std::vector<int>> followed_;  // of each block
  // An actuator that gives a velocity of a block a torque.
  // What acts with a given effort, on a velocity or on a region under stress.
  struct Motor {
    int actuator, velocity;
    bool activates;
  };
  std::vector<std::vector<Motor>> motors_;  // of each block
  std::vector<char> is_prescribed_;         // blocks without velocities, which others follow
  std::vector<int> prescribed_;             // these
  std::vector<char> is_posed_;              // blocks that are awake
  bool is_parallel_;                        // whether blocks are worth threads
  StepSettings settings_;
  std::vector<BlockInputs> block_inputs_;
  std::vector<absl::Status> statuses_;
  std::vector<double> controls_;  // targets of the actuators in this step
  DifferentialIkMemory ik_memory_;
  std::vector<double> compensation_;
  std::vector<ContactPoint> contacts_;
  std::vector<ContactPoint> resting_contacts_;  // between sleepers
  // of LookAgain
  std::vector<char> turned_blocks_, turned_bodies_;
  State ahead_;
  std::unique_ptr<BodyMotions> ahead_motions_;
  std::vector<ContactPoint> ahead_contacts_;
  std::vector<std::uint64_t> keys_;
  std::vector<ContactMemory> last_contacts_;  // of the step before
  ContactMemorySorting sorting_;
  std::vector<int> island_of_block_;
  ConstraintSet constraints_;
  std::vector<ActiveBlock> active_;
  std::vector<int> active_of_block_;  // −1: takes no part
  std::vector<Group> groups_;
  std::vector<int> group_ids_;  // of the groups, for Factor
  // of each block, in this step, while nothing sleeps
  std::vector<std::vector<int>> factored_groups_;
  std::vector<char> is_factored_;
  int num_solved_ = 0;
  std::vector<double> group_factors_;
  std::vector<std::pair<int, int>> touched_;  // (block, group), scratch
  std::vector<char> is_touched_;              // by first velocity of a group, scratch
  std::vector<int> touched_groups_;           // of one block, scratch
  std::vector<int> touched_blocks_;           // scratch
  RawRows raw_;
  std::vector<RawRows> raw_of_stretch_;
  std::vector<ContactRows> contact_rows_;
  std::vector<ScalarRows> scalar_rows_;
  std::vector<Entry> entries_;
  std::vector<Island> islands_;
  std::vector<int> root_, island_of_, island_items_, island_starts_;
  std::vector<Eigen::Vector3d> remembered_;
  // constraints by ascending keys
  std::vector<std::pair<ConstraintMemory::Key, int>> keyed_constraints_;
  std::vector<double> remembered_constraints_;
  std::vector<double> v_star_, v_star_p_, push_, push_p_, v_start_p_;
  std::vector<double> scratch_a_, scratch_b_, scratch_c_, scratch_d_;
  // Of a block's part of the criterion, in its norm.
  struct Squares {
    double error = 0, momentum = 0, impulse = 0;
  };
  std::vector<Squares> squares_;
  int num_participating_ = 0, num_touched_ = 0;
};

// Tells a report the wall time of each phase of a step, and of the whole.
class StepTimer {
 public:
  explicit StepTimer(StepReport* report)
      : report_(report), start_(std::chrono::steady_clock::now()), last_(start_) {}

  // What came since the last phase was this one.
  void Lap(Phase phase) {
    const auto now = std::chrono::steady_clock::now();
    report_->phase_seconds[static_cast<int>(phase)] = Seconds(now - last_);
    report_->seconds = Seconds(now - start_);
    last_ = now;
  }

 private:
  static double Seconds(std::chrono::steady_clock::duration duration) {
    return std::chrono::duration<double>(duration).count();
  }

  StepReport* report_;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace pliant::physics
