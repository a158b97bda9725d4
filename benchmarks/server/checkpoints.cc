#include "benchmarks/server/checkpoints.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"

#include "benchmarks/measure.h"
#include "benchmarks/report/temporary_folder.h"
#include "benchmarks/server/cases.h"
#include "benchmarks/server/server_client.h"

namespace pliant::benchmarks {
namespace {

constexpr int kRepetitions = 15;
constexpr int kStepsOfPeriod = 12;
constexpr int kPeriods = 3;
constexpr char kBlock[] = "worlds/block";
constexpr char kCheckpoint[] = "named";

void CreateDurableBlock(Connection* client) {
  grpc::ClientContext context;
  v1::CreateWorldRequest request;
  request.set_world_id("block");
  request.set_scene_yaml(kLargeBlock);
  request.set_durable(true);
  v1::World world;
  Require(client->worlds->CreateWorld(&context, request, &world), "CreateWorld");
}

v1::Checkpoint Checkpoint(Connection* client) {
  grpc::ClientContext context;
  v1::CheckpointWorldRequest request;
  request.set_name(kBlock);
  request.set_checkpoint_id(kCheckpoint);
  v1::CheckpointWorldResponse response;
  Require(client->worlds->CheckpointWorld(&context, request, &response), "CheckpointWorld");
  return response.checkpoint();
}

void DeleteCheckpoint(Connection* client) {
  grpc::ClientContext context;
  v1::DeleteCheckpointRequest request;
  request.set_name(absl::StrCat(kBlock, "/checkpoints/", kCheckpoint));
  google::protobuf::Empty empty;
  Require(client->worlds->DeleteCheckpoint(&context, request, &empty), "DeleteCheckpoint");
}

void Restore(Connection* client) {
  grpc::ClientContext context;
  v1::RestoreWorldRequest request;
  request.set_name(kBlock);
  request.set_checkpoint(absl::StrCat(kBlock, "/checkpoints/", kCheckpoint));
  v1::World world;
  Require(client->worlds->RestoreWorld(&context, request, &world), "RestoreWorld");
}

void SetClock(Connection* client, bool runs) {
  grpc::ClientContext context;
  v1::SetClockRequest request;
  request.set_name(kBlock);
  if (runs) {
    request.mutable_free_run();
  } else {
    request.mutable_paused();
  }
  v1::World world;
  Require(client->worlds->SetClock(&context, request, &world), "SetClock");
}

// Measures times between steps of a free-running world [ms], as a viewer sees them.
class StepWatch {
 public:
  explicit StepWatch(const std::string& address) : connection_(address) {
    stream_ = connection_.streams->Subscribe(&context_);
    v1::SubscribeRequest request;
    request.mutable_subscription()->set_world(kBlock);
    request.mutable_subscription()->set_rate(1000);
    request.mutable_subscription()->set_tier(v1::TIER_DECIMATED);
    stream_->Write(request);
  }
  ~StepWatch() { context_.TryCancel(); }

  void Add(int steps, std::vector<double>* intervals) {
    // skip buffered frames, and the interval that has already begun
    AwaitStep();
    AwaitStep();
    for (int i = 0; i < steps; ++i) {
      const double before = last_;
      AwaitStep();
      intervals->push_back(1e3 * (last_ - before));
    }
  }

 private:
  void AwaitStep() {
    v1::SubscribeResponse response;
    do {
      if (!stream_->Read(&response)) std::exit(1);
    } while (response.frame().step() == step_);
    step_ = response.frame().step();
    last_ = Now();
  }

  Connection connection_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SubscribeRequest, v1::SubscribeResponse>> stream_;
  std::int64_t step_ = -1;
  double last_ = 0;
};

template <typename Work>
double MedianMs(const Work& work) {
  std::vector<double> ms;
  for (int i = 0; i < kRepetitions; ++i) {
    const double start = Now();
    work();
    ms.push_back(1e3 * (Now() - start));
  }
  return Quantile(ms, 0.5);
}

// Time to sync a new file of `bytes` bytes and its folder [s]: the disk's share of a checkpoint.
double MeasureSync(const std::string& folder, std::size_t bytes) {
  const std::string contents(bytes, 'x'), path = folder + "/sync";
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600),
            parent = open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  const bool written = write(file, contents.data(), bytes) == static_cast<ssize_t>(bytes);
  const double start = Now();
  const bool synced = written && fsync(file) == 0 && fsync(parent) == 0;
  const double elapsed = Now() - start;
  close(file);
  close(parent);
  std::filesystem::remove(path);
  if (!synced) std::exit(1);
  return elapsed;
}

}  // namespace

void RunCheckpoints(Rows* rows) {
  const TemporaryFolder folder;
  ServerProcess server({"--data-dir", folder.path() + "/data"});
  Connection client(server.grpc_address());
  CreateDurableBlock(&client);
  client.Step("block", 3);

  // checkpoints of a paused world
  std::vector<double> checkpoints, syncs;
  v1::Checkpoint checkpoint;
  for (int i = 0; i < kRepetitions; ++i) {
    if (i > 0) DeleteCheckpoint(&client);
    const double start = Now();
    checkpoint = Checkpoint(&client);
    checkpoints.push_back(1e3 * (Now() - start));
    syncs.push_back(1e3 * MeasureSync(folder.path(), static_cast<std::size_t>(checkpoint.size())));
  }
  client.Step("block", 1);
  const double restore = MedianMs([&] { Restore(&client); });
  if (client.Get("block").state_hash() != checkpoint.state_hash()) std::exit(1);

  // steps of the running world, alternately alone and during back-to-back checkpoints
  std::vector<double> alone, meanwhile;
  std::atomic<int> taken{0};
  {
    SetClock(&client, true);
    StepWatch watch(server.grpc_address());
    for (int period = 0; period < kPeriods; ++period) {
      watch.Add(kStepsOfPeriod, &alone);
      std::atomic<bool> done{false};
      std::thread writer([&] {
        Connection own(server.grpc_address());
        for (; !done.load(); ++taken) {
          DeleteCheckpoint(&own);
          Checkpoint(&own);
        }
      });
      watch.Add(kStepsOfPeriod, &meanwhile);
      done.store(true);
      writer.join();
    }
    SetClock(&client, false);
  }
  const double step = Quantile(alone, 0.5), longest_alone = *std::ranges::max_element(alone),
               longest = *std::ranges::max_element(meanwhile);
  rows->push_back(
      {{"case", "checkpoint_rpc"},
       {"dofs", client.Get("block").size().dofs()},
       {"bytes", checkpoint.size()},
       {"checkpoint_ms", Quantile(checkpoints, 0.5)},
       {"sync_ms", Quantile(syncs, 0.5)},
       {"restore_ms", restore},
       {"checkpoints_while_stepping", taken.load()},
       {"interval_ms_alone", step},
       {"interval_ms", Quantile(meanwhile, 0.5)},
       {"interval_max_ms_alone", longest_alone},
       {"interval_max_ms", longest},
       {"stall_steps", std::max(0.0, longest - longest_alone) / step},
       {"goal", {{"checkpoint_ms", "50 + sync_ms"}, {"restore_ms", 200}, {"stall_steps", 1}}}});
}

}  // namespace pliant::benchmarks
