#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <unistd.h>

#include <Eigen/Dense>

#include "benchmarks/measure.h"
#include "benchmarks/peers/peer.h"
#include "benchmarks/suite.h"
#include "physics/geometry/closest_points.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "physics/scene/scene.h"
#include "physics/spatial/trig.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using Eigen::Vector3d;
using nlohmann::ordered_json;
using physics::TetrahedralMesh;

// Temporary folder for files that both engines read; the destructor removes it.
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

  // Writes the boundary of the mesh.
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

// Case description that both engines read, the mesh that all bodies share, and the hook's mesh.
struct SoftCase {
  ordered_json given;
  TetrahedralMesh body, hook;
  bool has_mujoco = false;
};

// Contact discretisation in Pliant: contacts at vertices, or on polygons of subdivided triangles.
struct Patches {
  const char* name;
  int divisions = 0;  // 0: vertices
};
constexpr Patches kPatches[] = {
    {"vertices"}, {"polygons", 1}, {"polygons_2", 2}, {"polygons_4", 4}, {"polygons_8", 8}};

// Contact counts in a step are comparable if ours lies between these multiples of the peer's. More
// contacts are more work, so the ratios err in favour of the peer.
constexpr double kMinContactRatio = 0.75, kMaxContactRatio = 2;

// The case as a Pliant scene: the same meshes, poses, material, friction, gravity and time step.
std::string MakeSoftYaml(const ordered_json& given, const Patches& patches) {
  const ordered_json& material = given.at("material");
  std::string yaml = "name: bench\nsleeping: false\ntime_step: " + given.at("time_step").dump() +
                     "\ngravity: " + given.at("gravity").dump() +
                     "\ncontact: {friction: " + given.at("friction").dump();
  if (patches.divisions > 0)
    yaml += ", patches: POLYGONS, patch_divisions: " + std::to_string(patches.divisions);
  yaml += "}\nbodies:\n";
  if (given.at("ground")) {
    yaml +=
        "  - {name: ground, rigid: {motion: FIXED, pose: {position: [0, 0, -0.5]}, "
        "shapes: [{box: {size: [8, 8, 1]}}]}}\n";
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

// Bodies on the ground under gravity tilted by 45°. They keep moving, because friction of 0.5 holds
// only up to 26.6°.
ordered_json MakeCase(double time_step, double duration, double from, const ordered_json& bodies,
                      const ordered_json& material) {
  return {{"time_step", time_step},
          {"duration", duration},
          {"from", from},
          {"friction", 0.5},
          {"gravity", {9.81 * std::sqrt(0.5), 0, -9.81 * std::sqrt(0.5)}},
          {"ground", true},
          {"hook", nullptr},
          {"hook_surface", nullptr},
          {"bodies", bodies},
          {"material", material}};
}

// Vertex positions of each deformable body.
using Positions = std::vector<std::vector<Vector3d>>;

// Depth of a point inside a deformed mesh [m]; zero outside.
double CalcDepth(const Vector3d& p, const TetrahedralMesh& mesh,
                 const std::vector<std::array<int, 3>>& surface, const std::vector<Vector3d>& x) {
  const auto holds = [&](const std::array<int, 4>& t) {
    Eigen::Matrix3d edges;
    edges << x[t[1]] - x[t[0]], x[t[2]] - x[t[0]], x[t[3]] - x[t[0]];
    const Vector3d weights = edges.partialPivLu().solve(p - x[t[0]]);
    return weights.minCoeff() > 0 && weights.sum() < 1;
  };
  if (std::none_of(mesh.tetrahedra.begin(), mesh.tetrahedra.end(), holds)) return 0;
  double nearest = 1e300;
  for (const auto& t : surface) {
    nearest = std::min(
        nearest,
        physics::FindClosestPointOnTriangle(p, x[t[0]], x[t[1]], x[t[2]]).squared_distance);
  }
  return std::sqrt(nearest);
}

// Largest depth of any vertex [m]: in the ground if there is one; otherwise between neighbours in
// the list of bodies, and between the first body and the hook.
double CalcPenetration(const SoftCase& the_case, const Positions& bodies) {
  double deepest = 0;
  if (the_case.given.at("ground")) {
    for (const auto& body : bodies)
      for (const Vector3d& x : body) deepest = std::max(deepest, -x.z());
    return deepest;
  }
  const auto body_surface = physics::ExtractBoundary(the_case.body);
  const auto hook_surface = physics::ExtractBoundary(the_case.hook);
  const auto enter = [&](const std::vector<Vector3d>& points, const TetrahedralMesh& mesh,
                         const physics::BoundarySurface& surface, const std::vector<Vector3d>& x) {
    Eigen::AlignedBox3d box;
    for (const Vector3d& vertex : x) box.extend(vertex);
    for (const Vector3d& p : points)
      if (box.contains(p)) deepest = std::max(deepest, CalcDepth(p, mesh, surface.triangles, x));
  };
  if (!bodies.empty()) {
    enter(bodies[0], the_case.hook, hook_surface, the_case.hook.vertices);
    enter(the_case.hook.vertices, the_case.body, body_surface, bodies[0]);
  }
  for (std::size_t i = 0; i + 1 < bodies.size(); ++i) {
    enter(bodies[i], the_case.body, body_surface, bodies[i + 1]);
    enter(bodies[i + 1], the_case.body, body_surface, bodies[i]);
  }
  return deepest;
}

// Record of an engine's run, step by step until it ended or failed.
struct Course {
  std::vector<double> ms, contacts;
  std::vector<double> speed;                         // of the fastest vertex [m/s]
  double penetration = 0;                            // largest over the sampled steps [m]
  double iterations = 0, converged = 0, solved = 0;  // means over the timed steps
};

// Whether positions are sampled after a step, which they are after about five of the timed ones.
bool IsSampled(int step, int first, int count) {
  const int stride = std::max(1, (count - first) / 5);
  return step >= first && (step == count - 1 || (step - first) % stride == 0);
}

std::optional<Course> RunOurs(const SoftCase& the_case, const Patches& patches) {
  const ordered_json& given = the_case.given;
  const physics::SceneResult scene = physics::LoadSceneYaml(MakeSoftYaml(given, patches), "bench");
  if (!scene.ok()) {
    for (const auto& message : scene.messages)
      std::fprintf(stderr, "%s\n", physics::Format(message).c_str());
    return std::nullopt;
  }
  physics::World world(scene.model);
  const physics::Model& model = world.model();
  const int count = static_cast<int>(
      std::lround(given.at("duration").get<double>() / given.at("time_step").get<double>()));
  const int first = static_cast<int>(
      std::lround(given.at("from").get<double>() / given.at("time_step").get<double>()));
  Course course;
  for (int k = 0; k < count; ++k) {
    const double start = ThreadNow();
    const absl::Status status = world.Step();
    course.ms.push_back(1e3 * (ThreadNow() - start));
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return std::nullopt;
    }
    course.contacts.push_back(static_cast<double>(world.report().contacts.size()));
    double fastest = 0;
    for (std::size_t i = 0; i + 2 < world.state().v.size(); i += 3)
      fastest = std::max(fastest, physics::VectorAt(world.state().v, static_cast<int>(i)).norm());
    course.speed.push_back(fastest);
    if (k < first) continue;
    course.iterations += world.report().iterations / double(count - first);
    course.converged += world.report().converged / double(count - first);
    course.solved += (world.report().iterations > 0) / double(count - first);
    if (!IsSampled(k, first, count)) continue;
    Positions bodies;
    for (std::size_t b = 0; b < model.blocks.size(); ++b) {
      auto& body = bodies.emplace_back();
      const physics::NodeSet* nodes = model.abilities[b].nodes;
      for (int i = 0; nodes != nullptr && i < nodes->num_nodes(); ++i)
        body.push_back(physics::VectorAt(world.state().q, model.position_offsets[b] + 3 * i));
    }
    std::erase_if(bodies, [](const auto& body) { return body.empty(); });
    course.penetration = std::max(course.penetration, CalcPenetration(the_case, bodies));
  }
  return course;
}

Course ReadPeer(const SoftCase& the_case, const ordered_json& peer) {
  Course course{peer.at("step_ms"), peer.at("contacts"), peer.at("speed")};
  for (const ordered_json& sample : peer.at("samples")) {
    Positions bodies;
    for (const ordered_json& numbers : sample) {
      auto& body = bodies.emplace_back();
      for (std::size_t i = 0; i + 2 < numbers.size(); i += 3)
        body.emplace_back(numbers[i], numbers[i + 1], numbers[i + 2]);
    }
    course.penetration = std::max(course.penetration, CalcPenetration(the_case, bodies));
  }
  return course;
}

std::vector<double> From(int first, const std::vector<double>& x) {
  return {x.begin() + std::min<std::ptrdiff_t>(first, std::ssize(x)), x.end()};
}

double Mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return x.empty() ? 0 : sum / static_cast<double>(x.size());
}

// Adds a peer's times to a row, and in how many of the steps that both engines finished the contact
// counts are comparable. The ratio of medians is over these steps only.
void AddPeer(const std::string& key, const Course& ours, const Course& theirs, int first,
             ordered_json* row) {
  const int last = static_cast<int>(std::min(ours.ms.size(), theirs.ms.size()));
  std::vector<double> our_ms, their_ms;
  for (int k = first; k < last; ++k) {
    if (ours.contacts[k] < kMinContactRatio * theirs.contacts[k] ||
        ours.contacts[k] > kMaxContactRatio * theirs.contacts[k])
      continue;
    our_ms.push_back(ours.ms[k]);
    their_ms.push_back(theirs.ms[k]);
  }
  (*row)[key + "_steps"] = std::max(0, last - first);
  if (last <= first) return;
  (*row)[key + "_ms"] = Quantile(From(first, theirs.ms), 0.5);
  (*row)[key + "_contacts"] = Mean(From(first, theirs.contacts));
  (*row)[key + "_penetration_m"] = theirs.penetration;
  (*row)[key + "_speed_m_s"] = Mean(From(first, theirs.speed));
  (*row)[key + "_comparable_steps"] = our_ms.size();
  // a ratio over a few steps out of many would mean nothing
  if (4 * our_ms.size() >= static_cast<std::size_t>(last - first))
    (*row)[key + "_ratio"] = Quantile(their_ms, 0.5) / Quantile(our_ms, 0.5);
}

ordered_json RunSoftCase(const std::string& name, const SoftCase& the_case) {
  const ordered_json& given = the_case.given;
  const int first = static_cast<int>(
      std::lround(given.at("from").get<double>() / given.at("time_step").get<double>()));
  const auto drake = RunPeer("drake_soft.py", "pydrake", given);
  const auto mujoco =
      the_case.has_mujoco ? RunPeer("mujoco_soft.py", "mujoco", given) : std::nullopt;
  std::optional<Course> drakes, mujocos;
  if (drake) drakes = ReadPeer(the_case, *drake);
  if (mujoco) mujocos = ReadPeer(the_case, *mujoco);
  const double aim = drakes ? Mean(From(first, drakes->contacts)) : 0;

  // vertices first, then ever finer polygons until there are about as many contacts as in Drake
  ordered_json rows = ordered_json::array();
  for (const Patches& patches : kPatches) {
    const std::optional<Course> ours = RunOurs(the_case, patches);
    ordered_json row{{"case", name + "_" + patches.name}};
    if (!ours) {
      row["note"] = "the scene does not run";
      rows.push_back(row);
      break;
    }
    const double contacts = Mean(From(first, ours->contacts));
    row["dofs"] = 3 * the_case.body.vertices.size() * given.at("bodies").size();
    row["step_ms"] = {{"median", Quantile(From(first, ours->ms), 0.5)},
                      {"p95", Quantile(From(first, ours->ms), 0.95)}};
    row["contacts"] = contacts;
    row["penetration_m"] = ours->penetration;
    row["speed_m_s"] = Mean(From(first, ours->speed));
    row["iterations"] = ours->iterations;
    row["solved_fraction"] = ours->solved;
    row["converged_fraction"] = ours->converged;
    if (drakes) AddPeer("drake", *ours, *drakes, first, &row);
    if (mujocos) AddPeer("mujoco", *ours, *mujocos, first, &row);
    if (!drakes || (the_case.has_mujoco && !mujocos)) row["note"] = kNoPeer;
    if (drake && drake->at("stopped").is_string())
      row["note"] = "drake: " + drake->at("stopped").get<std::string>();
    rows.push_back(row);
    if (patches.divisions > 0 && contacts >= kMinContactRatio * aim) break;
  }
  return rows;
}

}  // namespace

ordered_json RunPeers(const std::string& only) {
  const Folder folder;
  ordered_json rows = ordered_json::array();
  const auto run = [&](const std::string& name, const std::function<SoftCase()>& make) {
    if (name.find(only) == std::string::npos) return;
    std::fprintf(stderr, "running %s …\n", name.c_str());
    for (const ordered_json& row : RunSoftCase(name, make())) rows.push_back(row);
  };
  const auto body = [](const std::string& mesh, double z, bool upright = false,
                       bool turned = false) {
    return ordered_json{
        {"mesh", mesh},
        {"position", {0, 0, z}},
        {"rpy", {upright ? physics::kPi / 2 : 0, 0, turned ? physics::kPi / 2 : 0}}};
  };
  const auto on_ground = [&](const TetrahedralMesh& mesh, double z, double time_step,
                             double duration, double from, const ordered_json& material) {
    SoftCase made{{}, mesh, {}};
    made.given = MakeCase(time_step, duration, from,
                          ordered_json::array({body(folder.WriteVtk("body", mesh), z)}), material);
    return made;
  };
  const ordered_json soft{{"E", 1e5}, {"nu", 0.4}, {"rho", 1000}, {"beta", 0.01}};
  // the bodies slide and roll, because a body at rest takes no iterations
  run("torus_2k4", [&] {
    SoftCase made = on_ground(*physics::MeshTorus(0.1, 0.03, 0.015, 42), 0.031, 0.01, 1, 0.2, soft);
    made.has_mujoco = true;
    return made;
  });
  run("ball_2k4", [&] {
    SoftCase made = on_ground(*physics::MeshSphere(0.1, 0.0176), 0.101, 0.01, 1, 0.2, soft);
    made.has_mujoco = true;
    return made;
  });
  // links of Han et al. 2023 §VII-F, in a straight line below a fixed link of the same shape: they
  // fall, are caught and swing
  for (const int count : {2, 5, 10, 20}) {
    run("chain_" + std::to_string(count), [&, count] {
      const TetrahedralMesh link = *physics::MeshTorus(0.4, 0.1, 0.1, 42);
      TetrahedralMesh hook = link;
      for (Vector3d& p : hook.vertices) p = Vector3d(p.x(), -p.z(), p.y());  // upright
      const std::string mesh = folder.WriteVtk("link", link);
      ordered_json bodies = ordered_json::array();
      for (int i = 1; i <= count; ++i) bodies.push_back(body(mesh, -0.51 * i, true, i % 2 == 1));
      SoftCase made{{}, link, hook};
      made.given =
          MakeCase(0.02, 1.2, 0.2, bodies, {{"E", 1e7}, {"nu", 0.4}, {"rho", 500}, {"beta", 0.05}});
      made.given["gravity"] = {0, 0, -9.81};
      made.given["ground"] = false;
      made.given["hook"] = folder.WriteVtk("hook", hook);
      made.given["hook_surface"] = folder.WriteObj("hook", hook);
      return made;
    });
  }
  run("torus_28k8", [&] {
    SoftCase made = on_ground(*physics::MeshTorus(0.4, 0.1, 0.0333, 260), 0.101, 0.02, 0.6, 0,
                              {{"E", 1e6}, {"nu", 0.4}, {"rho", 500}, {"beta", 0.01}});
    made.given["time_limit_s"] = 300;
    return made;
  });
  return rows;
}

}  // namespace pliant::benchmarks
