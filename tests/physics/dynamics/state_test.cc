#include "physics/dynamics/state.h"

#include <gtest/gtest.h>

#include "tests/state_numbers.h"

namespace pliant::physics {
namespace {

State MakeState() {
  State state;
  state.time = 0.25;
  state.step = 25;
  state.q = {1, 2, 3};
  state.v = {-1, 0.5, 0};
  state.internals = {{0.5, -3}, {4}};
  state.contacts = {{7, {1, 2, 3}}, {9, {0, 0, 1}}};
  state.rest = {3, -1};
  state.resting_constraints.push_back({ConstraintSource::kActuator, 1, 4, 0.1, 0.2});
  state.resting_constraints.back().angular_W.z() = 1;
  state.constraints = {{{ConstraintSource::kLimit, 1, 2, 0}, 0.5},
                       {{ConstraintSource::kActuator, 1, 4, 1}, -0.25}};
  state.controls = {0.75, 0, -2};
  state.gains = {100, 10, 5};
  state.drives = {1, 0.5};
  state.smooth = {2, 0.01, {3, 4}, {-1}, {{5, {0.1, 0, -0.2}}}};
  return state;
}

const std::string kModel(32, 'a');

TEST(StateHash, EveryNumberOfTheStateChangesItByItsLowestBit) {
  State state = MakeState();
  const std::string hash = HashState(state);
  EXPECT_EQ(hash.size(), 32u);
  int numbers = 0;
  StateVisitor::Visit(
      &state,
      [&](auto& number) {
        FlipBit(0, &number);
        EXPECT_NE(HashState(state), hash) << "number " << numbers;
        FlipBit(0, &number);
        ++numbers;
      },
      [](const auto&) {});
  EXPECT_EQ(HashState(state), hash);
  // numbers in the parts that MakeState fills, in the order of State
  EXPECT_EQ(numbers, 1 + 1 + 3 + 3 + 3 + 2 * 4 + 2 + 17 + 2 * 5 + 3 + 3 + 2 + 9);
}

TEST(StateHash, EveryListOfTheStateChangesItByItsLength) {
  State state = MakeState();
  const std::string hash = HashState(state);
  int lists = 0;
  StateVisitor::Visit(
      &state, [](const auto&) {},
      [&](auto& list) {
        ASSERT_FALSE(list.empty()) << "MakeState fills every list; list " << lists;
        const auto kept = list.back();
        list.pop_back();
        EXPECT_NE(HashState(state), hash) << "list " << lists;
        list.push_back(kept);
        ++lists;
      });
  EXPECT_EQ(HashState(state), hash);
  EXPECT_EQ(lists, 9 + 3 + 3);
}

TEST(StateHash, TheSignOfZeroChangesIt) {
  State state = MakeState();
  const std::string hash = HashState(state);
  ASSERT_EQ(state.v[2], 0);
  state.v[2] = -0.0;
  EXPECT_NE(HashState(state), hash);
}

TEST(StateBytes, ComeBackBitForBit) {
  const absl::StatusOr<State> state = ParseState(SerializeState(MakeState(), kModel), kModel);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(ListNumbers(*state), ListNumbers(MakeState()));
}

// Each section that is omitted when empty is distinguished from the others.
TEST(StateBytes, AnySectionMayBeMissing) {
  for (int missing = 0; missing < 32; ++missing) {
    State state = MakeState();
    if (missing & 1) state.constraints.clear();
    if (missing & 2) state.internals.clear();
    if (missing & 4) state.gains.clear();
    if (missing & 8) state.drives.clear();
    if (missing & 16) state.smooth = {};
    const absl::StatusOr<State> parsed = ParseState(SerializeState(state, kModel), kModel);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(ListNumbers(*parsed), ListNumbers(state)) << missing;
  }
}

TEST(StateBytes, CutOrDamagedOrForeignBytesAreRefused) {
  const std::string bytes = SerializeState(MakeState(), kModel);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(ParseState(std::string_view(bytes).substr(0, n), kModel).ok()) << n;
    std::string damaged = bytes;
    damaged[n] ^= 4;
    EXPECT_FALSE(ParseState(damaged, kModel).ok()) << n;
  }
  EXPECT_NE(ParseState(bytes, std::string(32, 'b')).status().ToString().find("another model"),
            std::string::npos);
}

}  // namespace
}  // namespace pliant::physics
