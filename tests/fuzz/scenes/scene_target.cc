// Reads scenes as people write them. Edge lengths and cell sizes are multiplied by four, so that
// the shipped scenes, which are the corpus, have few tetrahedra and particles.
//
// With libFuzzer: build/libfuzzer/bin/scene_fuzz FOLDER, a folder of scenes. Otherwise
// tests/fuzz/mutations.cc calls it. PLIANT_FUZZ_STEPS=N makes N steps of each accepted scene.

#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "physics/dynamics/model.h"
#include "physics/scene/scene.h"
#include "physics/world/world.h"
#include "tests/fuzz/mutator.h"

namespace pliant::fuzz {
namespace {

void Demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Returns the scene with the lengths after `key` multiplied by four.
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

physics::SceneOptions ChooseOptions(Random* random) {
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
  return options;
}

// A step that fails gives a message; one that succeeds leaves finite positions.
void MakeSteps(const physics::SceneResult& scene, int steps) {
  physics::World world(scene.model);
  for (int i = 0; i < steps; ++i) {
    const absl::Status status = world.Step();
    Demand(status.ok() || !status.message().empty(), "a step fails without a word");
    if (!status.ok()) break;
  }
  for (const double x : world.state().q)
    Demand(std::isfinite(x), "a step leads to a position that is not finite");
}

void ReadScene(const std::string& text) {
  Random random(HashInput(text));
  const std::string coarse = Coarsen(Coarsen(text, "edge_length: "), "cell_size: ");
  const physics::SceneResult result =
      physics::LoadSceneYaml(coarse, "fuzz.yaml", ChooseOptions(&random));

  // a scene without a model reports why; one with a model has no errors and a finite initial state
  bool is_refused = false;
  for (const physics::SceneMessage& message : result.messages) {
    is_refused |= message.error;
    Demand(!message.message.empty() && !Format(message).empty(), "a message is empty");
  }
  Demand(is_refused != result.ok(), "there is a model in spite of errors, or none without");
  if (!result.ok()) return;
  ++num_accepted;
  const physics::State state = physics::MakeInitialState(*result.model);
  for (const double x : state.q) Demand(std::abs(x) < 1e9, "a position at the start is not finite");
  for (const double x : state.v)
    Demand(std::abs(x) < 1e15, "a velocity at the start is not finite");
  if (const char* steps = std::getenv("PLIANT_FUZZ_STEPS"); steps != nullptr)
    MakeSteps(result, std::atoi(steps));
}

}  // namespace
}  // namespace pliant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pliant::fuzz::ReadScene(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
