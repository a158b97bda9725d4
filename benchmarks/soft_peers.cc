#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <unistd.h>

#include "benchmarks/measure.h"
#include "benchmarks/peer.h"
#include "benchmarks/suite.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "physics/scene/scene.h"
#include "physics/spatial/trig.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using Eigen::Vector3d;
using nlohmann::ordered_json;
using physics::TetrahedralMesh;

// Files that both engines read, removed at the end.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("pliant_peers_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string WriteVtk(const std::string& name, const TetrahedralMesh& mesh) const {
    const std::string path = path_ / (name + ".vtk");
    FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return path;
    std::fprintf(file, "# vtk DataFile Version 3.0\n%s\nASCII\nDATASET UNSTRUCTURED_GRID\n",
                 name.c_str());
    std::fprintf(file, "POINTS %zu double\n", mesh.vertices.size());
    for (const Vector3d& p : mesh.vertices)
      std::fprintf(file, "%.17g %.17g %.17g\n", p.x(), p.y(), p.z());
    std::fprintf(file, "CELLS %zu %zu\n", mesh.tetrahedra.size(), 5 * mesh.tetrahedra.size());
    for (const auto& t : mesh.tetrahedra)
      std::fprintf(file, "4 %d %d %d %d\n", t[0], t[1], t[2], t[3]);
    std::fprintf(file, "CELL_TYPES %zu\n", mesh.tetrahedra.size());
    for (std::size_t i = 0; i < mesh.tetrahedra.size(); ++i) std::fprintf(file, "10\n");
    std::fclose(file);
    return path;
  }

  // Its boundary.
  std::string WriteObj(const std::string& name, const TetrahedralMesh& mesh) const {
    const std::string path = path_ / (name + ".obj");
    FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return path;
    for (const Vector3d& p : mesh.vertices)
      std::fprintf(file, "v %.17g %.17g %.17g\n", p.x(), p.y(), p.z());
    for (const auto& t : physics::ExtractBoundary(mesh).triangles)
      std::fprintf(file, "f %d %d %d\n", t[0] + 1, t[1] + 1, t[2] + 1);
    std::fclose(file);
    return path;
  }

 private:
  std::filesystem::path path_;
};

// The case as our scene: the same meshes, poses, material, friction and step.
std::string MakeSoftYaml(const ordered_json& given) {
  const ordered_json& material = given.at("material");
  std::string yaml = "name: bench\nsleeping: false\ntime_step: " + given.at("time_step").dump() +
                     "\ncontact: {friction: " + given.at("friction").dump() + "}\nbodies:\n";
  if (given.at("ground")) {
    yaml +=
        "  - {name: ground, rigid: {motion: FIXED, pose: {position: [0, 0, -0.5]}, "
        "shapes: [{box: {size: [4, 4, 1]}}]}}\n";
  }
  if (given.at("hook_surface").is_string()) {
    yaml += "  - {name: hook, rigid: {motion: FIXED, shapes: [{mesh: {file: " +
            given.at("hook_surface").dump() + "}}]}}\n";
  }
  for (std::size_t i = 0; i < given.at("bodies").size(); ++i) {
    const ordered_json& body = given.at("bodies")[i];
    ordered_json degrees = body.at("rpy");
    for (auto& angle : degrees) angle = angle.get<double>() * 180 / physics::kPi;
    yaml += "  - name: body_" + std::to_string(i) +
            "\n    deformable:\n      mesh: {file: " + body.at("mesh").dump() +
            "}\n      pose: {position: " + body.at("position").dump() +
            ", rpy_degrees: " + degrees.dump() +
            "}\n      material: {model: LINEAR_COROTATIONAL, youngs_modulus: " +
            material.at("E").dump() + ", poissons_ratio: " + material.at("nu").dump() +
            ", density: " + material.at("rho").dump() +
            "}\n      damping: {beta: " + material.at("beta").dump() + "}\n";
  }
  return yaml;
}

// Bodies on the ground.
ordered_json MakeCase(double time_step, double duration, double from, const ordered_json& bodies,
                      const ordered_json& material) {
  return {{"time_step", time_step},  {"duration", duration}, {"from", from},
          {"friction", 0.5},         {"ground", true},       {"hook", nullptr},
          {"hook_surface", nullptr}, {"bodies", bodies},     {"material", material}};
}

// How far down the lowest node of deformable bodies is [m].
double FindLowest(const physics::World& world) {
  const physics::Model& model = world.model();
  double lowest = 0;
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    const physics::NodeSet* nodes = model.abilities[b].nodes;
    for (int i = 0; nodes != nullptr && i < nodes->num_nodes(); ++i)
      lowest = std::min(lowest, world.state().q[model.position_offsets[b] + 3 * i + 2]);
  }
  return lowest;
}

ordered_json RunSoftCase(const std::string& name, const ordered_json& given, bool has_mujoco) {
  const physics::SceneResult scene = physics::LoadSceneYaml(MakeSoftYaml(given), "bench");
  if (!scene.ok()) {
    for (const auto& message : scene.messages)
      std::fprintf(stderr, "%s\n", physics::Format(message).c_str());
    return {{"case", name}, {"note", "the scene does not load"}};
  }
  physics::World world(scene.model);
  const double h = given.at("time_step"), duration = given.at("duration"), from = given.at("from");
  std::vector<double> ms;
  double contacts = 0, converged = 0, iterations = 0;
  for (int k = 0; k < std::lround(duration / h); ++k) {
    const double start = Now();
    const absl::Status status = world.Step();
    const double elapsed = Now() - start;
    if (!status.ok()) return {{"case", name}, {"note", status.ToString()}};
    if ((k + 1) * h <= from - 1e-9) continue;
    ms.push_back(1e3 * elapsed);
    contacts += static_cast<double>(world.report().contacts.size());
    converged += world.report().converged ? 1 : 0;
    iterations += world.report().iterations;
  }
  const double count = static_cast<double>(ms.size());
  ordered_json row{{"case", name},
                   {"dofs", scene.model->velocity_offsets.back()},
                   {"step_ms", {{"median", Quantile(ms, 0.5)}, {"p95", Quantile(ms, 0.95)}}},
                   {"contacts_mean", contacts / count},
                   {"iterations_mean", iterations / count},
                   {"converged_fraction", converged / count},
                   {"lowest_m", FindLowest(world)}};
  const double ours = row.at("step_ms").at("median");
  const auto add = [&](const char* key, const char* script, const char* module) {
    const auto peer = RunPeer(script, module, given);
    if (!peer) {
      row["note"] = kNoPeer;
      return;
    }
    row[key] = *peer;
    // a chain that fell from its hook takes no time
    const double theirs = peer->value("lowest_m", row.at("lowest_m").get<double>());
    if (std::abs(theirs - row.at("lowest_m").get<double>()) > 0.1 * std::abs(theirs) + 0.01)
      row["note"] = std::string("bodies are elsewhere in ") + key;
    if (peer->contains("stopped") && peer->at("stopped").is_string())
      row["note"] = std::string(key) + ": " + peer->at("stopped").get<std::string>();
    row[std::string(key) + "_ms"] = peer->at("step_ms").at("median");
    row[std::string(key) + "_ratio"] = peer->at("step_ms").at("median").get<double>() / ours;
  };
  add("drake", "drake_soft.py", "pydrake");
  if (has_mujoco) add("mujoco", "mujoco_soft.py", "mujoco");
  return row;
}

}  // namespace

ordered_json RunPeers(const std::string& only) {
  const Folder folder;
  ordered_json rows = ordered_json::array();
  const auto run = [&](const std::string& name, bool has_mujoco,
                       const std::function<ordered_json()>& make) {
    if (name.find(only) == std::string::npos) return;
    std::fprintf(stderr, "running %s …\n", name.c_str());
    rows.push_back(RunSoftCase(name, make(), has_mujoco));
  };
  const auto body = [](const std::string& mesh, double z, bool upright = false,
                       bool turned = false) {
    return ordered_json{
        {"mesh", mesh},
        {"position", {0, 0, z}},
        {"rpy", {upright ? physics::kPi / 2 : 0, 0, turned ? physics::kPi / 2 : 0}}};
  };
  const ordered_json soft{{"E", 1e5}, {"nu", 0.4}, {"rho", 1000}, {"beta", 0.01}};
  run("torus_2k4", true, [&] {
    const std::string mesh = folder.WriteVtk("torus", *physics::MeshTorus(0.1, 0.03, 0.015, 42));
    return MakeCase(0.01, 1, 0.5, ordered_json::array({body(mesh, 0.031)}), soft);
  });
  run("ball_2k4", true, [&] {
    const std::string mesh = folder.WriteVtk("ball", *physics::MeshSphere(0.1, 0.0176));
    return MakeCase(0.01, 1, 0.5, ordered_json::array({body(mesh, 0.101)}), soft);
  });
  // links of Han et al. 2023 §VII-F, hung from a fixed one of the same shape
  for (const int count : {2, 5, 10, 20}) {
    run("chain_" + std::to_string(count), false, [&, count] {
      TetrahedralMesh link = *physics::MeshTorus(0.4, 0.1, 0.1, 42);
      const std::string mesh = folder.WriteVtk("link", link);
      for (Vector3d& p : link.vertices) p = Vector3d(p.x(), -p.z(), p.y());  // upright
      ordered_json bodies = ordered_json::array();
      for (int i = 1; i <= count; ++i) bodies.push_back(body(mesh, -0.51 * i, true, i % 2 == 1));
      ordered_json given =
          MakeCase(0.02, 2, 1, bodies, {{"E", 1e7}, {"nu", 0.4}, {"rho", 500}, {"beta", 0.05}});
      given["ground"] = false;
      given["hook"] = folder.WriteVtk("hook", link);
      given["hook_surface"] = folder.WriteObj("hook", link);
      return given;
    });
  }
  run("torus_28k8", false, [&] {
    const std::string mesh = folder.WriteVtk("large", *physics::MeshTorus(0.4, 0.1, 0.0333, 260));
    ordered_json given = MakeCase(0.02, 0.6, 0.2, ordered_json::array({body(mesh, 0.101)}),
                                  {{"E", 1e6}, {"nu", 0.4}, {"rho", 500}, {"beta", 0.01}});
    given["patience"] = 300;
    return given;
  });
  return rows;
}

}  // namespace pliant::benchmarks
