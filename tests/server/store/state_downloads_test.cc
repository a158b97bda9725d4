#include "server/store/state_downloads.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/server/host/virtual_timeline.h"

namespace pliant::server {
namespace {

using ::testing::HasSubstr;

class StateDownloadsTest : public testing::Test {
 protected:
  absl::StatusOr<std::string> Open(const std::string& state, const std::string& user = "ann",
                                   const std::string& name = "") {
    return downloads_.Open({"worlds/w", {{"team", "grasp"}}, name, user}, state);
  }

  VirtualTimeline timeline_;
  StateDownloads downloads_{&timeline_};
};

TEST_F(StateDownloadsTest, ChunksOfAHandleMakeUpItsState) {
  const auto handle = Open("abcdefgh");
  ASSERT_TRUE(handle.ok()) << handle.status();
  EXPECT_EQ(downloads_.Describe(*handle)->labels.at("team"), "grasp");
  std::string state;
  while (true) {
    const auto chunk = downloads_.Read(*handle, static_cast<std::int64_t>(state.size()), 3);
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    EXPECT_EQ(chunk->size, 8);
    if (chunk->data.empty()) break;
    state += chunk->data;
  }
  EXPECT_EQ(state, "abcdefgh");
  EXPECT_EQ(downloads_.Read(*handle, 100, 3)->data, "");
  EXPECT_NE(*Open("abcdefgh"), *handle);
}

TEST_F(StateDownloadsTest, HandleHoldsWhileItIsReadAndExpiresAfterwards) {
  const std::string read = *Open("abcd"), left = *Open("efgh");
  for (int i = 0; i < 10; ++i) {
    timeline_.RunFor(StateDownloads::kMaxPause / 2);
    EXPECT_TRUE(downloads_.Read(read, 0, 2).ok());
  }
  const absl::Status expired = downloads_.Read(left, 0, 2).status();
  EXPECT_TRUE(absl::IsNotFound(expired));
  EXPECT_THAT(std::string(expired.message()), HasSubstr("60 s"));
  timeline_.RunFor(StateDownloads::kMaxPause);
  EXPECT_TRUE(absl::IsNotFound(downloads_.Read(read, 0, 2).status()));
  EXPECT_TRUE(absl::IsNotFound(downloads_.Describe(read).status()));
}

TEST_F(StateDownloadsTest, OneUserReadsAFewStatesAtOnceAndAllReadABoundedNumber) {
  std::vector<std::string> handles;
  for (std::size_t i = 0; i < StateDownloads::kMaxPerUser; ++i) handles.push_back(*Open("abcd"));
  const absl::Status refused = Open("abcd").status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("ann reads 4"));
  EXPECT_TRUE(Open("abcd", "bob").ok());
  // one that was read to its end makes room
  EXPECT_TRUE(downloads_.Read(handles[1], 2, 2).ok());
  EXPECT_TRUE(Open("abcd").ok());
  EXPECT_TRUE(downloads_.Read(handles[0], 0, 2).ok());
  EXPECT_TRUE(absl::IsNotFound(downloads_.Read(handles[1], 0, 2).status()));

  absl::Status full;
  for (int i = 0; i < 100 && full.ok(); ++i)
    full = Open("abcd", "user " + std::to_string(i)).status();
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  EXPECT_THAT(std::string(full.message()), HasSubstr("32 states"));
}

TEST_F(StateDownloadsTest, ClientWithoutAHandleGoesOnWithWhatItOpenedLast) {
  const std::string name = "worlds/w/checkpoints/c";
  EXPECT_EQ(downloads_.Find("ann", name), "");
  Open("old", "ann", name).IgnoreError();
  const std::string handle = *Open("new", "ann", name);
  EXPECT_EQ(downloads_.Find("ann", name), handle);
  EXPECT_EQ(downloads_.Find("bob", name), "");
  EXPECT_EQ(downloads_.Find("ann", "worlds/w/checkpoints/d"), "");
}

}  // namespace
}  // namespace pliant::server
