#include "server/host/text.h"

#include "gtest/gtest.h"

#include "pliant/v1/control.pb.h"

namespace pliant::server {
namespace {

TEST(Shorten, CutsNoCharacter) {
  const std::string text = "aé漢😀";  // 1, 2, 3 and 4 bytes
  const std::size_t starts[] = {0, 1, 3, 6, 10};
  for (std::size_t limit = 0; limit <= 12; ++limit) {
    const std::string shortened = Shorten(text, limit);
    EXPECT_LE(shortened.size(), limit);
    EXPECT_EQ(text.rfind(shortened, 0), 0u);
    EXPECT_NE(std::find(std::begin(starts), std::end(starts), shortened.size()), std::end(starts));
    EXPECT_GE(shortened.size() + 3, std::min(limit, text.size()));
  }
}

TEST(Shorten, LeavesAMessageThatOthersCanRead) {
  std::string name;
  while (name.size() < 200) name += "漢";
  v1::Lease lease, read;
  lease.set_client(Shorten(name, 64));
  EXPECT_TRUE(read.ParseFromString(lease.SerializeAsString()));
  lease.set_client(name.substr(0, 64));
  EXPECT_FALSE(read.ParseFromString(lease.SerializeAsString()));
}

}  // namespace
}  // namespace pliant::server
