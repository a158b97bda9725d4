#include "server/connections/peers.h"

#include <vector>

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

// An address of either family.
struct At {
  explicit At(const char* text) {
    sockaddr_in* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    sockaddr_in6* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    storage.ss_family = inet_pton(AF_INET, text, &v4->sin_addr) == 1 ? AF_INET : AF_INET6;
    if (storage.ss_family == AF_INET6) inet_pton(AF_INET6, text, &v6->sin6_addr);
  }
  operator const sockaddr&() const { return reinterpret_cast<const sockaddr&>(storage); }
  sockaddr_storage storage{};
};

TEST(Peers, EachHasItsOwnPlacesAndGetsThemBack) {
  Peers peers(2);
  std::vector<Peers::Place> taken;
  for (int i = 0; i < 2; ++i) {
    taken.push_back(peers.Take(At("10.0.0.1")));
    EXPECT_TRUE(taken.back());
  }
  EXPECT_FALSE(peers.Take(At("10.0.0.1")));
  EXPECT_TRUE(peers.Take(At("10.0.0.2")));
  taken.pop_back();
  EXPECT_TRUE(peers.Take(At("10.0.0.1")));
}

TEST(Peers, PlaceThatMovesIsGivenBackOnce) {
  Peers peers(1);
  {
    Peers::Place first = peers.Take(At("10.0.0.1"));
    const Peers::Place second = std::move(first);
    EXPECT_FALSE(peers.Take(At("10.0.0.1")));
  }
  const Peers::Place place = peers.Take(At("10.0.0.1"));
  EXPECT_TRUE(place);
  EXPECT_FALSE(peers.Take(At("10.0.0.1")));
}

TEST(Peers, AddressesOfOneNetworkOfIpv6AreOnePeer) {
  Peers peers(1);
  const Peers::Place place = peers.Take(At("2001:db8:1:2::1"));
  EXPECT_FALSE(peers.Take(At("2001:db8:1:2:ffff::9")));
  EXPECT_TRUE(peers.Take(At("2001:db8:1:3::1")));
}

TEST(Peers, AddressInEitherNotationIsOnePeer) {
  Peers peers(1);
  const Peers::Place place = peers.Take(At("10.0.0.1"));
  EXPECT_FALSE(peers.Take(At("::ffff:10.0.0.1")));
  EXPECT_TRUE(peers.Take(At("::ffff:10.0.0.2")));
}

}  // namespace
}  // namespace pliant::server
