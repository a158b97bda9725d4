#include "server/control/lease_table.h"

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

using std::chrono::milliseconds;

const SteadyTime kStart = SteadyTime() + std::chrono::hours(1);

TEST(LeaseTable, OneTargetHasOneHolder) {
  LeaseTable table;
  const auto alice = table.Acquire(3, "arm", "alice", false, "", kStart);
  ASSERT_TRUE(alice.ok());
  EXPECT_EQ(table.Acquire(3, "arm", "bob", false, "", kStart).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(table.Acquire(4, "hand", "bob", false, "", kStart).ok());
  EXPECT_EQ(table.leases().at(3).client, "alice");
}

TEST(LeaseTable, TakeoverEndsTheOldLeaseAndSaysByWhom) {
  LeaseTable table;
  const auto alice = table.Acquire(3, "arm", "alice", false, "", kStart);
  const auto bob = table.Acquire(3, "arm", "bob", true, "", kStart);
  ASSERT_TRUE(bob.ok());
  const auto used = table.Use(alice->id, 1, kStart);
  EXPECT_EQ(used.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(used.status().ToString().find("taken over by bob"), std::string::npos);
  EXPECT_TRUE(table.Use(bob->id, 1, kStart).ok());
}

TEST(LeaseTable, LapsesASecondAfterItsLastUse) {
  LeaseTable table;
  const auto lease = table.Acquire(3, "arm", "alice", false, "", kStart);
  EXPECT_TRUE(table.Use(lease->id, 1, kStart + milliseconds(900)).ok());
  EXPECT_TRUE(table.Acquire(3, "arm", "alice", false, lease->id, kStart + milliseconds(1800)).ok());
  EXPECT_FALSE(table.Expire(kStart + milliseconds(2799)));
  EXPECT_TRUE(table.Expire(kStart + milliseconds(2800)));
  EXPECT_FALSE(table.Use(lease->id, 2, kStart + milliseconds(2800)).ok());
  EXPECT_TRUE(table.Acquire(3, "arm", "bob", false, "", kStart + milliseconds(2800)).ok());
}

TEST(LeaseTable, LongNameOfAClientIsCutBetweenCharacters) {
  LeaseTable table;
  std::string name = "x";
  while (name.size() < 200) name += "é";
  const auto lease = table.Acquire(3, "arm", name, false, "", kStart);
  EXPECT_EQ(lease->client, name.substr(0, 63));
}

TEST(LeaseTable, SequencesRise) {
  LeaseTable table;
  const auto lease = table.Acquire(3, "arm", "alice", false, "", kStart);
  EXPECT_EQ(table.Use(lease->id, 0, kStart).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(table.Use(lease->id, 7, kStart).ok());
  EXPECT_EQ(table.Use(lease->id, 7, kStart).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(table.Use(lease->id, 6, kStart).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(table.Use(lease->id, 8, kStart).ok());
}

}  // namespace
}  // namespace pliant::server
