#include "server/store/store.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "server/host/world_host.h"
#include "server/store/checkpoint_file.h"
#include "server/store/checkpoints.h"
#include "server/store/recovery.h"
#include "tests/server/host/test_scene.h"
#include "tests/server/host/virtual_timeline.h"
#include "tests/server/run/temporary_folder.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kInterval{60};

// A world under a store in virtual time. A crash is a copy of its folder: what a process that is
// killed leaves behind.
class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store = Store::Open({temporary_.File("data"), &timeline_, kInterval});
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    v1::WorldRecord record;
    record.mutable_request()->set_world_id("kept");
    auto journal = store_->Create(record, world_.TakeSnapshot());
    ASSERT_TRUE(journal.ok()) << journal.status();
    journal_ = *std::move(journal);
  }
  void TearDown() override {
    if (journal_ != nullptr) journal_->Close();
  }

  absl::Status Step(const physics::Inputs& inputs = {}) {
    EXPECT_TRUE(world_.Step(inputs).ok());
    return journal_->OnStep(inputs, world_.TakeSnapshot());
  }
  void Step(int steps) {
    for (int i = 0; i < steps; ++i) ASSERT_TRUE(Step().ok());
  }

  // A pose for the paddle, body 1, that depends on the step.
  physics::Inputs Drive() const {
    physics::Inputs inputs;
    inputs.poses.push_back({1, {}});
    inputs.poses[0].X_WB.p = {-0.5 + 1e-3 * static_cast<double>(world_.state().step), 0, 0.2};
    return inputs;
  }

  void Write() {
    bool written = false;
    journal_->WhenWritten([&](const absl::Status& status) { written = status.ok(); });
    timeline_.RunFor(std::chrono::milliseconds(1));
    ASSERT_TRUE(written);
  }

  // Copies the folder as a crash at this moment would leave it.
  WorldFolder Crash() {
    const fs::path from = journal_->folder();
    const fs::path to = temporary_.File("crash-" + std::to_string(++crashes_));
    fs::copy(from, to, fs::copy_options::recursive);
    return WorldFolder(to.string());
  }

  std::string Hash() const { return physics::HashState(world_.state()); }
  static void ExpectRecovers(const WorldFolder& folder, const std::string& hash) {
    const auto recovered = RecoverWorld(folder, LoadTestModel());
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    EXPECT_EQ(physics::HashState(recovered->world.state()), hash);
  }
  static void Damage(const std::string& path, std::int64_t from_end) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-from_end, std::ios::end);
    file.put('!');
  }

  TemporaryFolder temporary_;
  VirtualTimeline timeline_;
  physics::World world_{LoadTestModel()};
  std::unique_ptr<Store> store_;
  std::shared_ptr<WorldJournal> journal_;
  int crashes_ = 0;
};

// One call of Write mends the log, although the world steps during it.
TEST_F(StoreTest, ABrokenLogIsMendedAtOnceWhileItsWorldGoesOn) {
  const auto start = world_.TakeSnapshot();
  absl::Status status;
  for (std::size_t i = 0; status.ok() && i < 2 * WorldJournal::kMaxPending; ++i)
    status = journal_->OnStep(Drive(), start);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot keep up"));

  std::atomic<int> steps{0};
  std::atomic<bool> is_over{false};
  std::thread stepping([&] {
    while (!is_over.load()) {
      Step().IgnoreError();
      steps.fetch_add(1);
    }
  });
  while (steps.load() < 3) std::this_thread::yield();
  absl::Status written = absl::UnknownError("");
  journal_->WhenWritten([&](const absl::Status& result) { written = result; });
  journal_->Write();
  EXPECT_TRUE(written.ok()) << written;
  is_over.store(true);
  stepping.join();
  EXPECT_TRUE(Step().ok());
  Write();
  ExpectRecovers(Crash(), Hash());
}

TEST_F(StoreTest, StepsWithAndWithoutInputsResetsAndRestoresAreRepeated) {
  Step(3);
  ASSERT_TRUE(Step(Drive()).ok());
  const std::string saved = world_.Save();
  Step(2);
  world_.Reset();
  journal_->OnReset(world_.TakeSnapshot());
  ASSERT_TRUE(Step(Drive()).ok());
  Write();
  ExpectRecovers(Crash(), Hash());
  ASSERT_TRUE(world_.Restore(saved).ok());
  journal_->OnRestore(world_.TakeSnapshot());
  Step(1);
  Write();
  ExpectRecovers(Crash(), Hash());
}

TEST_F(StoreTest, AcknowledgedMeansInTheFile) {
  Step(1);
  bool written = false;
  journal_->WhenWritten([&](const absl::Status&) {
    written = true;
    ExpectRecovers(Crash(), Hash());
  });
  EXPECT_FALSE(written);
  timeline_.RunFor(std::chrono::milliseconds(1));
  EXPECT_TRUE(written);
}

TEST_F(StoreTest, CheckpointsBoundTheLogAndTheLastTwoAreKept) {
  const WorldFolder folder(journal_->folder());
  for (int i = 0; i < 4; ++i) {
    Step(2);
    timeline_.RunFor(kInterval);
  }
  timeline_.RunFor(std::chrono::milliseconds(1));
  EXPECT_THAT(folder.ListAutomatic(), ElementsAre(4, 5));
  EXPECT_THAT(folder.ListLogs(), ElementsAre(4, 5));
  ExpectRecovers(Crash(), Hash());

  // nothing changes, nothing is written
  timeline_.RunFor(3 * kInterval);
  EXPECT_THAT(folder.ListAutomatic(), ElementsAre(4, 5));
}

TEST_F(StoreTest, ADamagedCheckpointIsReplacedByTheOneBeforeAndItsLog) {
  Step(2);
  timeline_.RunFor(kInterval);
  Step(3);
  Write();
  const WorldFolder folder = Crash();
  Damage(folder.automatic(2), 100);
  ExpectRecovers(folder, Hash());
  const auto recovered = RecoverWorld(folder, LoadTestModel());
  ASSERT_EQ(recovered->warnings.size(), 1);
  EXPECT_THAT(recovered->warnings[0], HasSubstr("auto-2.checkpoint"));

  // an earlier log that is damaged cannot be left out
  Damage(folder.log(1), 1);
  const absl::Status status = RecoverWorld(folder, LoadTestModel()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("log-1"));
}

TEST_F(StoreTest, ALogThatIsCutShortEndsWithItsLastWholeRecord) {
  Step(2);
  Write();
  const std::string hash = Hash();
  ASSERT_TRUE(Step(Drive()).ok());
  Write();
  const WorldFolder folder = Crash();
  fs::resize_file(folder.log(1), fs::file_size(folder.log(1)) - 3);
  ExpectRecovers(folder, hash);
  EXPECT_THAT(RecoverWorld(folder, LoadTestModel())->warnings.at(0), HasSubstr("cut short"));
}

TEST_F(StoreTest, AnotherResultOfTheSameStepsIsNotTakenForTheWorld) {
  timeline_.RunFor(std::chrono::seconds(2));  // a mark is due
  Step(2);
  Write();
  const WorldFolder folder = Crash();
  physics::World other(LoadTestModel());
  ASSERT_TRUE(other.Step(Drive()).ok());
  std::ofstream(folder.automatic(1), std::ios::binary)
      << EncodeCheckpoint(*other.TakeSnapshot(), {});
  const absl::Status status = RecoverWorld(folder, LoadTestModel()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another state"));
}

TEST_F(StoreTest, CheckpointsOfAnotherVersionAreKeptAndNamed) {
  const WorldFolder folder = Crash();
  std::fstream(folder.automatic(1), std::ios::in | std::ios::out | std::ios::binary)
      .seekp(8)
      .put(77);
  const absl::Status status = RecoverWorld(folder, LoadTestModel()).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("auto-1.checkpoint"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 77"));
  EXPECT_TRUE(fs::exists(folder.automatic(1)));
}

TEST_F(StoreTest, AWorldThatCannotBeWrittenIsPausedAndMendedLater) {
  Step(3);
  Write();
  const std::string acknowledged = Hash();
  // no file can be made in a folder that is gone, and so no log after the next checkpoint
  const std::string folder = journal_->folder();
  fs::rename(folder, folder + "-away");
  timeline_.RunFor(kInterval);
  absl::Status refused;
  journal_->WhenWritten([&](const absl::Status& status) { refused = status; });
  timeline_.RunFor(std::chrono::milliseconds(1));
  EXPECT_FALSE(refused.ok());
  const absl::Status fault = Step();
  EXPECT_THAT(std::string(fault.message()), HasSubstr(folder));
  ExpectRecovers(WorldFolder(folder + "-away"), acknowledged);

  fs::rename(folder + "-away", folder);
  Write();
  ASSERT_TRUE(Step().ok());
  Write();
  ExpectRecovers(Crash(), Hash());
}

TEST_F(StoreTest, AWorldThatEndsWithABrokenLogIsNotAcknowledged) {
  Step(2);
  Write();
  fs::remove_all(journal_->folder());
  timeline_.RunFor(kInterval);
  absl::Status late;
  journal_->Close();
  journal_->WhenWritten([&](const absl::Status& status) { late = status; });
  EXPECT_THAT(std::string(late.message()), HasSubstr(journal_->folder()));
}

TEST_F(StoreTest, ADeletedWorldLeavesNothing) {
  Step(2);
  const std::string folder = journal_->folder();
  bool answered = false;
  journal_->WhenWritten([&](const absl::Status& status) { answered = !status.ok(); });
  journal_->Discard();
  EXPECT_TRUE(answered);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(store_->Find().empty());
}

TEST_F(StoreTest, AHalfMadeWorldIsRemovedAtTheStart) {
  const std::string folder = journal_->folder();
  journal_->Close();
  store_.reset();
  fs::remove(folder + "/world");
  const auto store = Store::Open({temporary_.File("data"), &timeline_, kInterval});
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE((*store)->Find().empty());
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(StoreTest, ASecondServerIsRefused) {
  const absl::Status status = Store::Open({temporary_.File("data"), &timeline_}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another pliantd"));
}

std::vector<std::string> NamesOf(const std::vector<v1::Checkpoint>& checkpoints) {
  std::vector<std::string> names;
  for (const v1::Checkpoint& checkpoint : checkpoints)
    names.push_back(checkpoint.name().substr(checkpoint.name().rfind('/') + 1));
  return names;
}

// Copying a folder, or a wall clock that jumps, changes the times of the files.
TEST_F(StoreTest, CheckpointsAreListedAsTheyWereTakenWhateverTheTimesOfTheirFiles) {
  const WorldFolder folder(journal_->folder());
  Step(2);
  ASSERT_TRUE(SaveCheckpoint(folder, "worlds/kept", "zero", *world_.TakeSnapshot()).ok());
  Step(1);
  journal_->Checkpoint();
  Write();
  // the order is that in which checkpoints were taken, not that of their steps
  world_.Reset();
  journal_->OnReset(world_.TakeSnapshot());
  ASSERT_TRUE(SaveCheckpoint(folder, "worlds/kept", "one", *world_.TakeSnapshot()).ok());
  ASSERT_TRUE(SaveCheckpoint(folder, "worlds/kept", "other", *world_.TakeSnapshot()).ok());
  const auto list = [&] { return NamesOf(ListCheckpoints(folder, "worlds/kept")); };
  EXPECT_THAT(list(), ElementsAre("auto-1", "zero", "auto-2", "one", "other"));

  auto time = fs::file_time_type::clock::now();
  for (const char* name : {"auto-1", "named/zero", "auto-2", "named/one", "named/other"}) {
    fs::last_write_time(absl::StrCat(folder.path(), "/", name, ".checkpoint"), time);
    time -= std::chrono::hours(1);
  }
  EXPECT_THAT(list(), ElementsAre("auto-1", "zero", "auto-2", "one", "other"));
}

TEST_F(StoreTest, NamedCheckpointsAreListedReadAndDeleted) {
  const WorldFolder folder(journal_->folder());
  Step(2);
  const auto saved = SaveCheckpoint(folder, "worlds/kept", "before-grasp", *world_.TakeSnapshot());
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->name(), "worlds/kept/checkpoints/before-grasp");
  EXPECT_EQ(saved->step(), 2);
  EXPECT_EQ(saved->state_hash(), Hash());
  EXPECT_EQ(ListCheckpoints(folder, "worlds/kept").size(), 2);  // and the automatic one
  const auto state = ReadCheckpointState(folder, "before-grasp");
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(*state, world_.Save());
  EXPECT_EQ(saved->size(), static_cast<std::int64_t>(state->size()));

  const auto again = SaveCheckpoint(folder, "worlds/kept", "before-grasp", *world_.TakeSnapshot());
  EXPECT_EQ(again.status().code(), absl::StatusCode::kAlreadyExists);
  for (const char* id : {"", "../x", "auto-1", "A"}) {
    EXPECT_EQ(SaveCheckpoint(folder, "worlds/kept", id, *world_.TakeSnapshot()).status().code(),
              absl::StatusCode::kInvalidArgument)
        << id;
    EXPECT_FALSE(DeleteCheckpoint(folder, id).ok()) << id;
  }
  EXPECT_TRUE(DeleteCheckpoint(folder, "before-grasp").ok());
  EXPECT_EQ(ReadCheckpointState(folder, "before-grasp").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(StoreTest, AsManyAutomaticCheckpointsAreKeptAsAskedForWithTheLogsSinceTheOldest) {
  Store::Options options{temporary_.File("other"), &timeline_, kInterval, 4};
  auto store = Store::Open(options);
  ASSERT_TRUE(store.ok()) << store.status();
  v1::WorldRecord record;
  record.mutable_request()->set_world_id("kept");
  auto journal = (*store)->Create(record, world_.TakeSnapshot());
  ASSERT_TRUE(journal.ok()) << journal.status();
  const WorldFolder folder((*journal)->folder());
  for (int k = 0; k < 6; ++k) {
    ASSERT_TRUE(world_.Step().ok());
    ASSERT_TRUE((*journal)->OnStep({}, world_.TakeSnapshot()).ok());
    (*journal)->Checkpoint();
    timeline_.RunFor(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(folder.ListAutomatic(), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(folder.ListLogs(), ElementsAre(4, 5, 6, 7));
  // the oldest one leads to the present state
  for (const std::int64_t number : {5, 6, 7}) Damage(folder.automatic(number), 8);
  ExpectRecovers(folder, Hash());

  // a server that keeps fewer removes the others when it starts
  (*journal)->Close();
  journal->reset();
  store->reset();
  options.kept_checkpoints = 1;
  store = Store::Open(options);
  ASSERT_TRUE(store.ok()) << store.status();
  journal = (*store)->Continue(folder, 7, world_.TakeSnapshot());
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_THAT(folder.ListAutomatic(), ElementsAre(8));
  EXPECT_THAT(folder.ListLogs(), ElementsAre(8));
  (*journal)->Close();
}

TEST_F(StoreTest, NumberOfNamedCheckpointsIsBounded) {
  const WorldFolder folder(journal_->folder());
  for (int i = 0; i < kMaxNamedCheckpoints; ++i)
    std::ofstream(folder.named("c" + std::to_string(i))) << "x";
  const auto refused = SaveCheckpoint(folder, "worlds/kept", "more", *world_.TakeSnapshot());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace pliant::server
