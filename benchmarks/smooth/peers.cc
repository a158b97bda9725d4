#include "benchmarks/smooth/peers.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "absl/strings/str_cat.h"

#include "benchmarks/measure.h"
#include "benchmarks/peers/peer.h"
#include "physics/scene/scene.h"
#include "physics/stepping/integrators/theta_method.h"
#include "physics/stepping/smooth/smooth_balance.h"
#include "physics/stepping/smooth/smooth_contact_maker.h"
#include "physics/world/world.h"
#include "solvers/linalg/lu/sparse_lu.h"
#include "solvers/smooth/damped_newton.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;
using physics::World;

constexpr char kInstall[] =
    "peer not installed: build/oracle_venv/bin/pip install pypardiso ipctk, or name another Python "
    "in PLIANT_PEER_PYTHON";

// The balance of a scene's step after the first `steps`, at the velocities of its start.
class StepStart {
 public:
  explicit StepStart(std::shared_ptr<const physics::Model> model, int steps = 0)
      : world_(std::move(model)),
        stages_(world_.model(), physics::Terms::kMass),
        balance_(world_.model()),
        blocks_(world_.model()),
        contact_forces_(&blocks_) {
    for (int n = 0; n < steps; ++n)
      if (!world_.Step().ok()) std::abort();
    const physics::State& state = world_.state();
    const double h = world_.model().time_step;
    if (!PoseStep(world_.CalcScriptedInputs(), physics::ThetaMethod(h), state, &stages_).ok())
      std::abort();
    balance_.Start(stages_, state, h, &contacts_, 1);
    balance_.StartStage(state.q, balance_.v_start(), 0, 0);
    v_ = balance_.v_start();
    v_.resize(balance_.size(), 0.0);
    balance_.PlaceAll(v_);
    physics::SmoothContactMaker(world_.model())
        .Make(balance_.contact_points(), stages_, state, balance_.configuration(), h, 1,
              &contacts_);
    balance_.StartStage(state.q, balance_.v_start(), h, h);
    std::vector<double> r(balance_.size());
    if (!balance_.CalcResidual(v_, r)) std::abort();
    // the contacts once more, apart from the rest of the balance
    blocks_.Start(stages_.blocks, state, h);
    contact_forces_.Start(stages_, state, &contacts_);
    std::vector<physics::SpatialColumns> wrenches;
    for (const physics::BlockAbilities& abilities : world_.model().abilities) {
      const int frames = abilities.frames != nullptr ? abilities.frames->num_frames() : 0;
      wrenches.push_back(physics::SpatialColumns::Zero(6, frames));
    }
    double squares = 0;
    contact_forces_.Add(balance_.configuration(), h, balance_.weights(), r, wrenches, &squares);
  }

  const World& world() const { return world_; }
  physics::SmoothBalance& balance() { return balance_; }
  void AddContactJacobian(solvers::BlockSum* jacobian) {
    contact_forces_.AddJacobian(balance_.configuration(), true, jacobian);
  }
  int num_acting() const {
    int count = 0;
    for (const physics::SmoothContactForce& force : balance_.contact_forces())
      count += force.acts();
    return count;
  }

 private:
  World world_;
  physics::StepStages stages_;
  std::vector<physics::SmoothContact> contacts_;
  physics::SmoothBalance balance_;
  physics::BalanceBlocks blocks_;
  physics::ContactForces contact_forces_;
  std::vector<double> v_;
};

// Writes the entries of a matrix as int32 rows, int32 columns and float64 values.
void WriteEntries(const solvers::BlockSum& matrix, const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::binary);
  for (const bool is_row : {true, false}) {
    for (const solvers::BlockSum::Entry& entry : matrix.entries) {
      const int index = is_row ? entry.row : entry.column;
      file.write(reinterpret_cast<const char*>(&index), sizeof index);
    }
  }
  for (const solvers::BlockSum::Entry& entry : matrix.entries)
    file.write(reinterpret_cast<const char*>(&entry.value), sizeof entry.value);
}

// The Jacobian of a step of scenes/ball_squish.yaml, without the outer product of the volume, which
// takes no part in a factorisation. A squeezed ball has made 25 steps of 20 ms, with friction.
ordered_json RunLu(const std::string& name, double edge_length, bool is_squeezed) {
  ordered_json row{{"case", name}};
  physics::SceneOptions options;
  options.overrides = {absl::StrCat("bodies[0].deformable.mesh.edge_length=", edge_length)};
  if (is_squeezed) {
    options.overrides.push_back("time_step=0.02");
    options.overrides.push_back("method.smooth.linear_solver=ITERATIVE");
    options.overrides.push_back("contact.friction=0.5");
  }
  const physics::SceneResult scene =
      physics::LoadSceneFile(PLIANT_SOURCE_DIR "/scenes/ball_squish.yaml", options);
  if (!scene.ok()) {
    row["note"] = Format(scene.messages.front());
    return row;
  }
  StepStart step(scene.model, is_squeezed ? 25 : 0);
  solvers::BlockSum jacobian;
  jacobian.Clear(step.balance().size());
  step.balance().CalcJacobian(&jacobian);
  jacobian.outers.clear();

  solvers::GroupedPattern pattern;
  solvers::SparseLu lu(&pattern);
  std::vector<double> x(jacobian.size, 1.0);
  bool is_factored = true;
  const double start = Now();
  is_factored = lu.Factor(jacobian, step.balance().weights());
  const double first = Now() - start;
  const double factor =
      TimeMedian(3, [&] { is_factored &= lu.Factor(jacobian, step.balance().weights()); });
  const double solve = TimeMedian(3, [&] {
    x.assign(jacobian.size, 1.0);
    lu.Solve(x);
  });
  std::vector<double> product(jacobian.size);
  x.assign(jacobian.size, 1.0);
  for (int i = 0; i < jacobian.size; ++i) x[i] *= step.balance().weights()[i];
  lu.Solve(x);
  jacobian.Multiply(x, product);
  double error = 0;
  for (const double y : product) error = std::max(error, std::abs(y - 1));
  // as a step solves it: with the factor of the symmetric part, to 1e-9
  solvers::DampedNewton newton;
  const std::vector<double> b(jacobian.size, 1.0);
  is_factored &= newton.SolveLinear(jacobian, b, x);
  const double direct = TimeMedian(3, [&] { is_factored &= newton.SolveLinear(jacobian, b, x); });
  jacobian.Multiply(x, product);
  double direct_error = 0;
  for (const double y : product) direct_error = std::max(direct_error, std::abs(y - 1));
  row["dofs"] = jacobian.size;
  row["contacts"] = step.num_acting();
  row["analyse_ms"] = 1e3 * (first - factor);
  row["factor_ms"] = 1e3 * factor;
  row["solve_ms"] = 1e3 * solve;
  row["residual"] = is_factored ? error : std::nan("");
  row["direct_ms"] = 1e3 * direct;
  row["direct_residual"] = is_factored ? direct_error : std::nan("");

  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / absl::StrCat("pliant_jacobian_", ::getpid(), ".bin");
  WriteEntries(jacobian, path);
  const auto peer = RunPeer(
      "pardiso_lu.py", "pypardiso",
      {{"path", path.string()}, {"size", jacobian.size}, {"entries", jacobian.entries.size()}});
  std::filesystem::remove(path);
  if (!peer) {
    row["note"] = kInstall;
    return row;
  }
  row["pardiso"] = *peer;
  const double peer_factor = peer->at("factor_ms"), peer_solve = peer->at("solve_ms");
  row["factor_ratio"] = peer_factor / row["factor_ms"].get<double>();
  row["direct_ratio"] = (peer_factor + peer_solve) / row["direct_ms"].get<double>();
  return row;
}

// Two soft boxes that touch within the reach of contacts, turned against each other.
constexpr char kTwoBoxes[] = R"(
method: {smooth: {contact_distance: 1.0e-3}}
contact: {friction: 0.5}
sleeping: false
bodies:
  - name: lower
    deformable:
      mesh: {box: {size: [0.2, 0.2, 0.02]}, edge_length: 0.005}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1000}
  - name: upper
    deformable:
      mesh: {box: {size: [0.15, 0.15, 0.02]}, edge_length: 0.006}
      pose: {position: [0.001, 0.002, 0.0206], rpy_degrees: [0, 0, 10]}
      velocity: {linear: [0.02, 0.01, 0]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1000}
)";

// Derivatives of contact and friction forces between two meshes, one contact after another.
ordered_json RunContactHessian(const std::string& name) {
  ordered_json row{{"case", name}};
  const physics::SceneResult scene = physics::LoadSceneYaml(kTwoBoxes, name);
  if (!scene.ok()) {
    row["note"] = Format(scene.messages.front());
    return row;
  }
  StepStart step(scene.model);
  const int count = step.num_acting();
  solvers::BlockSum jacobian;
  const double seconds = TimeMedian(21, [&] {
    jacobian.Clear(step.balance().size());
    step.AddContactJacobian(&jacobian);
  });
  row["contacts"] = count;
  row["us_per_contact"] = 1e6 * seconds / count;

  const physics::Model& model = step.world().model();
  const physics::State& state = step.world().state();
  ordered_json given{{"distance", model.method.smooth.contact_distance},
                     {"stick_speed", model.method.smooth.stick_speed},
                     {"friction", 0.5},
                     {"vertices", ordered_json::array()},
                     {"velocities", ordered_json::array()},
                     {"triangles", ordered_json::array()}};
  int first = 0;
  for (const physics::Body& body : model.bodies) {
    const physics::BlockState of_body = model.StateOf(state, body.block);
    for (const auto& t : body.surface.triangles)
      given["triangles"].push_back({first + t[0], first + t[1], first + t[2]});
    for (std::size_t i = 0; i < of_body.q.size(); i += 3, ++first) {
      given["vertices"].push_back({of_body.q[i], of_body.q[i + 1], of_body.q[i + 2]});
      given["velocities"].push_back({of_body.v[i], of_body.v[i + 1], of_body.v[i + 2]});
    }
  }
  const auto peer = RunPeer("ipctk_hessians.py", "ipctk", given);
  if (!peer) {
    row["note"] = kInstall;
    return row;
  }
  row["ipctk"] = *peer;
  for (const char* kind : {"contact", "friction"}) {
    row[absl::StrCat(kind, "_ratio")] =
        peer->at(absl::StrCat(kind, "_us")).get<double>() / row["us_per_contact"].get<double>();
  }
  return row;
}

}  // namespace

void AddSmoothPeers(const AddRow& add) {
  const auto add_lu = [&add](const std::string& name, double edge_length, bool is_squeezed) {
    add(name, [=] { return RunLu(name, edge_length, is_squeezed); });
  };
  add_lu("lu_1k", 0.0275, false);
  add_lu("lu_1k_squeezed", 0.0275, true);
  add_lu("lu_55k", 0.0068, false);
  add_lu("lu_55k_squeezed", 0.0068, true);
  add("contact_hessian", [] { return RunContactHessian("contact_hessian"); });
}

}  // namespace pliant::benchmarks
