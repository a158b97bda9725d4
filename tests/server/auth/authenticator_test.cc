#include "server/auth/authenticator.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "tests/server/auth/jwt_maker.h"
#include "tests/server/auth/temporary_file.h"

namespace pliant::server {
namespace {

using Time = std::chrono::system_clock::time_point;

class Authentication : public FilesTest {
 protected:
  std::string Entry(const std::string& token, const std::string& role,
                    const std::string& rest = "") {
    return absl::StrCat("- {name: alice, sha256: ", HashToken(token), ", role: ", role, rest,
                        "}\n");
  }
  std::shared_ptr<Authenticator> Open(const JwtVerifier::Options& jwt = {}) {
    auto opened = Authenticator::Open({Path("tokens.yaml"), jwt, [this] { return now_; }});
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }

  Time now_ = Time(std::chrono::seconds(1'500'000'000));
};

TEST_F(Authentication, UnknownAndMissingTokensAreUnauthenticated) {
  Write("tokens.yaml", Entry("secret", "viewer"));
  const auto authenticator = Open();
  EXPECT_TRUE(authenticator->Authenticate("secret").ok());
  for (const char* token : {"", "Secret", "secret ", "x"})
    EXPECT_TRUE(absl::IsUnauthenticated(authenticator->Authenticate(token).status())) << token;
  // the hash is no token
  EXPECT_FALSE(authenticator->Authenticate(HashToken("secret")).ok());
}

TEST_F(Authentication, EntriesOfOneTokenAddUp) {
  Write("tokens.yaml",
        Entry("secret", "viewer") + Entry("secret", "operator", ", worlds: team=soft"));
  const auto identity = Open()->Authenticate("secret");
  ASSERT_TRUE(identity.ok());
  EXPECT_TRUE(identity->Has(Role::kViewer, {}));
  EXPECT_FALSE(identity->Has(Role::kOperator, {}));
  EXPECT_TRUE(identity->Has(Role::kOperator, {{"team", "soft"}}));
  EXPECT_FALSE(identity->Has(Role::kAdmin, {{"team", "soft"}}));
  EXPECT_TRUE(identity->HasEverywhere(Role::kViewer));
  EXPECT_FALSE(identity->HasEverywhere(Role::kOperator));
  EXPECT_EQ(identity->HighestRole(), Role::kOperator);
}

TEST_F(Authentication, TokenExpires) {
  Write("tokens.yaml", Entry("secret", "viewer", ", expires: \"2017-07-14T02:40:10Z\""));
  const auto authenticator = Open();
  now_ += std::chrono::seconds(9);
  const auto identity = authenticator->Authenticate("secret");
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_TRUE(authenticator->IsCurrent(*identity));
  now_ += std::chrono::seconds(1);
  EXPECT_FALSE(authenticator->IsCurrent(*identity));
  EXPECT_NE(authenticator->Authenticate("secret").status().message().find("expired"),
            std::string::npos);
}

TEST_F(Authentication, ReloadWithdrawsChangesAndAddsTokens) {
  Write("tokens.yaml",
        Entry("gone", "viewer") + Entry("changed", "admin") + Entry("same", "admin"));
  const auto authenticator = Open();
  const auto gone = authenticator->Authenticate("gone");
  const auto changed = authenticator->Authenticate("changed");
  const auto same = authenticator->Authenticate("same");
  Write("tokens.yaml",
        Entry("changed", "viewer") + Entry("new", "viewer") + Entry("same", "admin"));
  EXPECT_FALSE(authenticator->Authenticate("new").ok());
  ASSERT_TRUE(authenticator->Reload().ok());
  EXPECT_TRUE(authenticator->Authenticate("new").ok());
  EXPECT_FALSE(authenticator->Authenticate("gone").ok());
  EXPECT_FALSE(authenticator->IsCurrent(*gone));
  EXPECT_FALSE(authenticator->IsCurrent(*changed));
  EXPECT_TRUE(authenticator->IsCurrent(*same));
}

TEST_F(Authentication, BrokenFileLeavesTheTokensAsTheyWere) {
  Write("tokens.yaml", Entry("secret", "viewer"));
  const auto authenticator = Open();
  const auto identity = authenticator->Authenticate("secret");
  Write("tokens.yaml", "- {name: alice");
  EXPECT_FALSE(authenticator->Reload().ok());
  EXPECT_TRUE(authenticator->Authenticate("secret").ok());
  EXPECT_TRUE(authenticator->IsCurrent(*identity));
}

TEST_F(Authentication, JwtsAndTokensOfTheFileWorkSideBySide) {
  const JwtMaker maker("EdDSA");
  Write("tokens.yaml", Entry("secret", "viewer"));
  const auto authenticator = Open({Write("keys.pem", maker.PublicKey()), "lab", ""});
  const std::string jwt =
      maker.Make(R"({"sub":"bob","role":"admin","aud":"lab","exp":1500000100})");
  EXPECT_EQ(authenticator->Authenticate("secret")->name, "alice");
  const auto bob = authenticator->Authenticate(jwt);
  ASSERT_TRUE(bob.ok()) << bob.status();
  EXPECT_EQ(bob->name, "bob");
  EXPECT_EQ(authenticator->Authenticate(jwt)->expires, bob->expires);

  // a token that was verified before expires too
  now_ += std::chrono::seconds(200);
  EXPECT_FALSE(authenticator->IsCurrent(*bob));
  EXPECT_TRUE(absl::IsUnauthenticated(authenticator->Authenticate(jwt).status()));
}

}  // namespace
}  // namespace pliant::server
