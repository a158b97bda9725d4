// Cost of encoding a frame on one thread.

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>

#include "benchmarks/measure.h"
#include "benchmarks/server/cases.h"
#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"
#include "server/stream/frame_encoder.h"

namespace pliant::benchmarks {
namespace {

constexpr int kRepeats = 20;
constexpr int kSteps = 5;

std::shared_ptr<const server::Published> Publish(const physics::World& world) {
  auto published = std::make_shared<server::Published>();
  published->snapshot = world.TakeSnapshot();
  published->version = 1;
  return published;
}

}  // namespace

void RunEncoding(Rows* rows) {
  const physics::SceneResult scene = physics::LoadSceneYaml(SoftBallsScene(), "balls.yaml");
  if (!scene.ok()) std::exit(1);
  physics::World world(scene.model);
  double step = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kSteps; ++i) {
    const double start = ProcessNow();
    if (!world.Step().ok()) std::exit(1);
    step = std::min(step, ProcessNow() - start);  // the first steps also analyse and allocate
  }
  const auto published = Publish(world);
  const auto layout = std::make_shared<const server::FrameLayout>(*scene.model);

  // the frame of floats is encoded first and computes the strain, which the integer frame reuses
  server::FrameChoice integers{{}, {v1::FIELD_MEASURE_VON_MISES_STRAIN}};
  server::FrameChoice floats = integers;
  floats.precision = v1::PRECISION_FLOAT32;
  double computed = std::numeric_limits<double>::infinity(), given = computed;
  std::size_t bytes = 0;
  for (int i = 0; i < kRepeats; ++i) {
    server::EncodedState state(published, layout, nullptr, nullptr);
    const double start = ThreadNow();
    state.Encode(floats);
    const double middle = ThreadNow();
    bytes = state.Encode(integers)->size();
    computed = std::min(computed, middle - start);
    given = std::min(given, ThreadNow() - middle);
  }
  std::size_t vertices = 0;
  for (const physics::Body& body : scene.model->bodies) vertices += body.surface.vertices.size();
  rows->push_back({{"case", "encoding"},
                   {"vertices", vertices},
                   {"frame_kb", 1e-3 * static_cast<double>(bytes)},
                   {"encode_ms", 1e3 * given},
                   {"step_cpu_ms", 1e3 * step},
                   {"compute_and_encode_ms", 1e3 * computed},
                   {"field_share_of_step", (computed - given) / step},
                   {"goal", {{"encode_ms", 0.3}, {"field_share_of_step", 0.1}}}});
}

}  // namespace pliant::benchmarks
