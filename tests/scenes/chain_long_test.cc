#include "tests/scenes/chain_links.h"

namespace pliant::physics {
namespace {

// han2023 §VII-F runs 60 s.
TEST(ChainLong, SurvivesAMinute) {
  World world = LoadShipped("chain", {"sleeping=false"});
  RunUntil(60, &world);
  ExpectLinked(world, 10);
  EXPECT_NEAR(ReadNumber(world, "volume_ratio"), 1, 0.1);
}

}  // namespace
}  // namespace pliant::physics
