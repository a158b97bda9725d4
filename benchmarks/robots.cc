#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>

#include "benchmarks/measure.h"
#include "benchmarks/peers/peer.h"
#include "benchmarks/suite.h"
#include "physics/dynamics/body_motions.h"
#include "physics/rigid/tree_articulation.h"
#include "physics/rigid/tree_kinematics.h"
#include "physics/scene/scene.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using Eigen::Vector3d;
using nlohmann::ordered_json;

constexpr int kRuns = 3;
constexpr char kRobots[] = PLIANT_SOURCE_DIR "/scenes/robots/";

// Adds the peer's numbers of a phase, and the ratio of its time to ours, to a row.
void AddPeer(const std::optional<ordered_json>& peer, const std::string& phase, ordered_json* row) {
  if (!peer) {
    (*row)["peer"] = {{"name", "MuJoCo"}};
    (*row)["note"] = kNoPeer;
    return;
  }
  ordered_json theirs{{"name", "MuJoCo"}, {"version", peer->at("version")}};
  theirs.update(peer->at("phases").at(phase));
  const double median = theirs.at("step_ms").at("median");
  (*row)["peer"] = theirs;
  (*row)["ratio"] = median / row->at("step_ms").at("median").get<double>();
  // medians over each engine's steps with at least one iteration
  if (row->contains("solved_ms") && theirs.contains("solved_ms"))
    (*row)["solved_ratio"] =
        theirs.at("solved_ms").get<double>() / row->at("solved_ms").get<double>();
}

std::string Text(const ordered_json& numbers) {
  return numbers.dump();
}

std::string MakeYaml(const ordered_json& given) {
  std::string yaml = "name: bench\ntime_step: " + given.at("time_step").dump() +
                     "\ncontact: {friction: " + given.at("friction").dump() +
                     "}\nbodies:\n"
                     "  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}\n";
  if (given.at("kind") == "boxes") {
    for (std::size_t i = 0; i < given.at("boxes").size(); ++i) {
      const ordered_json& box = given.at("boxes")[i];
      yaml += "  - {name: box_" + std::to_string(i) +
              ", rigid: {motion: FREE, density: " + given.at("density").dump() +
              ", pose: {position: " + Text(box.at("position")) +
              ", quaternion: " + Text(box.at("quaternion")) +
              "}, shapes: [{box: {size: " + Text(box.at("size")) + "}}]}}\n";
    }
    const ordered_json walls = given.value("walls", ordered_json::array());
    for (std::size_t i = 0; i < walls.size(); ++i) {
      yaml += "  - {name: wall_" + std::to_string(i) +
              ", rigid: {motion: FIXED, pose: {position: " + Text(walls[i].at("position")) +
              "}, shapes: [{box: {size: " + Text(walls[i].at("size")) + "}}]}}\n";
    }
    return yaml;
  }
  yaml += "robots:\n";
  for (std::size_t i = 0; i < given.at("places").size(); ++i) {
    yaml += "  - {name: robot_" + std::to_string(i) + ", file: " + given.at("file").dump() +
            ", base: FREE, pose: {position: " + Text(given.at("places")[i]) + "}}\n";
  }
  return yaml;
}

std::shared_ptr<const physics::Model> Load(const std::string& yaml) {
  const physics::SceneResult scene = physics::LoadSceneYaml(yaml, "bench");
  if (!scene.ok()) {
    for (const auto& message : scene.messages)
      std::fprintf(stderr, "%s\n", physics::Format(message).c_str());
  }
  return scene.model;
}

// Largest tangential speed of any contact whose friction is well inside its cone [m/s].
double CalcSlipOfSticking(const physics::World& world, double friction,
                          physics::BodyMotions* motions) {
  motions->Update(world.state());
  double worst = 0;
  for (const physics::ContactForce& contact : world.report().contacts) {
    const Vector3d &n = contact.normal_W, &impulse = contact.impulse_W;
    const double normal = n.dot(impulse);
    if (!(normal > 0) || (impulse - normal * n).norm() > 0.9 * friction * normal) continue;
    const Vector3d v = (*motions)[contact.body_b].CalcPointVelocity(contact.p_W) -
                       (*motions)[contact.body_a].CalcPointVelocity(contact.p_W);
    worst = std::max(worst, (v - n.dot(v) * n).norm());
  }
  return worst;
}

struct PhaseRecord {
  std::vector<double> ms;
  // Times of steps in which the warm start sufficed (no iteration), and of the others.
  std::vector<double> warm_ms, solved_ms;
  double penetration = 0, slip = 0, drift = 0, contacts = 0, iterations = 0, converged = 0;
  int steps = 0, max_iterations = 0;
  std::vector<Vector3d> from;
};

// Times several runs of a case, then inspects every step of one more run.
ordered_json RunCase(const std::string& name, const ordered_json& given) {
  const auto model = Load(MakeYaml(given));
  ordered_json rows = ordered_json::array();
  if (!model) return {{{"case", name}, {"note", "the scene does not load"}}};
  const double h = given.at("time_step");
  std::map<std::string, PhaseRecord> records;
  double last = 0;
  for (const auto& [phase, range] : given.at("phases").items())
    last = std::max(last, range[1].get<double>());
  const int count = static_cast<int>(std::lround(last / h));
  const auto for_phases = [&](int step, const auto& f) {
    for (const auto& [phase, range] : given.at("phases").items()) {
      const double from = range[0], to = range[1];
      if (from / h <= step && step < to / h) f(records[phase], to - from);
    }
  };
  for (int run = 0; run <= kRuns; ++run) {
    const bool records_motion = run == kRuns;
    physics::World world(model);
    physics::BodyMotions motions(*model);
    for (int k = 0; k < count; ++k) {
      const double start = Now();
      const absl::Status status = world.Step();
      const double elapsed = Now() - start;
      if (!status.ok()) return {{{"case", name}, {"note", status.ToString()}}};
      for_phases(k, [&](PhaseRecord& record, double duration) {
        if (!records_motion) {
          record.ms.push_back(1e3 * elapsed);
          (world.report().iterations == 0 ? record.warm_ms : record.solved_ms)
              .push_back(1e3 * elapsed);
          return;
        }
        record.slip =
            std::max(record.slip, CalcSlipOfSticking(world, given.at("friction"), &motions));
        for (const auto& contact : world.report().contacts)
          record.penetration = std::max(record.penetration, -contact.gap);
        record.contacts += static_cast<double>(world.report().contacts.size());
        record.iterations += world.report().iterations;
        record.max_iterations = std::max(record.max_iterations, world.report().iterations);
        record.converged += world.report().converged ? 1 : 0;
        const bool begins = record.steps++ == 0;
        double moved = 0;
        for (int b = 1; b < static_cast<int>(model->bodies.size()); ++b) {
          const Vector3d p = motions[b].X_WB.p;
          if (begins) record.from.push_back(p);
          moved = std::max(moved, (p - record.from[b - 1]).norm());
        }
        record.drift = moved / duration;
      });
    }
  }
  const auto peer = RunPeer("mujoco_robots.py", "mujoco", given);
  for (const auto& [phase, range] : given.at("phases").items()) {
    const PhaseRecord& record = records[phase];
    ordered_json row{
        {"case", name + "_" + phase},
        {"step_ms", {{"median", Quantile(record.ms, 0.5)}, {"p95", Quantile(record.ms, 0.95)}}},
        {"penetration_m", record.penetration},
        {"slip_m_s", record.slip},
        {"drift_m_s", record.drift},
        {"contacts_mean", record.contacts / record.steps},
        {"iterations_mean", record.iterations / record.steps},
        {"iterations_max", record.max_iterations},
        {"converged_fraction", record.converged / record.steps},
        {"warm_steps", record.warm_ms.size() / kRuns},
        {"solved_steps", record.solved_ms.size() / kRuns}};
    if (!record.warm_ms.empty()) row["warm_ms"] = Quantile(record.warm_ms, 0.5);
    if (!record.solved_ms.empty()) row["solved_ms"] = Quantile(record.solved_ms, 0.5);
    AddPeer(peer, phase, &row);
    rows.push_back(row);
  }
  return rows;
}

// Boxes of three sizes, released in a loose column with random orientations.
ordered_json MakePile(int count) {
  std::uint32_t seed = 12345;
  const auto random = [&] {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) / 16777216.0;
  };
  ordered_json boxes = ordered_json::array();
  for (int i = 0; i < count; ++i) {
    const int layer = i / 4, place = i % 4;
    Eigen::Vector4d q(random() - 0.5, random() - 0.5, random() - 0.5, random() - 0.5);
    q /= std::sqrt(q.squaredNorm());
    const double size = 0.14 + 0.03 * (i % 3);
    boxes.push_back({{"size", {size, 0.8 * size, 0.6 * size}},
                     {"position",
                      {0.24 * (place % 2) - 0.12 + 0.02 * random(),
                       0.24 * (place / 2) - 0.12 + 0.02 * random(), 0.2 + 0.24 * layer}},
                     {"quaternion", {q[0], q[1], q[2], q[3]}}});
  }
  return {{"kind", "boxes"}, {"time_step", 0.005},
          {"friction", 0.6}, {"density", 1000},
          {"boxes", boxes},  {"phases", {{"settling", {0, 2}}, {"settled", {5, 7}}}}};
}

// The same boxes, released apart from each other in a bin that they fill: each comes to lie on
// several others.
ordered_json MakeBin(int count) {
  constexpr double kApart = 0.29;  // the largest diagonal and a little more
  ordered_json given = MakePile(count);
  const int across = static_cast<int>(std::lround(std::cbrt(count / 3.0)));
  const double width = kApart * across;
  for (int i = 0; i < count; ++i) {
    const auto place = [&](int at) { return kApart * (at % across - 0.5 * (across - 1)); };
    given["boxes"][i]["position"] = {place(i), place(i / across),
                                     kApart * (i / (across * across) + 0.6)};
  }
  for (const double side : {-1.0, 1.0}) {
    const double at = side * (0.5 * width + 0.05);
    given["walls"].push_back({{"size", {0.1, width + 0.2, 4}}, {"position", {at, 0, 2}}});
    given["walls"].push_back({{"size", {width + 0.2, 0.1, 4}}, {"position", {0, at, 2}}});
  }
  given["phases"] = {{"settling", {0, 2}}};
  return given;
}

ordered_json MakeHumanoids(int count) {
  ordered_json places = ordered_json::array();
  for (int i = 0; i < count; ++i) places.push_back({3.0 * (i % 8), 3.0 * (i / 8), 0.0});
  return {{"kind", "humanoid"}, {"time_step", 0.005},
          {"friction", 0.8},    {"file", std::string(kRobots) + "humanoid.xml"},
          {"places", places},   {"phases", {{"falling", {0, 2}}, {"lying", {5, 7}}}}};
}

ordered_json RunDynamics() {
  const std::string file = std::string(kRobots) + "iiwa_allegro.urdf";
  const auto model =
      Load("name: bench\nrobots:\n  - {name: arm, file: \"" + file + "\", base: FIXED}\n");
  if (!model) return {{"case", "iiwa_allegro_dynamics"}, {"note", "the robot does not load"}};
  const physics::JointTree& tree =
      dynamic_cast<const physics::TreeArticulation&>(*model->robots[0].parts[0].articulation)
          .tree();
  physics::TreeKinematics kinematics(tree);
  const int n = tree.num_velocities();
  std::vector<double> q(tree.num_positions()), v(n), M(std::size_t(n) * n), bias(n), ms;
  for (int i = 0; i < n; ++i) {
    q[i] = 0.9 * std::sin(3.0 * i);
    v[i] = 0.9 * std::cos(5.0 * i);
  }
  for (int run = 0; run < 200; ++run) {
    const double start = Now();
    for (int k = 0; k < 50; ++k) {
      tree.CalcPositions(q, &kinematics);
      tree.CalcMassMatrix(kinematics, M);
      tree.CalcVelocities(v, &kinematics);
      tree.CalcBias(kinematics, {0, 0, -9.81}, bias);
    }
    ms.push_back(1e3 * (Now() - start) / 50);
  }
  ordered_json row{{"case", "iiwa_allegro_dynamics"},
                   {"step_ms", {{"median", Quantile(ms, 0.5)}, {"p95", Quantile(ms, 0.95)}}},
                   {"velocities", n}};
  AddPeer(RunPeer("mujoco_robots.py", "mujoco", {{"kind", "dynamics"}, {"file", file}}), "all",
          &row);
  return ordered_json::array({row});
}

}  // namespace

ordered_json RunRobots(const std::string& only) {
  ordered_json rows = ordered_json::array();
  const auto add = [&](const std::string& name, const std::function<ordered_json()>& run) {
    if (name.find(only) == std::string::npos) return;
    std::fprintf(stderr, "running %s …\n", name.c_str());
    for (const ordered_json& row : run()) rows.push_back(row);
  };
  add("iiwa_allegro_dynamics", [] { return RunDynamics(); });
  add("humanoid", [] { return RunCase("humanoid", MakeHumanoids(1)); });
  add("pile_20", [] { return RunCase("pile_20", MakePile(20)); });
  add("pile_50", [] { return RunCase("pile_50", MakePile(50)); });
  for (const int count : {20, 50, 100, 200}) {
    const std::string name = "bin_" + std::to_string(count);
    add(name, [&] { return RunCase(name, MakeBin(count)); });
  }
  for (const int count : {1, 8, 64}) {
    const std::string name = "trees_" + std::to_string(count);
    add(name, [&] {
      ordered_json given = MakeHumanoids(count);
      given["phases"] = {{"falling", {0, 1}}};
      return RunCase(name, given);
    });
  }
  return rows;
}

}  // namespace pliant::benchmarks
