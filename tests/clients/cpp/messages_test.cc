// Checks and messages of the client that need no server.

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "clients/cpp/command_check.h"
#include "clients/cpp/connection.h"
#include "clients/cpp/names.h"
#include "pliant/files.h"

namespace pliant {
namespace {

using testing::HasSubstr;

TEST(Versions, FitIfTheFirstNumbersAreEqualAndBeforeOneTheSecondOnesToo) {
  EXPECT_TRUE(CheckVersions("1.2.0", "1.7.3").ok());
  EXPECT_FALSE(CheckVersions("1.2.0", "2.2.0").ok());
  EXPECT_TRUE(CheckVersions("0.1.0", "0.1.9").ok());
  const absl::Status newer = CheckVersions("0.1.0", "0.2.0");
  EXPECT_TRUE(absl::IsFailedPrecondition(newer));
  EXPECT_THAT(std::string(newer.message()), HasSubstr("newer (0.2.0) than this client (0.1.0)"));
  EXPECT_THAT(std::string(CheckVersions("0.3.0", "0.2.0").message()), HasSubstr("older"));
  EXPECT_TRUE(CheckVersions("0.1.0", "built by hand").ok());
}

TEST(Names, AreListedTheMostSimilarFirst) {
  EXPECT_EQ(CalcEditDistance("elbow", "Elbow"), 0);
  EXPECT_EQ(CalcEditDistance("elbow", "elbo"), 1);
  EXPECT_EQ(ListNearest("elbwo", {"shoulder", "wrist", "elbow"}, 2), "elbow, wrist and 1 more");
  EXPECT_EQ(ListNearest("elbow", {}), "none");
}

TEST(Commands, AreCheckedBeforeTheyAreSent) {
  v1::CommandRequest command;
  EXPECT_THAT(std::string(CheckCommand(command).message()), HasSubstr("empty"));
  command.mutable_joint_targets()->add_joints("a");
  EXPECT_THAT(std::string(CheckCommand(command).message()), HasSubstr("0 numbers; expected 1"));
  command.mutable_joint_targets()->add_values(1);
  EXPECT_TRUE(CheckCommand(command).ok());
  command.mutable_spring()->add_anchor(0);
  command.mutable_spring()->set_stiffness(std::numeric_limits<double>::infinity());
  EXPECT_THAT(std::string(CheckCommand(command).message()), HasSubstr("spring.stiffness: inf"));
}

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(CalcSha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace pliant
