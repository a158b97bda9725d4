#include "server/auth/jwt.h"

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/server/auth/jwt_maker.h"
#include "tests/server/auth/temporary_file.h"

namespace pliant::server {
namespace {

using testing::HasSubstr;

constexpr char kClaims[] =
    R"({"sub":"alice","role":"operator","worlds":"team=soft","aud":"lab","exp":2000,"nbf":1000})";

std::chrono::system_clock::time_point At(int seconds) {
  return std::chrono::system_clock::time_point(std::chrono::seconds(seconds));
}

class Jwt : public FilesTest {
 protected:
  JwtVerifier Open(const std::string& pem, const std::string& issuer = "") {
    auto verifier = JwtVerifier::Open({Write("keys.pem", pem), "lab", issuer});
    EXPECT_TRUE(verifier.ok()) << verifier.status();
    return *std::move(verifier);
  }
};

TEST_F(Jwt, EachAlgorithmIsVerifiedByItsKeyAmongOthers) {
  const JwtMaker rsa("RS256"), ec("ES256"), ed("EdDSA");
  const JwtVerifier verifier = Open(rsa.PublicKey() + ec.PublicKey() + ed.PublicKey());
  for (const JwtMaker* maker : {&rsa, &ec, &ed}) {
    const auto identity = verifier.Verify(maker->Make(kClaims), At(1500));
    ASSERT_TRUE(identity.ok()) << identity.status();
    EXPECT_EQ(identity->name, "alice");
    ASSERT_EQ(identity->grants.size(), 1u);
    EXPECT_EQ(identity->grants[0].role, Role::kOperator);
    EXPECT_TRUE(identity->grants[0].worlds.Matches({{"team", "soft"}}));
    EXPECT_FALSE(identity->grants[0].worlds.matches_all());
    EXPECT_EQ(identity->expires, At(2030));
  }
}

TEST_F(Jwt, ForeignOrChangedSignatureIsRefused) {
  for (const char* algorithm : {"RS256", "ES256", "EdDSA"}) {
    const JwtMaker own(algorithm), foreign(algorithm);
    const JwtVerifier verifier = Open(own.PublicKey());
    EXPECT_TRUE(absl::IsUnauthenticated(verifier.Verify(foreign.Make(kClaims), At(1500)).status()));

    // the same signature under other claims
    const std::vector<std::string> parts = absl::StrSplit(own.Make(kClaims), '.');
    const std::string admin =
        absl::WebSafeBase64Escape(absl::StrReplaceAll(kClaims, {{"operator", "admin"}}));
    const std::string forged = absl::StrCat(parts[0], ".", admin, ".", parts[2]);
    EXPECT_TRUE(absl::IsUnauthenticated(verifier.Verify(forged, At(1500)).status()));
    EXPECT_FALSE(verifier.Verify(absl::StrCat(parts[0], ".", parts[1], "."), At(1500)).ok());
  }
}

TEST_F(Jwt, KeyDecidesTheAlgorithmAndNotTheHeader) {
  const JwtMaker rsa("RS256");
  const JwtVerifier verifier = Open(rsa.PublicKey());
  // an algorithm without a signature, and one whose secret would be the public key
  for (const char* named : {"none", "HS256", "RS512", "ES256", "EdDSA", ""})
    EXPECT_FALSE(verifier.Verify(rsa.Make(kClaims, named), At(1500)).ok()) << named;
}

TEST_F(Jwt, TimesAudienceAndIssuerAreChecked) {
  const JwtMaker maker("EdDSA");
  const JwtVerifier verifier = Open(maker.PublicKey());
  const auto why = [&](const std::string& claims, int at) {
    return std::string(verifier.Verify(maker.Make(claims), At(at)).status().message());
  };
  // clocks may differ by 30 s
  EXPECT_EQ(why(kClaims, 2029), "");
  EXPECT_THAT(why(kClaims, 2030), HasSubstr("has expired"));
  EXPECT_EQ(why(kClaims, 970), "");
  EXPECT_THAT(why(kClaims, 969), HasSubstr("not valid yet"));
  const auto with = [](const char* from, const char* to) {
    return absl::StrReplaceAll(kClaims, {{from, to}});
  };
  EXPECT_THAT(why(with(",\"exp\":2000", ""), 1500), HasSubstr("`exp`"));
  EXPECT_THAT(why(with("2000", "\"2000\""), 1500), HasSubstr("`exp`"));
  EXPECT_THAT(why(with("2000", "1e300"), 1500), HasSubstr("`exp`"));
  EXPECT_THAT(why(with("1000", "\"x\""), 1500), HasSubstr("not valid yet"));
  EXPECT_THAT(why(with("\"aud\":\"lab\",", ""), 1500), HasSubstr("audience"));
  EXPECT_THAT(why(with("\"lab\"", "\"other\""), 1500), HasSubstr("audience"));
  EXPECT_EQ(why(with("\"lab\"", "[\"other\",\"lab\"]"), 1500), "");
  EXPECT_THAT(why(with("operator", "boss"), 1500), HasSubstr("`role`"));
  EXPECT_THAT(why(with("\"team=soft\"", "[]"), 1500), HasSubstr("`worlds`"));
  EXPECT_THAT(why(with("\"team=soft\"", "\"=\""), 1500), HasSubstr("`worlds`"));
  EXPECT_THAT(why(with("alice", "al\\nice"), 1500), HasSubstr("`sub`"));

  const JwtVerifier strict = Open(maker.PublicKey(), "https://issuer.example");
  EXPECT_FALSE(strict.Verify(maker.Make(kClaims), At(1500)).ok());
  const std::string issued = with("\"sub\"", "\"iss\":\"https://issuer.example\",\"sub\"");
  EXPECT_TRUE(strict.Verify(maker.Make(issued), At(1500)).ok());
}

TEST_F(Jwt, NonsenseIsRefused) {
  const JwtMaker maker("EdDSA");
  const JwtVerifier verifier = Open(maker.PublicKey());
  for (const std::string& token :
       {std::string(), std::string(".."), std::string("a.b.c"), std::string("a.b"),
        std::string(100'000, '.'), maker.Make("[]"), maker.Make("not json"), maker.Make("")})
    EXPECT_TRUE(absl::IsUnauthenticated(verifier.Verify(token, At(1500)).status()));
}

TEST_F(Jwt, KeySetOfAnIdentityProviderVerifies) {
  const JwtMaker rsa("RS256"), ec("ES256"), ed("EdDSA"), encrypting("RS256"), weak("RS256", 1024);
  const JwtVerifier verifier = Open(
      absl::StrCat(R"({"keys": [)", encrypting.WebKey(R"(,"use":"enc")"), R"(, {"kty": "oct"}, )",
                   rsa.WebKey(R"(,"use":"sig","kid":"1","alg":"RS256")"), ",", weak.WebKey(), ",",
                   ec.WebKey(), ",", ed.WebKey(), "]}"));
  for (const JwtMaker* maker : {&rsa, &ec, &ed})
    EXPECT_TRUE(verifier.Verify(maker->Make(kClaims), At(1500)).ok());
  for (const JwtMaker* maker : {&encrypting, &weak})
    EXPECT_FALSE(verifier.Verify(maker->Make(kClaims), At(1500)).ok());
}

TEST_F(Jwt, UnsuitableKeySetsAreRefusedWithTheReason) {
  const JwtMaker ed("EdDSA");
  const auto reason = [&](const std::string& set) {
    return std::string(JwtVerifier::Open({Write("keys.json", set), "lab", ""}).status().message());
  };
  const std::string good = ed.WebKey();
  EXPECT_THAT(reason("{}"), HasSubstr("`keys`"));
  EXPECT_THAT(reason(R"({"keys": []})"), HasSubstr("no key that verifies"));
  EXPECT_THAT(reason(absl::StrCat(R"({"keys": [)", good, ", 7]}")),
              HasSubstr("key 2 is malformed"));
  EXPECT_THAT(reason(R"({"keys": [{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]})"),
              HasSubstr("key 1 is malformed"));
  // a point that is not on the curve
  const std::string zeros(43, 'A');
  EXPECT_THAT(reason(absl::StrCat(R"({"keys": [{"kty":"EC","crv":"P-256","x":")", zeros,
                                  R"(","y":")", zeros, R"("}]})")),
              HasSubstr("key 1 is malformed"));
  EXPECT_THAT(reason(R"({"keys": [{"kty":"RSA","n":"*","e":"AQAB"}]})"),
              HasSubstr("key 1 is malformed"));
  EXPECT_THAT(reason(absl::StrCat(R"({"keys": [)", ed.WebKey(R"(,"d":"AA")"), "]}")),
              HasSubstr("key 1 is private"));
}

TEST_F(Jwt, UnsuitableKeysAreNamed) {
  const auto open = [&](const std::string& pem, const std::string& audience) {
    return JwtVerifier::Open({Write("keys.pem", pem), audience, ""}).status();
  };
  const JwtMaker good("EdDSA"), weak("RS256", 1024);
  EXPECT_THAT(std::string(open(good.PublicKey() + weak.PublicKey(), "lab").message()),
              HasSubstr("keys.pem: key 2"));
  EXPECT_THAT(std::string(open("no key", "lab").message()), HasSubstr("no public key"));
  EXPECT_THAT(std::string(open(good.PublicKey(), "").message()), HasSubstr("--jwt-audience"));
  EXPECT_TRUE(absl::IsUnavailable(JwtVerifier::Open({Path("none.pem"), "lab", ""}).status()));
}

}  // namespace
}  // namespace pliant::server
