#include "server/control/lease_table.h"

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

using std::chrono::milliseconds;

const SteadyTime kStart = SteadyTime() + std::chrono::hours(1);

// A robot and its two actuator groups.
const LeaseTable::Target kArm{3, "arm", {0}}, kHand{4, "hand", {1}}, kRobot{5, "robot", {0, 1}};

TEST(LeaseTable, OneTargetHasOneHolder) {
  LeaseTable table;
  const auto alice = table.Acquire(kArm, "alice", false, 0, "", kStart);
  ASSERT_TRUE(alice.ok());
  EXPECT_EQ(table.Acquire(kArm, "bob", false, 0, "", kStart).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(table.Acquire(kHand, "bob", false, 0, "", kStart).ok());
  EXPECT_EQ(table.leases().at(3).client, "alice");
}

TEST(LeaseTable, TakeoverEndsTheOldLeaseAndSaysByWhom) {
  LeaseTable table;
  const auto alice = table.Acquire(kArm, "alice", false, 0, "", kStart);
  const auto bob = table.Acquire(kArm, "bob", true, 0, "", kStart);
  ASSERT_TRUE(bob.ok());
  const auto used = table.Use(alice->id, 1, kStart);
  EXPECT_EQ(used.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(used.status().ToString().find("taken over by bob"), std::string::npos);
  EXPECT_TRUE(table.Use(bob->id, 1, kStart).ok());
}

TEST(LeaseTable, TargetsThatShareAUnitExcludeEachOther) {
  LeaseTable table;
  const auto arm = table.Acquire(kArm, "alice", false, 0, "", kStart);
  ASSERT_TRUE(table.Acquire(kHand, "bob", false, 0, "", kStart).ok());
  const auto refused = table.Acquire(kRobot, "carol", false, 0, "", kStart);
  EXPECT_NE(refused.status().ToString().find("\"arm\" is driven by alice"), std::string::npos)
      << refused.status();

  // a takeover ends both
  const auto robot = table.Acquire(kRobot, "carol", true, 0, "", kStart);
  ASSERT_TRUE(robot.ok());
  EXPECT_EQ(table.leases().size(), 1u);
  EXPECT_FALSE(table.Use(arm->id, 1, kStart).ok());
  EXPECT_EQ(table.FindHolder(kHand.units)->client, "carol");
}

TEST(LeaseTable, NobodyTakesOverFromAHigherPriority) {
  LeaseTable table;
  ASSERT_TRUE(table.Acquire(kArm, "alice", false, 5, "", kStart).ok());
  const auto refused = table.Acquire(kRobot, "bob", true, 4, "", kStart);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.status().ToString().find("priority 5, above the requested 4"),
            std::string::npos)
      << refused.status();
  EXPECT_EQ(table.FindHolder(kArm.units)->client, "alice");

  // an equal or higher priority may, but only explicitly
  EXPECT_FALSE(table.Acquire(kArm, "carol", false, 9, "", kStart).ok());
  EXPECT_TRUE(table.Acquire(kArm, "carol", true, 5, "", kStart).ok());
}

// Two operators take a target from each other again and again: there is one holder at any time, the
// message names it to the other, and nothing accumulates.
TEST(LeaseTable, TenThousandTakeoversLeaveOneHolderAndABoundedHistory) {
  LeaseTable table;
  std::string held = table.Acquire(kArm, "alice", false, 0, "", kStart)->id;
  const std::string first = held;
  for (int i = 0; i < 10000; ++i) {
    const char* client = i % 2 == 0 ? "bob" : "alice";
    const SteadyTime now = kStart + milliseconds(i);
    const auto lease = table.Acquire(kArm, client, true, 0, "", now);
    ASSERT_TRUE(lease.ok());
    const absl::Status lost = table.Use(held, 1, now).status();
    ASSERT_NE(lost.message().find(std::string("taken over by ") + client), std::string::npos);
    ASSERT_TRUE(table.Use(lease->id, 1, now).ok());
    ASSERT_EQ(table.leases().size(), 1u);
    held = lease->id;
  }
  // the oldest are forgotten
  const absl::Status lost = table.Use(first, 2, kStart + milliseconds(10000)).status();
  EXPECT_NE(lost.message().find("there is no lease"), std::string::npos) << lost;
}

TEST(LeaseTable, LapsesASecondAfterItsLastUse) {
  LeaseTable table;
  const auto lease = table.Acquire(kArm, "alice", false, 0, "", kStart);
  EXPECT_TRUE(table.Use(lease->id, 1, kStart + milliseconds(900)).ok());
  EXPECT_TRUE(table.Acquire(kArm, "alice", false, 0, lease->id, kStart + milliseconds(1800)).ok());
  EXPECT_FALSE(table.Expire(kStart + milliseconds(2799)));
  EXPECT_TRUE(table.Expire(kStart + milliseconds(2800)));
  EXPECT_FALSE(table.Use(lease->id, 2, kStart + milliseconds(2800)).ok());
  EXPECT_TRUE(table.Acquire(kArm, "bob", false, 0, "", kStart + milliseconds(2800)).ok());
}

TEST(LeaseTable, LongNameOfAClientIsCutBetweenCharacters) {
  LeaseTable table;
  std::string name = "x";
  while (name.size() < 200) name += "é";
  const auto lease = table.Acquire(kArm, name, false, 0, "", kStart);
  EXPECT_EQ(lease->client, name.substr(0, 63));
}

TEST(LeaseTable, SequencesRise) {
  LeaseTable table;
  const auto lease = table.Acquire(kArm, "alice", false, 0, "", kStart);
  EXPECT_EQ(table.Use(lease->id, 0, kStart).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(table.Use(lease->id, 7, kStart).ok());
  EXPECT_EQ(table.Use(lease->id, 7, kStart).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(table.Use(lease->id, 6, kStart).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(table.Use(lease->id, 8, kStart).ok());
}

}  // namespace
}  // namespace pliant::server
