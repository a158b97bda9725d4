#include "server/uploads/object_store.h"

#include <fstream>
#include <iterator>

#include "gtest/gtest.h"

#include "tests/server/host/virtual_timeline.h"
#include "tests/server/run/temporary_folder.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;

class ObjectStoreTest : public testing::Test {
 protected:
  void Open(std::int64_t max_bytes = 1 << 20) {
    store_.reset();
    auto store = ObjectStore::Open({folder_.File("objects"), max_bytes, &timeline_});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  absl::StatusOr<ObjectStore::Progress> Upload(const std::string& content,
                                               const std::string& user = "ann") {
    timeline_.RunFor(std::chrono::seconds(1));
    return store_->Append(user, CalcSha256(content), static_cast<std::int64_t>(content.size()), 0,
                          content);
  }
  std::size_t CountFiles() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.File("objects")))
      count += entry.is_regular_file();
    return count;
  }

  TemporaryFolder folder_;
  VirtualTimeline timeline_;
  std::unique_ptr<ObjectStore> store_;
};

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(ObjectStoreTest, ObjectIsCompleteWhenAllItsChunksHaveCome) {
  Open();
  const std::string content = "abcdefghij", sum = CalcSha256(content);
  auto progress = store_->Append("ann", sum, 10, 0, "abcd");
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->received, 4);
  EXPECT_FALSE(store_->Has(sum));
  // a repeated chunk changes nothing; one that overlaps continues the upload
  EXPECT_EQ(store_->Append("ann", sum, 10, 0, "abcd")->received, 4);
  EXPECT_EQ(store_->Append("ann", sum, 10, 2, "cdef")->received, 6);
  progress = store_->Append("ann", sum, 10, 6, "ghij");
  ASSERT_TRUE(progress.ok());
  EXPECT_TRUE(progress->complete);
  EXPECT_TRUE(store_->Has(sum));
  EXPECT_EQ(*store_->Read(sum, 10), content);
  EXPECT_EQ(store_->Read(sum, 9).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->Read(CalcSha256("other"), 10).status().code(), absl::StatusCode::kNotFound);
  // a known object need not be sent again
  EXPECT_TRUE(store_->Append("bob", sum, 10, 0, "")->complete);
}

TEST_F(ObjectStoreTest, ChunksThatDoNotFitAreRefused) {
  Open();
  const std::string sum = CalcSha256("abc");
  const absl::Status gap = store_->Append("ann", sum, 3, 2, "c").status();
  EXPECT_TRUE(absl::IsOutOfRange(gap));
  EXPECT_NE(gap.message().find("expected 0"), std::string::npos) << gap;
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Append("ann", sum, 3, 1, "bcd").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Append("ann", "../../x", 3, 0, "abc").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Append("ann", sum, -1, 0, "").status()));
}

TEST_F(ObjectStoreTest, ContentOfAnotherHashIsDropped) {
  Open();
  const std::string sum = CalcSha256("right");
  const absl::Status wrong = store_->Append("ann", sum, 5, 0, "wrong").status();
  EXPECT_TRUE(absl::IsInvalidArgument(wrong));
  EXPECT_NE(wrong.message().find(CalcSha256("wrong")), std::string::npos) << wrong;
  EXPECT_FALSE(store_->Has(sum));
  EXPECT_EQ(CountFiles(), 0u);
  EXPECT_TRUE(store_->Append("ann", sum, 5, 0, "right")->complete);
}

TEST_F(ObjectStoreTest, UsersDoNotSpoilEachOthersUploads) {
  Open();
  const std::string sum = CalcSha256("right");
  EXPECT_TRUE(store_->Append("mallory", sum, 5, 0, "wr").ok());
  EXPECT_TRUE(store_->Append("ann", sum, 5, 0, "ri").ok());
  EXPECT_FALSE(store_->Append("mallory", sum, 5, 2, "ong").ok());
  EXPECT_TRUE(store_->Append("ann", sum, 5, 2, "ght")->complete);
}

TEST_F(ObjectStoreTest, ObjectsOutliveTheServerAndUploadsUnderWayDoNot) {
  Open();
  ASSERT_TRUE(Upload("kept").ok());
  const std::string half = CalcSha256("half");
  ASSERT_TRUE(store_->Append("ann", half, 4, 0, "ha").ok());
  Open();
  EXPECT_TRUE(store_->Has(CalcSha256("kept")));
  EXPECT_EQ(CountFiles(), 1u);
  EXPECT_EQ(store_->Append("ann", half, 4, 0, "")->received, 0);
}

TEST_F(ObjectStoreTest, ObjectsUsedLongestAgoMakeRoomForNewOnes) {
  Open(100);
  const std::string a(40, 'a'), b(40, 'b'), c(40, 'c');
  ASSERT_TRUE(Upload(a).ok());
  ASSERT_TRUE(Upload(b).ok());
  ASSERT_TRUE(Upload(a).ok());  // used again
  ASSERT_TRUE(Upload(c).ok());
  EXPECT_TRUE(store_->Has(CalcSha256(a)));
  EXPECT_FALSE(store_->Has(CalcSha256(b)));
  EXPECT_TRUE(store_->Has(CalcSha256(c)));
  EXPECT_EQ(CountFiles(), 2u);
}

TEST_F(ObjectStoreTest, UploadsBeyondTheQuotaAreRefusedWithLimitAndNeed) {
  Open(100);
  ASSERT_TRUE(store_->Append("ann", CalcSha256("x"), 60, 0, "x").ok());
  const absl::Status full = store_->Append("bob", CalcSha256("y"), 60, 0, "y").status();
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  for (const char* number : {"60 bytes", "has 40 of its 100"})
    EXPECT_NE(full.message().find(number), std::string::npos) << full;
  // an upload that pauses for too long gives its room back
  timeline_.RunFor(std::chrono::minutes(11));
  EXPECT_TRUE(store_->Append("bob", CalcSha256("y"), 60, 0, "y").ok());
}

TEST_F(ObjectStoreTest, LoweredQuotaDropsObjectsUsedLongestAgoAndLetsUploadsEnd) {
  Open(100);
  const std::string a(40, 'a'), b(40, 'b');
  ASSERT_TRUE(Upload(a).ok());
  ASSERT_TRUE(Upload(b).ok());
  ASSERT_TRUE(store_->Append("ann", CalcSha256("0123456789"), 10, 0, "01234").ok());
  store_->SetMaxBytes(50);
  EXPECT_FALSE(store_->Has(CalcSha256(a)));
  EXPECT_TRUE(store_->Has(CalcSha256(b)));
  EXPECT_TRUE(absl::IsResourceExhausted(Upload(std::string(41, 'c')).status()));
  EXPECT_TRUE(store_->Append("ann", CalcSha256("0123456789"), 10, 5, "56789")->complete);
  store_->SetMaxBytes(5);
  EXPECT_EQ(CountFiles(), 0u);
}

TEST_F(ObjectStoreTest, StagedFilesHaveTheirNamesAndOutliveTheirObjects) {
  Open(10);
  ASSERT_TRUE(Upload("mesh").ok());
  auto staged = store_->Stage({{"parts/a.vtk", CalcSha256("mesh")}});
  ASSERT_TRUE(staged.ok()) << staged.status();
  const fs::path folder = (*staged)->folder();
  ASSERT_TRUE(Upload("0123456789").ok());  // takes the room of the mesh
  EXPECT_EQ(ReadAll(folder / "parts/a.vtk"), "mesh");
  staged->reset();
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(ObjectStoreTest, StagesNothingOutsideItsFolderAndNothingUnknown) {
  Open();
  ASSERT_TRUE(Upload("mesh").ok());
  const std::string sum = CalcSha256("mesh");
  for (const char* bad : {"../a", "/etc/a", "", ".", "a/../../b", "a/"})
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Stage({{bad, sum}}).status())) << bad;
  const absl::Status unknown = store_->Stage({{"a.vtk", CalcSha256("other")}}).status();
  EXPECT_TRUE(absl::IsNotFound(unknown));
  EXPECT_NE(unknown.message().find("a.vtk"), std::string::npos) << unknown;
  EXPECT_EQ(CountFiles(), 1u);
}

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(CalcSha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(CalcSha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace pliant::server
