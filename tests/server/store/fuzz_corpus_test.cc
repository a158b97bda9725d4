// The corpus of the store's fuzz target has inputs of the formats as they are now: mutations of an
// older one would be refused at its head. PLIANT_WRITE_CORPUS=1 writes it anew.

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "gtest/gtest.h"

#include "server/store/checkpoint_file.h"
#include "server/store/inputs_message.h"
#include "server/store/log_file.h"
#include "tests/server/run/temporary_folder.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = PLIANT_SOURCE_DIR "/tests/fuzz/store/corpus";
constexpr char kModel[] = "0123456789abcdef0123456789abcdef";  // as in the target
constexpr std::size_t kStateHead = 8 + 4 + 2 * 32;             // magic, version, model and checksum

// A state with entries in its lists, except those of the smooth method, which its bytes may lack.
physics::State MakeState() {
  physics::State state;
  state.time = 0.25;
  state.step = 25;
  state.q = {0, 0, 1, 1, 0, 0, 0};
  state.v = {0, 0, 0.5, 0, 0, -1};
  state.internals = {{}, {0.1, 0.2}};
  state.contacts = {{3, {0, 0, 0.5}}, {7, {0.1, 0, 0.25}}};
  state.rest = {4, -2};
  physics::ConstraintForce force;
  force.block = 0;
  force.impulse = 2;
  state.resting_constraints = {force};
  state.constraints = {{{.block = 0, .index = 1, .part = 2}, 0.75}};
  state.controls = {0.5, -0.5};
  state.gains = {1000, 10, 100, 0, 1, 5};
  state.drives = {1, 0.5, 0};
  return state;
}

physics::State MakeSmoothState() {
  physics::State state = MakeState();
  state.smooth.stiffening = 2;
  state.smooth.past_step = 0.01;
  state.smooth.past_q = state.q;
  state.smooth.past_v = state.v;
  state.smooth.anchors = {{3, {0.5, 0, 0}}, {7, {0, -0.25, 0}}};
  return state;
}

physics::Inputs MakeInputsOfEveryKind() {
  physics::Inputs inputs;
  inputs.poses.push_back({1, {}});
  inputs.forces.push_back({.body = 2, .force_W = {0, 1, 2}});
  inputs.actuators.push_back({1, 0.5});
  inputs.joint_forces.push_back({1, 0, 2});
  inputs.twists.push_back({1, {0, 1, 2}, {0, 1, 2}});
  inputs.link_poses.push_back({0, {}});
  inputs.grippers.push_back({0, 0.1});
  inputs.gains.push_back({1, 100, 10, 5});
  inputs.holds.push_back({1, 0.25});
  inputs.pressures.push_back({1, 2e5});
  inputs.springs.push_back({.body = 2, .node = 1, .p_WA = {0, 0, 1}, .stiffness = 100});
  inputs.drives = {1, 0.5};
  return inputs;
}

// The inputs by their file names. The first byte chooses the format.
std::map<std::string, std::string> MakeCorpus() {
  auto model = std::make_shared<physics::Model>();
  model->hash = kModel;
  const physics::Snapshot snapshot{model, MakeState(), {}};
  const std::string state = physics::SerializeState(snapshot.state, kModel);
  v1::CheckpointHead head;
  head.set_automatic(true);
  head.set_sequence(7);
  std::string checkpoint = EncodeCheckpoint(snapshot, head);
  checkpoint.resize(checkpoint.size() - 8);  // the target adds the checksum

  std::map<std::string, v1::LogRecord> records;
  records["steps"].set_steps(7);
  *records["inputs"].mutable_step() = WriteInputs(MakeInputsOfEveryKind());
  records["reset"].set_reset(true);
  records["state"].set_state(state);
  records["mark"].mutable_mark()->set_step(25);
  records["mark"].mutable_mark()->set_state_hash(physics::HashState(snapshot.state));
  std::string log = EncodeLogHead();
  for (const auto& [name, record] : records) AppendLogRecord(record, &log);

  std::map<std::string, std::string> corpus = {
      {"state", '\0' + state.substr(kStateHead)},
      {"state-smooth",
       '\0' + physics::SerializeState(MakeSmoothState(), kModel).substr(kStateHead)},
      {"checkpoint", '\1' + checkpoint},
      {"log", '\2' + log},
      {"log-cut-in-head", '\2' + EncodeLogHead().substr(0, 9)}};
  for (const auto& [name, record] : records)
    corpus["record-" + name] = '\3' + record.SerializeAsString();
  return corpus;
}

TEST(StoreFuzzCorpus, HasTheFormatsOfThisBuild) {
  const std::map<std::string, std::string> corpus = MakeCorpus();
  // the states can be read
  for (const physics::State& state : {MakeState(), MakeSmoothState()})
    EXPECT_TRUE(physics::ParseState(physics::SerializeState(state, kModel), kModel).ok());
  std::set<std::string> unknown;
  for (const auto& entry : fs::directory_iterator(kFolder))
    unknown.insert(entry.path().filename().string());
  for (const auto& [name, bytes] : corpus) {
    const std::string path = std::string(kFolder) + "/" + name;
    if (std::getenv("PLIANT_WRITE_CORPUS") != nullptr)
      std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_TRUE(TemporaryFolder::Read(path) == bytes)
        << path << " is of another version; write it anew with PLIANT_WRITE_CORPUS=1";
    unknown.erase(name);
  }
  EXPECT_TRUE(unknown.empty()) << *unknown.begin() << " is made by nothing";
}

}  // namespace
}  // namespace pliant::server
