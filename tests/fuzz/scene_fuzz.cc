// Feeds damaged scenes, meshes and robots to their parsers. Every input is a function of the seed
// and its number, so a failure is reproduced with `--first N --runs 1`. Exits with status 1 on the
// first crash, or on an input that takes too long.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/time.h>

#include "physics/dynamics/model.h"
#include "physics/geometry/meshing/mesh_checks.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "physics/rigid/joint_tree.h"
#include "physics/rigid/tree_kinematics.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/robot_files/robot_description.h"
#include "physics/scene/scene.h"
#include "physics/world/world.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/robot_seeds.h"

// called by the sanitizers before they end the program; null in builds without them
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace pliant::fuzz {
namespace {

struct Arguments {
  std::uint64_t runs = 100'000;
  std::uint64_t first = 0;
  std::uint64_t seed = 1;
  double time_limit = 5;  // [s] of processor time per input
  int steps = 0;          // of each accepted scene
  bool print = false;     // print the inputs
  std::string scenes = "scenes";
  std::string only;  // "scenes", "meshes" or "robots"
};

// globals, so that a signal handler can report the input
Arguments g_arguments;
volatile std::uint64_t g_input = 0;

void Say(const char* what) {
  char line[256];
  const int size = std::snprintf(
      line, sizeof(line),
      "\nscene_fuzz: input %llu %s; again: scene_fuzz --seed %llu --first %llu --runs 1 --print\n",
      static_cast<unsigned long long>(g_input), what,
      static_cast<unsigned long long>(g_arguments.seed), static_cast<unsigned long long>(g_input));
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(size)) < 0) _exit(1);
}

void OnCrash(int) {
  Say("crashes");
  _exit(1);
}
void OnTimeout(int) {
  Say("takes too long");
  _exit(1);
}
void OnSanitizer() {
  Say("is stopped by a sanitizer");
}

void StartTimer(double seconds) {
  itimerval cpu{}, wall{};
  cpu.it_value.tv_sec = static_cast<time_t>(seconds);
  cpu.it_value.tv_usec =
      static_cast<suseconds_t>((seconds - static_cast<double>(cpu.it_value.tv_sec)) * 1e6);
  // an input that blocks uses no processor time, so limit its wall time too
  wall.it_value.tv_sec = static_cast<time_t>(20 * seconds);
  setitimer(ITIMER_PROF, &cpu, nullptr);
  setitimer(ITIMER_REAL, &wall, nullptr);
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  return bytes.str();
}

// The same scene with lengths after `key` four times as long.
std::string Coarsen(std::string scene, const std::string& key) {
  for (std::size_t at = scene.find(key); at != std::string::npos; at = scene.find(key, at + 1)) {
    const std::size_t begin = at + key.size();
    std::size_t end = begin;
    while (end < scene.size() &&
           (std::isdigit(static_cast<unsigned char>(scene[end])) != 0 || scene[end] == '.'))
      ++end;
    const double length = std::strtod(scene.substr(begin, end - begin).c_str(), nullptr);
    scene.replace(begin, end - begin, std::to_string(4 * length));
  }
  return scene;
}

std::vector<std::string> LoadScenes(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> scenes;
  // for few tetrahedra and particles
  for (const auto& path : paths)
    scenes.push_back(Coarsen(Coarsen(ReadAll(path), "edge_length: "), "cell_size: "));
  return scenes;
}

void AppendBigEndian(const void* value, std::size_t size, std::string* out) {
  std::string bytes(static_cast<const char*>(value), size);
  std::reverse(bytes.begin(), bytes.end());
  *out += bytes;
}
template <typename T>
void AppendNative(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// One small mesh in all supported formats.
std::vector<std::string> MakeMeshes() {
  const physics::TetrahedralMesh mesh = physics::MeshBox({1, 1, 2}, 1).value();
  const std::size_t points = mesh.vertices.size(), cells = mesh.tetrahedra.size();
  std::ostringstream vtk, vtk_head, gmsh2, gmsh4;

  vtk << "# vtk DataFile Version 3.0\nbox\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS " << points
      << " double\n";
  for (const auto& p : mesh.vertices) vtk << p.x() << ' ' << p.y() << ' ' << p.z() << '\n';
  vtk << "CELLS " << cells << ' ' << 5 * cells << '\n';
  for (const auto& t : mesh.tetrahedra)
    vtk << "4 " << t[0] << ' ' << t[1] << ' ' << t[2] << ' ' << t[3] << '\n';
  vtk << "CELL_TYPES " << cells << '\n';
  for (std::size_t i = 0; i < cells; ++i) vtk << "10\n";
  vtk << "CELL_DATA " << cells << "\nSCALARS label int 1\nLOOKUP_TABLE default\n";
  for (std::size_t i = 0; i < cells; ++i) vtk << i % 2 << '\n';

  std::string binary =
      "# vtk DataFile Version 3.0\nbox\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS " +
      std::to_string(points) + " double\n";
  for (const auto& p : mesh.vertices) {
    for (int i = 0; i < 3; ++i) AppendBigEndian(&p[i], 8, &binary);
  }
  binary += "\nCELLS " + std::to_string(cells) + " " + std::to_string(5 * cells) + "\n";
  const int four = 4, ten = 10;
  for (const auto& t : mesh.tetrahedra) {
    AppendBigEndian(&four, 4, &binary);
    for (const int corner : t) AppendBigEndian(&corner, 4, &binary);
  }
  binary += "\nCELL_TYPES " + std::to_string(cells) + "\n";
  for (std::size_t i = 0; i < cells; ++i) AppendBigEndian(&ten, 4, &binary);

  gmsh2 << "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n" << points << '\n';
  for (std::size_t i = 0; i < points; ++i) {
    gmsh2 << i + 1 << ' ' << mesh.vertices[i].x() << ' ' << mesh.vertices[i].y() << ' '
          << mesh.vertices[i].z() << '\n';
  }
  gmsh2 << "$EndNodes\n$Elements\n" << cells << '\n';
  for (std::size_t i = 0; i < cells; ++i) {
    const auto& t = mesh.tetrahedra[i];
    gmsh2 << i + 1 << " 4 2 1 1 " << t[0] + 1 << ' ' << t[1] + 1 << ' ' << t[2] + 1 << ' '
          << t[3] + 1 << '\n';
  }
  gmsh2 << "$EndElements\n";

  gmsh4 << "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 1\n1 0 0 0 1 1 2 1 7 "
           "0\n$EndEntities\n$Nodes\n1 "
        << points << " 1 " << points << "\n3 1 0 " << points << '\n';
  for (std::size_t i = 0; i < points; ++i) gmsh4 << i + 1 << '\n';
  for (const auto& p : mesh.vertices) gmsh4 << p.x() << ' ' << p.y() << ' ' << p.z() << '\n';
  gmsh4 << "$EndNodes\n$Elements\n1 " << cells << " 1 " << cells << "\n3 1 4 " << cells << '\n';
  for (std::size_t i = 0; i < cells; ++i) {
    const auto& t = mesh.tetrahedra[i];
    gmsh4 << i + 1 << ' ' << t[0] + 1 << ' ' << t[1] + 1 << ' ' << t[2] + 1 << ' ' << t[3] + 1
          << '\n';
  }
  gmsh4 << "$EndElements\n";

  std::string gmsh2_binary = "$MeshFormat\n2.2 1 8\n";
  AppendNative(1, &gmsh2_binary);
  gmsh2_binary += "\n$EndMeshFormat\n$Nodes\n" + std::to_string(points) + "\n";
  for (std::size_t i = 0; i < points; ++i) {
    AppendNative(static_cast<int>(i + 1), &gmsh2_binary);
    for (int k = 0; k < 3; ++k) AppendNative(mesh.vertices[i][k], &gmsh2_binary);
  }
  gmsh2_binary += "\n$EndNodes\n$Elements\n" + std::to_string(cells) + "\n";
  for (const int head : {4, static_cast<int>(cells), 2}) AppendNative(head, &gmsh2_binary);
  for (std::size_t i = 0; i < cells; ++i) {
    for (const int number : {static_cast<int>(i + 1), 1, 1}) AppendNative(number, &gmsh2_binary);
    for (const int corner : mesh.tetrahedra[i]) AppendNative(corner + 1, &gmsh2_binary);
  }
  gmsh2_binary += "\n$EndElements\n";

  std::ostringstream medit, abaqus, solids;
  medit << "MeshVersionFormatted 2\nDimension 3\nVertices\n" << points << '\n';
  abaqus << "*HEADING\nbox\n*PART, NAME=BOX\n*NODE\n";
  for (std::size_t i = 0; i < points; ++i) {
    const auto& p = mesh.vertices[i];
    medit << p.x() << ' ' << p.y() << ' ' << p.z() << " 0\n";
    abaqus << i + 1 << ", " << p.x() << ", " << p.y() << ", " << p.z() << '\n';
  }
  medit << "Triangles\n1\n1 2 3 4\nTetrahedra\n" << cells << '\n';
  abaqus << "*ELEMENT, TYPE=C3D4, ELSET=ALL\n";
  for (std::size_t i = 0; i < cells; ++i) {
    const auto& t = mesh.tetrahedra[i];
    medit << t[0] + 1 << ' ' << t[1] + 1 << ' ' << t[2] + 1 << ' ' << t[3] + 1 << " 1\n";
    abaqus << i + 1 << ", " << t[0] + 1 << ", " << t[1] + 1 << ", " << t[2] + 1 << ",\n"
           << t[3] + 1 << '\n';
  }
  medit << "End\n";
  abaqus << "*END PART\n";
  // a hexahedron, a prism and a pyramid of second order
  solids
      << "# vtk DataFile Version 3.0\nsolids\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 27 float\n";
  for (int i = 0; i < 27; ++i) solids << i % 3 << ' ' << i / 3 % 3 << ' ' << i / 9 << '\n';
  solids << "CELLS 3 30\n8 0 1 4 3 9 10 13 12\n6 0 1 3 9 10 12\n"
            "13 0 2 8 6 13 1 5 7 3 10 11 12 14\nCELL_TYPES 3\n12 13 27\n";
  return {vtk.str(),    binary,      gmsh2.str(),  gmsh4.str(),
          gmsh2_binary, medit.str(), abaqus.str(), solids.str()};
}

struct Count {
  std::uint64_t scenes = 0, scenes_accepted = 0, scene_messages = 0;
  std::uint64_t meshes = 0, meshes_accepted = 0;
  std::uint64_t robots = 0, robots_accepted = 0;
  double slowest = 0;  // [s]
  std::uint64_t slowest_input = 0;
};

void Fail(const char* what) {
  Say(what);
  std::exit(1);
}

void FeedScene(const std::string& text, Random* random, Count* count) {
  physics::SceneOptions options;
  options.allow_files = false;
  options.limits.max_tetrahedra = 200;
  options.limits.max_particles = 1000;
  options.limits.max_bodies = 50;
  options.repair_meshes = random->OneIn(8);
  if (random->OneIn(8))
    options.method = random->OneIn(2) ? "corrective" : random->OneIn(2) ? "nonsmooth" : "convex";
  if (random->OneIn(8)) {
    static const char* const kOverrides[] = {
        "bodies[0].rigid.shapes[0].friction=0.3", "bodies.ball.deformable.damping.beta=0.1",
        "time_step=1e-3", "method.convex.theta=[0.5, 0.5]", "contact={friction: 1}"};
    options.overrides.push_back(Mutate(kOverrides[random->Below(5)], "bodies[1]=*a", 200, random));
  }
  const physics::SceneResult result = physics::LoadSceneYaml(text, "fuzz.yaml", options);
  ++count->scenes;
  count->scenes_accepted += result.ok();
  count->scene_messages += result.messages.size();

  // a scene without a model reports why; one with a model has no errors and a finite initial state
  bool error = false;
  for (const physics::SceneMessage& message : result.messages) {
    error |= message.error;
    if (message.message.empty() || Format(message).empty()) Fail("has an empty message");
  }
  if (error == result.ok())
    Fail(error ? "gives a model in spite of errors" : "gives neither a model nor an error");
  if (!result.ok()) return;
  const physics::State state = physics::MakeInitialState(*result.model);
  for (const double x : state.q) {
    if (!(std::abs(x) < 1e9)) Fail("starts from a position that is not finite");
  }
  for (const double x : state.v) {
    if (!(std::abs(x) < 1e15)) Fail("starts from a velocity that is not finite");
  }

  // a step may fail, but reports why and leaves a finite state
  if (g_arguments.steps == 0) return;
  physics::World world(result.model);
  for (int i = 0; i < g_arguments.steps; ++i) {
    if (const absl::Status status = world.Step(); !status.ok()) {
      if (status.message().empty()) Fail("fails a step without a word");
      break;
    }
  }
  for (const double x : world.state().q) {
    if (!std::isfinite(x)) Fail("steps to a position that is not finite");
  }
}

void FeedRobot(const std::string& text, Random* random, Count* count) {
  physics::RobotFileOptions options;
  options.allow_files = false;
  options.fixed_base = random->OneIn(2);
  options.free_base = !options.fixed_base;
  options.strict = random->OneIn(8);
  options.recompute_inertia = random->OneIn(2);
  const physics::RobotFileResult result = physics::ReadRobotText(text, "fuzz.xml", options);
  ++count->robots;
  count->robots_accepted += result.robot.has_value();
  bool error = false;
  for (const physics::RobotFileMessage& message : result.messages) {
    error |= message.error;
    if (message.text.empty() || message.file.empty()) Fail("has an empty message");
  }
  if (error == result.robot.has_value())
    Fail(error ? "gives a robot in spite of errors" : "gives neither a robot nor an error");
  if (!result.robot.has_value()) return;

  // an accepted robot can be built: parents come first and all numbers are finite
  std::vector<physics::Link> links;
  for (const physics::RobotLink& link : result.robot->links) {
    if (link.parent >= static_cast<int>(links.size())) Fail("has a link before its parent");
    if (!(std::abs(link.joint.axis.norm() - 1) < 1e-9)) Fail("has an axis that is not unit");
    if (!(link.joint.lower <= link.joint.upper)) Fail("has limits in the wrong order");
    physics::Link own;
    own.parent = link.parent;
    own.joint = link.joint;
    own.mass = link.mass;
    own.p_BoBcm = link.p_BoBcm;
    own.inertia = link.inertia;
    links.push_back(own);
  }
  const physics::JointTree tree(std::move(links));
  if (tree.num_velocities() > 200) return;
  physics::TreeKinematics kinematics(tree);
  std::vector<double> q(tree.num_positions()), M(tree.num_velocities() * tree.num_velocities());
  tree.SetZero(q);
  tree.CalcPositions(q, &kinematics);
  tree.CalcMassMatrix(kinematics, M);
  for (const double x : M) {
    if (!std::isfinite(x)) Fail("has a mass matrix that is not finite");
  }
  for (const physics::RobotDeformable& body : result.robot->deformables) {
    if (!(body.density > 0) || !(body.youngs_modulus > 0)) Fail("has a material that is none");
  }
}

void FeedMesh(const std::string& bytes, Count* count) {
  const absl::StatusOr<physics::VolumeMeshFile> file = physics::ReadVolumeMesh(bytes, "fuzz.vtk");
  ++count->meshes;
  if (!file.ok()) {
    if (file.status().message().empty()) Fail("has an empty message");
    return;
  }
  ++count->meshes_accepted;
  const physics::MeshRepair repair = physics::RepairMesh(file->mesh);
  for (const physics::MeshDefect& defect : physics::FindDefects(repair.mesh)) {
    if (defect.repairable()) Fail("has a defect that the repair left");
  }
}

// Processor time of this process [s], independent of other load on the machine.
double ProcessorTime() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::uint64_t ParseCount(const char* text) {
  return std::strtoull(text, nullptr, 10);
}

bool ParseArguments(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--print") {
      arguments->print = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const char* value = argv[++i];
    if (flag == "--runs") {
      arguments->runs = ParseCount(value);
    } else if (flag == "--first") {
      arguments->first = ParseCount(value);
    } else if (flag == "--seed") {
      arguments->seed = ParseCount(value);
    } else if (flag == "--time-limit-per-input") {
      arguments->time_limit = std::strtod(value, nullptr);
    } else if (flag == "--steps") {
      arguments->steps = static_cast<int>(ParseCount(value));
    } else if (flag == "--only") {
      arguments->only = value;
    } else if (flag == "--scenes") {
      arguments->scenes = value;
    } else {
      return false;
    }
  }
  return arguments->time_limit > 0;
}

int Main(int argc, char** argv) {
  if (!ParseArguments(argc, argv, &g_arguments)) {
    std::fprintf(stderr,
                 "usage: scene_fuzz [--runs N] [--first N] [--seed S] [--time-limit-per-input "
                 "SECONDS] [--scenes DIR] [--steps N] [--only scenes|meshes|robots] [--print]\n");
    return 2;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS}) {
    if (&__sanitizer_set_death_callback == nullptr || signal == SIGABRT)
      std::signal(signal, OnCrash);
  }
  std::signal(SIGPROF, OnTimeout);
  std::signal(SIGALRM, OnTimeout);
  if (&__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(OnSanitizer);

  const std::vector<std::string> scenes = LoadScenes(g_arguments.scenes), meshes = MakeMeshes(),
                                 robots = MakeRobots();
  if (scenes.empty()) {
    std::fprintf(stderr, "scene_fuzz: no scenes in %s\n", g_arguments.scenes.c_str());
    return 2;
  }

  Count count;
  const double start = Now();
  double said = start;
  for (std::uint64_t i = 0; i < g_arguments.runs; ++i) {
    g_input = g_arguments.first + i;
    Random random(g_arguments.seed * 0x2545f4914f6cdd1d + g_input);
    random.Next();
    const std::size_t draw = random.Below(4);
    const std::string kind = !g_arguments.only.empty() ? g_arguments.only
                             : draw == 0               ? "meshes"
                             : draw == 1               ? "robots"
                                                       : "scenes";
    const std::vector<std::string>& seeds = kind == "meshes"   ? meshes
                                            : kind == "robots" ? robots
                                                               : scenes;
    const std::string input =
        Mutate(seeds[random.Below(seeds.size())], seeds[random.Below(seeds.size())], 8192, &random);
    if (g_arguments.print) {
      std::fwrite(input.data(), 1, input.size(), stdout);
      std::fflush(stdout);
    }

    StartTimer(g_arguments.time_limit);
    const double before = ProcessorTime();
    if (kind == "meshes") {
      FeedMesh(input, &count);
    } else if (kind == "robots") {
      FeedRobot(input, &random, &count);
    } else {
      FeedScene(input, &random, &count);
    }
    const double took = ProcessorTime() - before;
    if (took > count.slowest) {
      count.slowest = took;
      count.slowest_input = g_input;
    }
    if (Now() - said > 10) {
      said = Now();
      std::printf("scene_fuzz: %llu of %llu inputs, %.0f s\n",
                  static_cast<unsigned long long>(i + 1),
                  static_cast<unsigned long long>(g_arguments.runs), said - start);
      std::fflush(stdout);
    }
  }
  StartTimer(0);
  std::printf(
      "scene_fuzz: %llu inputs (%llu scenes, %llu accepted, %llu messages; %llu meshes, %llu "
      "accepted; %llu robots, %llu accepted), no crash and no hang; "
      "slowest %.0f ms (input %llu), %.0f s in all\n",
      static_cast<unsigned long long>(g_arguments.runs),
      static_cast<unsigned long long>(count.scenes),
      static_cast<unsigned long long>(count.scenes_accepted),
      static_cast<unsigned long long>(count.scene_messages),
      static_cast<unsigned long long>(count.meshes),
      static_cast<unsigned long long>(count.meshes_accepted),
      static_cast<unsigned long long>(count.robots),
      static_cast<unsigned long long>(count.robots_accepted), count.slowest * 1e3,
      static_cast<unsigned long long>(count.slowest_input), Now() - start);
  return 0;
}

}  // namespace
}  // namespace pliant::fuzz

int main(int argc, char** argv) {
  return pliant::fuzz::Main(argc, argv);
}
