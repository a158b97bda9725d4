// Cost of the clients: ./dev bench clients [--case NAME] [--json FILE]. Real processes talk over
// the loopback interface, and rows have their goals beside the figures. Other load on the machine
// affects the figures.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <signal.h>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "benchmarks/measure.h"
#include "benchmarks/report/report.h"
#include "benchmarks/report/temporary_folder.h"
#include "benchmarks/rollouts/cases.h"
#include "benchmarks/server/child_process.h"
#include "pliant/client.h"
#include "tests/counted_allocations.h"

namespace pliant::benchmarks {
namespace {

using Rows = nlohmann::ordered_json;

constexpr char kPaddle[] = R"(name: paddle
time_step: 0.001
bodies:
  - {name: paddle, rigid: {motion: KINEMATIC, shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
)";

// A soft plate with 20,000 surface vertices.
constexpr char kPlate[] = R"(name: plate
bodies:
  - name: plate
    deformable:
      mesh: {box: {size: [1, 1, 0.01]}, edge_length: 0.01}
      pose: {position: [0, 0, 1]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4,
          density: 1000}
)";

[[noreturn]] void Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::exit(1);
}

template <typename T>
T Get(absl::StatusOr<T> result) {
  if (!result.ok()) Fail(result.status());
  return *std::move(result);
}

// A server with its own data directory, which can be killed and restarted on the same port.
class Server {
 public:
  Server() { Start(); }
  void Start() {
    process_ = std::make_unique<ChildProcess>(std::vector<std::string>{
        FindProgram("pliantd"), "serve", "--grpc-port", port_, "--http-port", "0", "--data-dir",
        folder_.path(), "--max-worlds", "100"});
    const auto ready = nlohmann::json::parse(process_->ReadLine(), nullptr, false);
    if (ready.is_discarded()) Fail(absl::UnavailableError("pliantd does not start"));
    address_ = ready["grpc"].get<std::string>();
    port_ = address_.substr(address_.rfind(':') + 1);
  }
  void Kill() {
    process_->Signal(SIGKILL);
    process_->Stop();
  }
  const std::string& address() const { return address_; }
  std::shared_ptr<Client> Connect() const { return Get(Client::Connect({.address = address_})); }

 private:
  const TemporaryFolder folder_;
  std::unique_ptr<ChildProcess> process_;  // ends before its folder is removed
  std::string address_, port_ = "0";
};

World Create(Client* client, const char* scene, bool is_durable = false) {
  v1::CreateWorldRequest request;
  request.set_world_id("bench");
  request.set_scene_yaml(scene);
  request.set_durable(is_durable);
  return Get(client->CreateWorld(request));
}

// Round trip of commands at 200 Hz; the step (1 ms) that applies a command answers it.
void RunCommands(double seconds, Rows* rows) {
  const Server server;
  const auto client = server.Connect();
  const World world = Create(client.get(), kPaddle);
  Get(world.Run());
  const auto commands = Get(world.Command(Get(world.Acquire("paddle"))));
  v1::CommandRequest command;
  for (const double speed : {0.01, 0.0, 0.0}) command.mutable_twist()->add_linear(speed);
  std::vector<double> round_trips;
  auto next = std::chrono::steady_clock::now();
  for (const double end = Now() + seconds; Now() < end;) {
    const double sent = Now();
    absl::Status status = commands->Send(command);
    if (status.ok())
      status = commands->WaitForAnswer(commands->last_sequence(), std::chrono::seconds(10));
    if (!status.ok()) Fail(status);
    round_trips.push_back(Now() - sent);
    std::this_thread::sleep_until(next += std::chrono::milliseconds(5));
  }
  rows->push_back({{"case", "commands_200hz"},
                   {"commands", round_trips.size()},
                   {"median_ms", 1000 * Quantile(round_trips, 0.5)},
                   {"p99_ms", 1000 * Quantile(round_trips, 0.99)},
                   {"goal_p99_ms", 2}});
}

// Time and allocations to decode a frame of a fine surface with strain.
void RunDecoding(Rows* rows) {
  const Server server;
  const auto client = server.Connect();
  const World world = Create(client.get(), kPlate);
  v1::StepWorldRequest request;
  request.mutable_frame()->add_fields(v1::FIELD_MEASURE_VON_MISES_STRAIN);
  const std::string bytes = Get(world.Step(request)).frame().SerializeAsString();
  FrameDecoder decoder(Get(world.Describe()));
  constexpr int kFrames = 500;
  std::vector<double> times;
  times.reserve(kFrames);
  std::int64_t allocations = 0;
  for (int i = 0; i < kFrames; ++i) {
    const std::int64_t before = CountAllocations();
    const double start = Now();
    const absl::Status status = decoder.Decode(std::string_view(bytes));
    times.push_back(Now() - start);
    if (!status.ok()) Fail(status);
    if (i >= 10) allocations += CountAllocations() - before;
  }
  rows->push_back({{"case", "decoding"},
                   {"vertices", decoder.frame().deformables[0].positions().cols()},
                   {"frame_kb", static_cast<double>(bytes.size()) / 1000},
                   {"median_ms", 1000 * Quantile(times, 0.5)},
                   {"allocations", allocations},
                   {"goal_allocations", 0}});
}

// Time from the moment a restarted server listens to the next frame.
void RunReconnecting(Rows* rows) {
  Server server;
  const auto client = server.Connect();
  const World world = Create(client.get(), kPaddle, true);
  const auto frames = Get(world.Subscribe());
  std::vector<double> times;
  Frame frame;
  for (int i = 0; i < 10; ++i) {
    if (absl::Status status = frames->WaitForFrame(&frame, std::chrono::seconds(30)); !status.ok())
      Fail(status);
    server.Kill();
    std::this_thread::sleep_for(std::chrono::milliseconds(300 * i));
    while (frames->TakeLatest(&frame)) continue;
    server.Start();
    const double listens = Now();
    if (absl::Status status = frames->WaitForFrame(&frame, std::chrono::seconds(30)); !status.ok())
      Fail(status);
    times.push_back(Now() - listens);
  }
  rows->push_back({{"case", "reconnect"},
                   {"median_ms", 1000 * Quantile(times, 0.5)},
                   {"max_ms", 1000 * *std::ranges::max_element(times)},
                   {"goal_max_ms", 1000}});
}

// Duration of a process `pliant world list`.
void RunListing(Rows* rows) {
  const Server server;
  const auto client = server.Connect();
  Create(client.get(), kPaddle);
  const std::string command =
      "'" + FindProgram("pliant") + "' --server " + server.address() + " world list > /dev/null";
  std::vector<double> times;
  for (int i = 0; i < 30; ++i) {
    const double start = Now();
    if (std::system(command.c_str()) != 0) Fail(absl::InternalError(command + " failed"));
    times.push_back(Now() - start);
  }
  rows->push_back({{"case", "world_list"},
                   {"median_ms", 1000 * Quantile(times, 0.5)},
                   {"max_ms", 1000 * *std::ranges::max_element(times)},
                   {"goal_median_ms", 100}});
}

// Worlds of one robot in lockstep: each request sends moving targets of the arm's joints, and its
// reply has probes, joint positions and joint velocities.
void RunRollouts(const RolloutCase& one, Rows* rows) {
  const Server server;
  const auto client = server.Connect();
  v1::StepWorldsRequest request;
  v1::StepBatch& batch = *request.mutable_batch();
  std::vector<World> worlds;
  for (int i = 0; i < kRolloutWorlds; ++i) {
    v1::CreateWorldRequest creation;
    creation.set_scene_yaml(one.ReadScene());
    worlds.push_back(Get(client->CreateWorld(creation, PLIANT_SOURCE_DIR "/scenes")));
    batch.add_names(worlds.back().name());
  }
  v1::BatchTarget& target = *batch.add_targets();
  target.set_target(one.robot);
  for (int joint = 1; joint <= kArmJoints; ++joint)
    target.add_joints("iiwa_joint_" + std::to_string(joint));
  batch.mutable_probes()->Assign(one.probes.begin(), one.probes.end());
  batch.set_joints(true);
  Lockstep lockstep(client);
  std::vector<double> calls, actions(kRolloutWorlds * kArmJoints), observed;
  double best = 0;
  for (int turn = 0; turn < 3; ++turn) {
    calls.clear();
    for (const World& world : worlds) Get(world.Reset());
    const double begun = Now();
    for (int count = 0; count < one.rounds; ++count) {
      const double sent = Now();
      for (int k = 0; k < kRolloutWorlds * kArmJoints; ++k)
        actions[k] = one.CalcTarget(count, k / kArmJoints, k % kArmJoints);
      batch.set_actions(actions.data(), actions.size() * sizeof(double));
      const v1::StepWorldsResponse response = Get(lockstep.Step(request));
      const v1::StepBatchResult& result = response.batch();
      if (!result.failures().empty())
        Fail(absl::InternalError(result.failures(0).status().message()));
      observed.clear();
      for (const std::string* bytes :
           {&result.probes(), &result.joint_positions(), &result.joint_velocities()}) {
        const std::size_t at = observed.size();
        observed.resize(at + bytes->size() / sizeof(double));
        std::memcpy(observed.data() + at, bytes->data(), bytes->size());
      }
      if (static_cast<int>(observed.size()) != one.numbers * kRolloutWorlds)
        Fail(absl::InternalError("observations are missing"));
      calls.push_back(Now() - sent);
    }
    best = std::max(best, kRolloutWorlds * static_cast<double>(calls.size()) / (Now() - begun));
  }
  rows->push_back({{"case", one.name},
                   {"worlds", kRolloutWorlds},
                   {"world_steps_per_s", best},
                   {"call_ms", 1000 * Quantile(calls, 0.5)}});
}

int Main(int argc, char** argv) {
  CLI::App app{"Cost of the clients, over the loopback interface."};
  std::string only, json;
  double seconds = 60;
  app.add_option("--case", only, "only the cases whose name contains this");
  app.add_option("--seconds", seconds, "commands_200hz only: duration [s]")->capture_default_str();
  app.add_option("--json", json, "also write the rows to this file; - for standard output");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  Rows rows = Rows::array();
  const auto run = [&](const std::string& name, const auto& measure) {
    if (name.find(only) == std::string::npos) return;
    std::fprintf(stderr, "%s\n", name.c_str());
    measure();
  };
  run("commands_200hz", [&] { RunCommands(seconds, &rows); });
  run("decoding", [&] { RunDecoding(&rows); });
  run("reconnect", [&] { RunReconnecting(&rows); });
  run("world_list", [&] { RunListing(&rows); });
  for (const RolloutCase& one : kRolloutCases) run(one.name, [&] { RunRollouts(one, &rows); });
  return WriteReport({{"suite", "clients"}, {"machine", DescribeMachine()}, {"rows", rows}}, json);
}

}  // namespace
}  // namespace pliant::benchmarks

int main(int argc, char** argv) {
  return pliant::benchmarks::Main(argc, argv);
}
