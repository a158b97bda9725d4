// The next state is a function of (Model, State, Inputs, h), bit for bit.

#include <set>

#include <gtest/gtest.h>

#include "physics/scene/scene.h"
#include "physics/world/world.h"
#include "tests/determinism/pinned_hashes.h"
#include "tests/determinism/scenes.h"
#include "tests/execute_on_threads.h"
#include "tests/state_numbers.h"

namespace pliant::physics {
namespace {

std::shared_ptr<const Model> LoadModel(const std::string& name) {
  const SceneResult result = LoadSceneYaml(DeterminismScenes().at(name), name);
  // the rings start overlapped, which gives a warning
  for (const SceneMessage& message : result.messages)
    if (message.error || name != "soft rings") ADD_FAILURE() << Format(message);
  return result.model;
}

void RunSteps(int steps, World* world) {
  for (int k = 0; k < steps; ++k) {
    const absl::Status status = world->Step();
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

std::string RunAndHash(const std::string& name, int steps) {
  World world(LoadModel(name));
  RunSteps(steps, &world);
  return HashState(world.state());
}

// Hash of the final state when run on a given number of threads.
std::string RunOnThreads(const std::string& name, int steps, int threads) {
  return ExecuteOnThreads(threads, [&] { return RunAndHash(name, steps); });
}

class Determinism : public ::testing::TestWithParam<PinnedHash> {
 protected:
  std::string name() const { return std::string(GetParam().scene); }
  int steps() const { return GetParam().steps; }
};

TEST_P(Determinism, TheSceneComesIntoContactAndMoves) {
  World world(LoadModel(name()));
  const std::string start = HashState(world.state());
  std::size_t contacts = 0;
  for (int k = 0; k < steps(); ++k) {
    ASSERT_TRUE(world.Step().ok());
    contacts += world.report().contacts.size();
  }
  EXPECT_GT(contacts, static_cast<std::size_t>(steps()));
  EXPECT_NE(HashState(world.state()), start);
}

TEST_P(Determinism, HashIsTheSameForOneTwoAndFiveThreads) {
  const std::string one = RunOnThreads(name(), steps(), 1);
  EXPECT_EQ(RunOnThreads(name(), steps(), 2), one);
  EXPECT_EQ(RunOnThreads(name(), steps(), 5), one);
}

TEST_P(Determinism, TwoRunsEndInTheSameBits) {
  EXPECT_EQ(RunAndHash(name(), steps()), RunAndHash(name(), steps()));
}

TEST_P(Determinism, ARunCutInTwoEndsInTheSameBits) {
  // the second half starts from the saved bytes alone
  World first(LoadModel(name()));
  RunSteps(steps() / 2, &first);
  World second(LoadModel(name()));
  ASSERT_TRUE(second.Restore(first.Save()).ok());
  EXPECT_EQ(HashState(second.state()), HashState(first.state()));
  RunSteps(steps() - steps() / 2, &second);
  EXPECT_EQ(HashState(second.state()), RunAndHash(name(), steps()));
}

TEST_P(Determinism, AWorkspaceThatSawAnotherStateChangesNothing) {
  World world(LoadModel(name()));
  RunSteps(steps(), &world);
  world.Reset();
  RunSteps(steps(), &world);
  EXPECT_EQ(HashState(world.state()), RunAndHash(name(), steps()));
}

TEST_P(Determinism, PinnedHashHolds) {
  const std::string hash = RunAndHash(name(), steps());
  EXPECT_EQ(hash, GetParam().hash)
      << "in pinned_hashes.h:\n    {\"" << name() << "\", " << steps() << ", \"" << hash << "\"},";
}

INSTANTIATE_TEST_SUITE_P(Scenes, Determinism, ::testing::ValuesIn(kPinnedHashes),
                         [](const auto& info) {
                           std::string name(info.param.scene);
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

TEST(StateHash, EveryBitOfTheStateFlipsIt) {
  World world(LoadModel("nonsmooth hand"));
  RunSteps(60, &world);
  State state = world.state();
  // check that optional parts of the state are present; add resting constraints by hand
  ASSERT_FALSE(state.contacts.empty());
  ASSERT_FALSE(state.constraints.empty());
  ASSERT_FALSE(state.controls.empty());
  state.resting_constraints.emplace_back();
  state.internals = {{0.5}};
  state.gains = {1, 2, 3};
  state.drives = {1};
  state.smooth = {2, 0.01, {3}, {4}, {{5, {0.1, 0.2, 0.3}}}};

  std::set<std::string> hashes = {HashState(state)};
  std::size_t flips = 0;
  StateVisitor::Visit(
      &state,
      [&](auto& number) {
        for (int bit = 0; bit < 8 * static_cast<int>(sizeof number); ++bit) {
          FlipBit(bit, &number);
          hashes.insert(HashState(state));
          FlipBit(bit, &number);
          ++flips;
        }
      },
      [](const auto&) {});
  // all hashes are distinct
  EXPECT_EQ(hashes.size(), 1 + flips);
}

TEST(StateHash, NumbersThatChangePlacesChangeIt) {
  State state;
  state.q = {1, 2};
  state.v = {3};
  const std::string hash = HashState(state);
  std::swap(state.q[0], state.q[1]);
  EXPECT_NE(HashState(state), hash);
  // one position fewer, one velocity more
  state.q = {1};
  state.v = {2, 3};
  EXPECT_NE(HashState(state), hash);
}

}  // namespace
}  // namespace pliant::physics
