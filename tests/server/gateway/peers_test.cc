#include "server/gateway/peers.h"

#include <vector>

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

boost::asio::ip::address At(const char* text) {
  return boost::asio::ip::make_address(text);
}

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

}  // namespace
}  // namespace pliant::server
