// Checkpoints of a world with 90,000 degrees of freedom: time to write and restore one, and how
// long they block the stepping thread.

#include "server/store/store.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/measure.h"
#include "benchmarks/report/temporary_folder.h"
#include "benchmarks/server/checkpoints.h"
#include "benchmarks/suite.h"
#include "physics/scene/scene.h"
#include "physics/world/world.h"
#include "server/files/files.h"
#include "server/store/checkpoint_file.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;

constexpr int kRepetitions = 15;

template <typename Work>
ordered_json Measure(const Work& work) {
  std::vector<double> ms;
  for (int i = 0; i < kRepetitions; ++i) {
    const double start = Now();
    work();
    ms.push_back(1e3 * (Now() - start));
  }
  return {{"median", Quantile(ms, 0.5)}, {"p95", Quantile(ms, 0.95)}};
}

// Time of the stepping thread in OnStep [µs] while checkpoints are written back to back.
ordered_json MeasureNotes(const std::string& folder,
                          const std::shared_ptr<const physics::Snapshot>& snapshot) {
  auto store = server::Store::Open({folder});
  v1::WorldRecord record;
  record.mutable_request()->set_world_id("block");
  auto journal = store.ok() ? (*store)->Create(record, snapshot) : store.status();
  if (!journal.ok()) return {{"note", std::string(journal.status().message())}};
  std::atomic<bool> done{false};
  std::atomic<int> checkpoints{0};
  std::thread writer([&] {
    for (; !done.load(); ++checkpoints) (*journal)->Checkpoint();
  });
  std::vector<double> us;
  while (us.size() < 2000 || checkpoints.load() < 10) {
    const double start = Now();
    (*journal)->OnStep({}, snapshot).IgnoreError();
    us.push_back(1e6 * (Now() - start));
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  done.store(true);
  writer.join();
  (*journal)->Discard();
  return {{"median", Quantile(us, 0.5)},
          {"max", *std::ranges::max_element(us)},
          {"checkpoints", checkpoints.load()}};
}

}  // namespace

ordered_json RunStore(const std::string& only) {
  const std::string name = "checkpoint of 90k DoF";
  if (name.find(only) == std::string::npos) return ordered_json::array();
  const physics::SceneResult scene = physics::LoadSceneYaml(kLargeBlock, "block.yaml");
  if (!scene.ok()) return ordered_json::array({{{"case", name}, {"note", "no scene"}}});
  physics::World world(scene.model);
  const double start = Now();
  const absl::Status stepped = world.Step();
  const double step_ms = 1e3 * (Now() - start);
  const auto snapshot = world.TakeSnapshot();
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/checkpoint";

  std::string bytes;
  ordered_json row{{"case", name},
                   {"dofs", scene.model->velocity_offsets.back()},
                   {"converged", stepped.ok()},
                   {"first_step_ms", step_ms}};
  const ordered_json written = Measure([&] {
    bytes = server::EncodeCheckpoint(*snapshot, {});
    if (!server::WriteWholeFile(file, bytes).ok()) std::perror("write");
  });
  const ordered_json synced = Measure([&] {
    if (!server::WriteDurably(file, bytes).ok()) std::perror("write");
  });
  const ordered_json restored = Measure([&] {
    const auto contents = server::ReadCheckpoint(file);
    if (!contents.ok() || !world.Restore(contents->state).ok()) std::perror("restore");
    world.TakeSnapshot();
  });
  const ordered_json notes = MeasureNotes(folder.path() + "/data", snapshot);
  row["bytes"] = static_cast<std::int64_t>(bytes.size());
  row["checkpoint_ms"] = written["median"];
  row["checkpoint_p95_ms"] = written["p95"];
  row["fsync_ms"] = synced["median"];
  row["restore_ms"] = restored["median"];
  row["restore_p95_ms"] = restored["p95"];
  row["note_us"] = notes.value("median", -1.0);
  row["note_max_us"] = notes.value("max", -1.0);
  return ordered_json::array({row});
}

}  // namespace pliant::benchmarks
