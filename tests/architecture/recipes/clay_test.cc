// docs/extending.md, "A body": built with docs/examples/clay_body.cc and its line in the registry,
// and nothing else changed. The body's velocities live on a grid that is another in every step, it
// has internals, points that touch and a field.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "physics/bodies/body_kind.h"
#include "physics/scene/scene.h"
#include "physics/stepping/integrators/theta_method.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"
#include "pliant/v1/stream.pb.h"
#include "server/run/recording/field_series.h"
#include "server/stream/frame_encoder.h"
#include "server/stream/messages.h"
#include "tests/execute_on_threads.h"

namespace pliant {
namespace {

using physics::State;
using physics::World;

// A lump that falls on a slab beside a free box.
std::string ClayScene(const std::string& method) {
  return R"(
time_step: 0.002
method: {)" +
         method + R"(}
bodies:
  - name: slab
    rigid: {motion: FIXED, shapes: [{box: {size: [1, 1, 0.1]}, pose: {position: [0, 0, -0.05]}}]}
  - name: lump
    custom:
      kind: CLAY
      mesh: {box: {size: [0.12, 0.12, 0.12]}, edge_length: 0.03}
      pose: {position: [0, 0, 0.2]}
      density: 1500
      parameters: {cell_size: 0.04, bulk_modulus: 2.0e4, yield: 0.02}
  - name: cube
    rigid:
      motion: FREE
      density: 800
      pose: {position: [0.01, 0, 0.36]}
      shapes: [{box: {size: [0.08, 0.08, 0.08]}}]
probes:
  - {name: center, position: {body: lump}}
  - {name: volume, volume: {body: lump}}
  - {name: smallest, field: {body: lump, measure: VOLUME_RATIO, reduce: MIN}}
  - {name: force, contact_force: {body: lump, with: slab}}
  - {name: energy, energy: {kind: KINETIC, body: lump}}
)";
}

World LoadClay(const std::string& method = "convex: {}") {
  physics::SceneResult scene = physics::LoadSceneYaml(ClayScene(method), "clay.yaml");
  EXPECT_TRUE(scene.ok()) << (scene.messages.empty() ? "" : scene.messages[0].message);
  return World(scene.model);
}

double Probe(const World& world, const std::string& name, int component = 0) {
  for (const physics::Probe& probe : world.model().probes) {
    if (probe.name != name) continue;
    return physics::SampleProbe(world.model(), probe, world.state(), world.report(),
                                world.model().time_step)
        .numbers[component];
  }
  ADD_FAILURE() << name;
  return 0;
}

void StepTo(int step, World* world) {
  while (world->state().step < step) {
    const absl::Status status = world->Step();
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(world->report().converged) << world->state().step;
  }
}

class Clay : public ::testing::TestWithParam<const char*> {};

TEST_P(Clay, FallsFreelyAndThenLiesUnderABoxThatPressesItTogether) {
  World world = LoadClay(GetParam());
  const double top = Probe(world, "center", 2), volume = Probe(world, "volume");
  StepTo(50, &world);
  // implicit Euler falls by ½ g t (t + h)
  EXPECT_NEAR(Probe(world, "center", 2), top - 0.5 * 9.81 * 0.1 * 0.102, 1e-12);
  StepTo(500, &world);
  // weight of 0.12³ · 1500 + 0.08³ · 800 kg on the slab, within what still moves
  EXPECT_NEAR(-Probe(world, "force", 2), -9.81 * (2.592 + 0.4096), 0.1 * 29.4);
  EXPECT_GT(Probe(world, "center", 2), 0.01);
  EXPECT_LT(Probe(world, "volume"), volume);
  EXPECT_LT(Probe(world, "smallest"), 0.98);  // beyond the yield
  EXPECT_LT(Probe(world, "energy"), 0.01 * 2.592 * 9.81 * 0.14);
}

INSTANTIATE_TEST_SUITE_P(Methods, Clay, ::testing::Values("convex: {}", "nonsmooth: {}"));

TEST(ClayBody, ItsVelocitySpaceChangesWhileItMoves) {
  const World world = LoadClay();
  const physics::DynamicsBlock& block = *world.model().blocks[0];
  State state = world.state();
  const std::unique_ptr<physics::BlockStep> step = block.NewStep();
  const auto count = [&] {
    EXPECT_TRUE(step->Pose(physics::ThetaMethod(0.01), world.model().StateOf(state, 0), {}).ok());
    return step->space().num_velocities();
  };
  const int before = count();
  // half as large again, its vertices lie in more cells
  for (double& q : state.q) q *= 1.5;
  EXPECT_GT(count(), before);
  EXPECT_NE(count(), block.num_velocities());
}

TEST(ClayBody, IsTheSameBitsForOneAndTwoThreadsAndAcrossACheckpoint) {
  const auto run = [](int threads) {
    return ExecuteOnThreads(threads, [] {
      World world = LoadClay();
      StepTo(150, &world);
      return HashState(world.state());
    });
  };
  const std::string hash = run(1);
  EXPECT_EQ(run(2), hash);

  World whole = LoadClay();
  StepTo(110, &whole);  // it has touched, and its internals have changed
  EXPECT_LT(*std::ranges::min_element(whole.state().internals[0]), 1);
  World fork = LoadClay();
  const absl::Status restored = fork.Restore(whole.Save());
  ASSERT_TRUE(restored.ok()) << restored;
  EXPECT_EQ(HashState(fork.state()), HashState(whole.state()));
  StepTo(150, &whole);
  StepTo(150, &fork);
  EXPECT_EQ(HashState(fork.state()), HashState(whole.state()));
  EXPECT_EQ(HashState(whole.state()), hash);
}

TEST(ClayBody, TouchesByItsPoints) {
  World world = LoadClay();
  StepTo(500, &world);
  const double radius = 0.01;  // a quarter of a cell
  double lowest = 1;
  for (std::size_t i = 2; i < world.model().Positions(world.state(), 0).size(); i += 3)
    lowest = std::min(lowest, world.model().Positions(world.state(), 0)[i]);
  EXPECT_NEAR(lowest, radius, 1e-4);
  int count = 0;
  for (const physics::ContactForce& contact : world.report().contacts) {
    if (contact.nodes_b.empty()) continue;
    // a point is one node, which moves with the eight grid nodes around it
    EXPECT_EQ(contact.nodes_b.size(), 1);
    ++count;
  }
  EXPECT_GE(count, 9);
}

TEST(ClayBody, InternalsAreInTheHash) {
  World world = LoadClay();
  State state = world.state();
  const std::string hash = HashState(state);
  state.internals[0][3] -= 1e-16;
  EXPECT_NE(HashState(state), hash);
}

TEST(ClayBody, IsDescribedStreamedAndExported) {
  World world = LoadClay();
  StepTo(120, &world);
  const pliant::v1::WorldDescription description = server::DescribeModel("w", world.model());
  ASSERT_EQ(description.deformables_size(), 1);
  EXPECT_EQ(description.deformables(0).name(), "lump");

  const auto published = std::make_shared<server::Published>();
  published->snapshot = world.TakeSnapshot();
  server::FrameChoice choice;
  choice.fields = {pliant::v1::FIELD_MEASURE_VOLUME_RATIO};
  pliant::v1::Frame frame;
  ASSERT_TRUE(frame.ParseFromString(*server::EncodeFrame(published, choice)));
  ASSERT_EQ(frame.deformables_size(), 1);
  const std::size_t vertices = world.model().bodies[1].surface.vertices.size();
  EXPECT_EQ(frame.deformables(0).positions().size(), 6 * vertices);
  ASSERT_EQ(frame.fields_size(), 1);
  EXPECT_EQ(frame.fields(0).values().size(), 2 * vertices);

  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "pliant_clay_fields";
  std::filesystem::create_directories(folder / "fields");
  server::FieldSeries series(world, folder.string(), 0);
  const absl::Status recorded = series.Record();
  ASSERT_TRUE(recorded.ok()) << recorded;
  ASSERT_TRUE(series.Finish().ok());
  EXPECT_TRUE(std::filesystem::exists(folder / "fields.pvd"));
  std::filesystem::remove_all(folder);
}

TEST(ClayBody, WrongParametersAreNamedWithWhatIsExpected) {
  std::string yaml = ClayScene("convex: {}");
  yaml.replace(yaml.find("yield: 0.02"), 11, "yield: 2.00");
  const physics::SceneResult scene = physics::LoadSceneYaml(yaml, "clay.yaml");
  ASSERT_FALSE(scene.ok());
  EXPECT_NE(scene.messages[0].message.find("from 0 to 1"), std::string::npos);
}

}  // namespace
}  // namespace pliant
