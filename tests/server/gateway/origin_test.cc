#include "server/gateway/origin.h"

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

TEST(OwnHost, IsALoopbackNameAnAddressOrAListedName) {
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]:8080"}) {
    EXPECT_TRUE(IsOwnHost(host, true, {})) << host;
    EXPECT_TRUE(IsOwnHost(host, false, {})) << host;
  }
  for (const char* host : {"192.168.1.5:8080", "[fd00::5]:8080"}) {
    EXPECT_FALSE(IsOwnHost(host, true, {})) << host;
    EXPECT_TRUE(IsOwnHost(host, false, {})) << host;
  }
  // the owner of a name decides to which machine it resolves
  for (const char* host :
       {"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "", "["}) {
    EXPECT_FALSE(IsOwnHost(host, true, {})) << host;
    EXPECT_FALSE(IsOwnHost(host, false, {})) << host;
  }
  EXPECT_TRUE(IsOwnHost("Lab.Example:8080", false, {"lab.example"}));
  EXPECT_TRUE(IsOwnHost("lab.example:8080", true, {"lab.example"}));
}

TEST(Origin, ReboundPageIsRefusedThoughItsOriginIsItsHost) {
  const auto allowed = [](const std::string& host, const std::vector<std::string>& hosts) {
    return IsOriginAllowed("http://" + host, host, IsOwnHost(host, false, hosts), {});
  };
  EXPECT_FALSE(allowed("evil.example:8080", {}));
  EXPECT_TRUE(allowed("192.168.1.5:8080", {}));
  EXPECT_FALSE(allowed("lab.example:8080", {}));
  EXPECT_TRUE(allowed("lab.example:8080", {"lab.example"}));
}

TEST(Origin, OtherPagesMustBeListed) {
  EXPECT_FALSE(IsOriginAllowed("http://localhost:5173", "localhost:8080", true, {}));
  EXPECT_TRUE(
      IsOriginAllowed("http://localhost:5173", "localhost:8080", true, {"http://localhost:5173"}));
  EXPECT_FALSE(IsOriginAllowed("null", "localhost:8080", true, {}));
  EXPECT_TRUE(IsOriginAllowed("", "anything", false, {}));  // not a browser
}

}  // namespace
}  // namespace pliant::server
