#include "physics/dynamics/state.h"

#include <cstring>

#include <gtest/gtest.h>

namespace pliant::physics {
namespace {

State MakeState() {
  State state;
  state.time = 0.25;
  state.step = 25;
  state.q = {1, 2, 3};
  state.v = {-1, 0.5, 0};
  state.contacts = {{7, {1, 2, 3}}, {9, {0, 0, 1}}};
  state.rest = {3, -1};
  state.resting_constraints.push_back({ConstraintSource::kActuator, 1, 4, 0.1, 0.2});
  state.resting_constraints.back().angular_W.z() = 1;
  state.constraints = {{{ConstraintSource::kLimit, 1, 2, 0}, 0.5},
                       {{ConstraintSource::kActuator, 1, 4, 1}, -0.25}};
  return state;
}

const std::string kModel(32, 'a');

template <typename T>
void FlipLowestBit(T* value) {
  unsigned char byte;
  std::memcpy(&byte, value, 1);
  byte ^= 1;
  std::memcpy(value, &byte, 1);
}

TEST(StateHash, EveryPartOfTheStateChangesItByItsLowestBit) {
  const std::string hash = HashState(MakeState());
  EXPECT_EQ(hash.size(), 32u);
  const auto changed = [&](auto&& change) {
    State state = MakeState();
    change(&state);
    return HashState(state) != hash;
  };
  EXPECT_TRUE(changed([](State* s) { FlipLowestBit(&s->time); }));
  EXPECT_TRUE(changed([](State* s) { FlipLowestBit(&s->step); }));
  EXPECT_TRUE(changed([](State* s) { FlipLowestBit(&s->q[1]); }));
  EXPECT_TRUE(changed([](State* s) { s->v[2] = -0.0; }));
  EXPECT_TRUE(changed([](State* s) { FlipLowestBit(&s->contacts[1].key); }));
  EXPECT_TRUE(changed([](State* s) { FlipLowestBit(&s->contacts[0].impulse_W[2]); }));
  EXPECT_TRUE(changed([](State* s) { s->contacts.pop_back(); }));
  EXPECT_TRUE(changed([](State* s) { s->rest[1] = 0; }));
  EXPECT_TRUE(changed([](State* s) { FlipLowestBit(&s->resting_constraints[0].impulse); }));
  EXPECT_TRUE(changed([](State* s) { s->resting_constraints[0].index = 5; }));
  EXPECT_TRUE(changed([](State* s) { s->resting_constraints[0].angular_W.z() = 2; }));
  EXPECT_TRUE(changed([](State* s) { FlipLowestBit(&s->constraints[1].impulse); }));
  EXPECT_TRUE(
      changed([](State* s) { s->constraints[0].key.source = ConstraintSource::kActuator; }));
  EXPECT_TRUE(changed([](State* s) { FlipLowestBit(&s->constraints[1].key.part); }));
  EXPECT_TRUE(changed([](State* s) { s->constraints.clear(); }));
}

TEST(StateBytes, ComeBackBitForBit) {
  const absl::StatusOr<State> state = ParseState(SerializeState(MakeState(), kModel), kModel);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(HashState(*state), HashState(MakeState()));
  ASSERT_EQ(state->constraints.size(), 2u);
  EXPECT_EQ(state->constraints[1].key, MakeState().constraints[1].key);
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
