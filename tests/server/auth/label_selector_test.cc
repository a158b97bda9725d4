#include "server/auth/label_selector.h"

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

using Labels = std::map<std::string, std::string>;

bool Chooses(const std::string& text, const Labels& labels) {
  const auto selector = LabelSelector::Parse(text);
  EXPECT_TRUE(selector.ok()) << text << selector.status();
  return selector->Matches(labels);
}

TEST(LabelSelector, AllOfItsTermsMustHold) {
  const Labels labels = {{"team", "soft"}, {"stage", "test"}};
  for (const char* text : {"", "  ", "team=soft", "team = soft , stage=test", "team", "!robot",
                           "stage!=live", "robot!=arm", "team,stage!=live,!robot"})
    EXPECT_TRUE(Chooses(text, labels)) << text;
  for (const char* text :
       {"team=rigid", "robot", "!team", "team!=soft", "team=soft,stage=live", "team=", "Team=soft"})
    EXPECT_FALSE(Chooses(text, labels)) << text;
}

TEST(LabelSelector, OnlyTheEmptyOneChoosesEveryWorld) {
  EXPECT_TRUE(LabelSelector::Parse("")->matches_all());
  EXPECT_FALSE(LabelSelector::Parse("!team")->matches_all());
}

TEST(LabelSelector, UnreadableTermIsNamed) {
  for (const char* text : {"=soft", ",", "team=soft,", "!", "a b", "!=x", "!!team"}) {
    const auto selector = LabelSelector::Parse(text);
    EXPECT_TRUE(absl::IsInvalidArgument(selector.status())) << text;
  }
  EXPECT_NE(LabelSelector::Parse("team=soft,=x").status().message().find("\"=x\""),
            std::string::npos);
}

}  // namespace
}  // namespace pliant::server
