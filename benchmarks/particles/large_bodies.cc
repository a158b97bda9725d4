#include "benchmarks/particles/large_bodies.h"

#include <cmath>
#include <cstdio>
#include <malloc.h>

#include "absl/strings/str_cat.h"

#include "benchmarks/measure.h"
#include "physics/scene/scene.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;

struct Kind {
  const char* name;
  double time_step;  // [s]
  double friction;
  bool is_in_tank;
  const char* material;
};
constexpr Kind kKinds[] = {
    {"water", 0.002, 0, true,
     "{model: LIQUID, bulk_modulus: 2.0e5, gamma: 7, viscosity: 0.001, density: 1000}"},
    {"dough", 0.01, 0.5, false,
     "{model: LINEAR_COROTATIONAL, youngs_modulus: 2.0e4, poissons_ratio: 0.4, density: 1000}"},
};
constexpr int kEdges[] = {22, 28, 46, 100};  // particles along an edge
// Cubes with longer edges take minutes.
constexpr int kMaxQuickEdge = 46;

// A cube of 8 particles a cell, with walls around a liquid.
std::string MakeScene(const Kind& kind, int edge) {
  const double L = 0.005 * edge, wall = 0.05;
  std::string scene = absl::StrCat(
      "name: cube\ntime_step: ", kind.time_step, "\nsleeping: false\ngrid: {cell_size: 0.01}\n",
      "contact: {friction: ", kind.friction, "}\nbodies:\n",
      "  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}\n");
  for (int k = 0; k < 4 && kind.is_in_tank; ++k) {
    const double at = (k % 2 == 0 ? 0.5 : -0.5) * (L + wall);
    const bool along_x = k < 2;
    absl::StrAppend(&scene, "  - {name: wall_", k, ", rigid: {motion: FIXED, pose: {position: [",
                    along_x ? at : 0, ", ", along_x ? 0 : at, ", ", 0.75 * L,
                    "]}, shapes: [{box: {size: [", along_x ? wall : L + 2 * wall, ", ",
                    along_x ? L : wall, ", ", 1.5 * L, "]}}]}}\n");
  }
  absl::StrAppend(&scene, "  - name: cube\n    particles:\n      fill: {box: {size: [", L, ", ", L,
                  ", ", L, "]}}\n      per_cell: 8\n      pose: {position: [0, 0, ", 0.5 * L,
                  "]}\n      material: ", kind.material, "\n");
  return scene;
}

// Returns the time of the first step [s], 0 if there is none.
double RunCube(const Kind& kind, int edge, ordered_json* row) {
  const double particles = std::pow(edge, 3);
  malloc_trim(0);
  ForgetPeakMemory();
  const double before = ReadPeakMemory();
  const physics::SceneResult scene = physics::LoadSceneYaml(MakeScene(kind, edge), "cube");
  if (!scene.ok()) {
    (*row)["note"] = Format(scene.messages.front());
    return 0;
  }
  physics::World world(scene.model);
  const double start = Now();
  const absl::Status status = world.Step();
  const double seconds = Now() - start;
  if (!status.ok()) {
    (*row)["note"] = status.message();
    return 0;
  }
  const physics::StepReport& report = world.report();
  (*row)["particles"] = particles;
  (*row)["step_s"] = seconds;
  (*row)["iterations"] = report.iterations;
  (*row)["linear_iterations"] = report.linear_iterations;
  (*row)["contacts"] = report.contacts.size();
  (*row)["converged"] = report.converged;
  (*row)["bytes_per_particle"] = 1e6 * (ReadPeakMemory() - before) / particles;
  return seconds;
}

}  // namespace

void AddLargeBodies(const std::string& only, ordered_json* rows) {
  for (const Kind& kind : kKinds) {
    double first = 0;
    for (const int edge : kEdges) {
      const std::string name = absl::StrCat("large_", kind.name, "_", edge * edge * edge);
      if (name.find(only) == std::string::npos || (only.empty() && edge > kMaxQuickEdge)) continue;
      std::fprintf(stderr, "%s\n", name.c_str());
      ordered_json row{{"case", name}};
      const double seconds = RunCube(kind, edge, &row);
      // time grows with this power of the number of particles
      if (first > 0 && seconds > 0) {
        row["exponent_from_10648"] =
            std::log(seconds / first) / std::log(std::pow(edge / double{kEdges[0]}, 3));
      }
      if (edge == kEdges[0]) first = seconds;
      rows->push_back(row);
    }
  }
}

}  // namespace pliant::benchmarks
