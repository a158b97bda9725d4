// Lockstep from a C++ client: one thread, one connection.

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "benchmarks/measure.h"
#include "benchmarks/server/cases.h"
#include "benchmarks/server/server_client.h"

namespace pliant::benchmarks {
namespace {

// A box that rests on the ground without sleeping, so that every step solves a contact.
constexpr char kOneBody[] = R"(name: one_body
sleeping: false
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: box, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05]},
     shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
)";

constexpr int kWorlds = 64;
constexpr int kTurns = 10;
constexpr double kTurn = 0.3;  // [s]

// A client requests a step by a call of its own, or by a message of a stream.
enum class Request { kCall, kMessage };

// A server with a world of one body, and one client's measurements of its steps.
class Lockstep {
 public:
  explicit Lockstep(Request request, const std::vector<std::string>& flags = {})
      : request_(request), server_(flags), client_(server_.grpc_address()) {
    client_.Create("w", kOneBody);
    client_.Step("w", 500);
    message_.add_requests()->set_name("worlds/w");
    stream_ = client_.worlds->Lockstep(&context_);
  }
  ~Lockstep() {
    stream_->WritesDone();
    stream_->Finish();
  }

  void TakeTurn() {
    const double start = Now(), end = start + kTurn, spun = MeasureSpinning();
    while (Now() < end) {
      const double sent = Now();
      const double in_step = Step();
      round_trips_.push_back(Now() - sent);
      above_.push_back(round_trips_.back() - in_step);
    }
    elapsed_ += Now() - start;
    spinning_ += MeasureSpinning() - spun;
  }
  void CallInstead() {
    for (const double end = Now() + kTurn; Now() < end;) {
      const double sent = Now();
      client_.CheckHealth();
      bare_.push_back(Now() - sent);
    }
  }

  double rate() const { return static_cast<double>(round_trips_.size()) / elapsed_; }
  double above_step() const { return Quantile(above_, 0.5); }
  Rows MakeRow(const char* name) const {
    return {{"case", name},
            {"steps_per_s", rate()},
            {"round_trip_us", 1e6 * Quantile(round_trips_, 0.5)},
            {"round_trip_p99_us", 1e6 * Quantile(round_trips_, 0.99)},
            {"above_step_us", 1e6 * above_step()},
            {"bare_call_us", 1e6 * Quantile(bare_, 0.5)},
            {"above_bare_call_us", 1e6 * (above_step() - Quantile(bare_, 0.5))},
            {"spinning_processors", spinning_ / elapsed_},
            {"goal", {{"steps_per_s", 6000}, {"above_step_us", 150}}}};
  }

 private:
  // Returns the time of the step itself [s].
  double Step() {
    if (request_ == Request::kCall) return client_.Step("w", 1).report().step_seconds();
    v1::StepWorldsResponse response;
    if (!stream_->Write(message_) || !stream_->Read(&response)) {
      Require(stream_->Finish(), "Lockstep");
      std::abort();
    }
    return response.results(0).response().report().step_seconds();
  }
  double MeasureSpinning() const { return server_.process().MeasureThreads("awake ").cpu; }

  const Request request_;
  ServerProcess server_;
  Connection client_;
  grpc::ClientContext context_;
  v1::StepWorldsRequest message_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::StepWorldsRequest, v1::StepWorldsResponse>> stream_;
  std::vector<double> round_trips_, above_, bare_;
  double elapsed_ = 0, spinning_ = 0;  // [s]
};

}  // namespace

void RunLockstep(Rows* rows) {
  const std::vector<std::string> spin{"--spin-lockstep", "200"};
  Lockstep halting(Request::kCall), awake(Request::kCall, spin), streaming(Request::kMessage),
      streaming_awake(Request::kMessage, spin);
  // alternate servers and calls that do nothing, so that all see the same machine load
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Lockstep* each : {&halting, &awake, &streaming, &streaming_awake}) {
      each->TakeTurn();
      each->CallInstead();
    }
  }
  rows->push_back(halting.MakeRow("lockstep"));
  rows->push_back(awake.MakeRow("lockstep_spin"));
  rows->back()["rate_ratio"] = awake.rate() / halting.rate();
  rows->back()["above_step_ratio"] = awake.above_step() / halting.above_step();
  rows->push_back(streaming.MakeRow("lockstep_stream"));
  rows->push_back(streaming_awake.MakeRow("lockstep_stream_spin"));
}

void RunStepWorlds(Rows* rows) {
  ServerProcess server({"--max-worlds", "100"});
  Connection client(server.grpc_address());
  v1::StepWorldsRequest request;
  for (int i = 0; i < kWorlds; ++i) {
    const std::string id = absl::StrCat("w", i);
    client.Create(id, kOneBody);
    request.add_requests()->set_name("worlds/" + id);
  }
  for (const int steps : {1, 10}) {
    for (v1::StepWorldRequest& each : *request.mutable_requests()) each.set_steps(steps);
    std::vector<double> calls;
    const double start = Now(), cpu = server.process().MeasureCpu();
    while (Now() - start < 3) {
      grpc::ClientContext context;
      v1::StepWorldsResponse response;
      const double sent = Now();
      Require(client.worlds->StepWorlds(&context, request, &response), "StepWorlds");
      calls.push_back(Now() - sent);
    }
    const double elapsed = Now() - start,
                 count = static_cast<double>(calls.size()) * kWorlds * steps;
    rows->push_back(
        {{"case", absl::StrCat("step_worlds_64x", steps)},
         {"world_steps_per_s", count / elapsed},
         {"call_ms", 1e3 * Quantile(calls, 0.5)},
         {"server_cpu_us_per_step", 1e6 * (server.process().MeasureCpu() - cpu) / count},
         {"goal", {{"world_steps_per_s", 50000}}}});
  }
}

}  // namespace pliant::benchmarks
