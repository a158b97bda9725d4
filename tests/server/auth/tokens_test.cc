#include "server/auth/tokens.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/server/auth/temporary_file.h"

namespace pliant::server {
namespace {

using testing::HasSubstr;
using Tokens = FilesTest;

constexpr char kHash[] = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

std::string ErrorOf(const std::string& path) {
  return std::string(ReadTokens(path).status().message());
}

TEST_F(Tokens, HashIsSha256) {
  // echo -n test | sha256sum
  EXPECT_EQ(HashToken("test"), kHash);
}

TEST_F(Tokens, AddedTokenIsFoundByItsHashAndNotInTheFile) {
  const std::string path = Path("tokens.yaml");
  const auto first = AddToken(path, {"alice", "operator", "team=soft", "2030-01-31T12:00:00Z"});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = AddToken(path, {"bob", "viewer", "", ""});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(*first, *second);

  const auto entries = ReadTokens(path);
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ(entries->front().name, "alice");
  EXPECT_EQ(entries->front().sha256, HashToken(*first));
  EXPECT_EQ(entries->front().grant.role, Role::kOperator);
  EXPECT_EQ(entries->front().grant.worlds, *LabelSelector::Parse("team=soft"));
  EXPECT_EQ(std::chrono::system_clock::to_time_t(entries->front().expires), 1896091200);
  EXPECT_EQ(entries->back().sha256, HashToken(*second));
  EXPECT_EQ(entries->back().expires, std::chrono::system_clock::time_point::max());

  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text.find(*first), std::string::npos);
  // only the owner may read the tokens
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(Tokens, FileThatEndsWithinALineIsAddedTo) {
  const std::string path =
      Write("t.yaml", std::string("- {name: old, sha256: ") + kHash + ", role: viewer}");
  ASSERT_TRUE(AddToken(path, {"new", "viewer", "", ""}).ok());
  EXPECT_EQ(ReadTokens(path)->size(), 2u);
}

TEST_F(Tokens, WrongEntryIsRefusedWithFileLineAndField) {
  const std::string good = std::string("- {name: a, sha256: ") + kHash + ", role: viewer";
  const auto error = [&](const std::string& text) { return ErrorOf(Write("t.yaml", text)); };
  EXPECT_THAT(error(good + "}\n" + good + ", role: boss}\n"), HasSubstr("t.yaml:2:"));
  EXPECT_THAT(error(std::string("- {name: a, sha256: ") + kHash + ", role: boss}"),
              HasSubstr("role: \"boss\" is not a role; expected viewer, operator or admin"));
  EXPECT_THAT(error("- {name: a, sha256: abc, role: viewer}"), HasSubstr("sha256: "));
  EXPECT_THAT(error(std::string("- {sha256: ") + kHash + ", role: viewer}"), HasSubstr("name: "));
  EXPECT_THAT(error(good + ", expires: tomorrow}"), HasSubstr("expires: \"tomorrow\""));
  EXPECT_THAT(error(good + ", worlds: '=x'}"), HasSubstr("worlds: \"=x\""));
  EXPECT_THAT(error(good + ", world: x}"), HasSubstr("world: not allowed"));
  EXPECT_THAT(error("name: a"), HasSubstr("t.yaml:1: expected a list"));
  EXPECT_THAT(error("- {name: [}"), HasSubstr("t.yaml:1:"));
  EXPECT_THAT(ErrorOf(Path("missing.yaml")), HasSubstr("missing.yaml"));
}

TEST_F(Tokens, WrongNewEntryLeavesTheFileAsItWas) {
  const std::string path = Path("tokens.yaml");
  EXPECT_FALSE(AddToken(path, {"a", "boss", "", ""}).ok());
  EXPECT_FALSE(AddToken(path, {"a b", "viewer", "", ""}).ok());
  EXPECT_FALSE(AddToken(path, {"a", "viewer", "", "soon"}).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  Write("tokens.yaml", "not: a list\n");
  EXPECT_FALSE(AddToken(path, {"a", "viewer", "", ""}).ok());
  EXPECT_EQ(std::filesystem::file_size(path), 12u);
}

TEST_F(Tokens, HeaderMustBeABearerToken) {
  EXPECT_EQ(ReadBearer("Bearer abc"), "abc");
  EXPECT_EQ(ReadBearer("bearer  abc "), "abc");
  for (const char* header : {"", "abc", "Basic abc", "Bearer", "Bearer "})
    EXPECT_EQ(ReadBearer(header), "") << header;
}

}  // namespace
}  // namespace pliant::server
