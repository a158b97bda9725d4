// Lockstep from a C++ client: one thread, one connection.

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

// A server with a world of one body, and one client's measurements of its steps.
class Lockstep {
 public:
  explicit Lockstep(const std::vector<std::string>& flags = {})
      : server_(flags), client_(server_.grpc_address()) {
    client_.Create("w", kOneBody);
    client_.Step("w", 500);
  }

  void TakeTurn() {
    const double start = Now(), end = start + kTurn, spun = MeasureSpinning();
    while (Now() < end) {
      const double sent = Now();
      const v1::StepWorldResponse response = client_.Step("w", 1);
      round_trips_.push_back(Now() - sent);
      above_.push_back(round_trips_.back() - response.report().step_seconds());
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
  double MeasureSpinning() const { return server_.process().MeasureThreads("awake ").cpu; }

  ServerProcess server_;
  Connection client_;
  std::vector<double> round_trips_, above_, bare_;
  double elapsed_ = 0, spinning_ = 0;  // [s]
};

}  // namespace

void RunLockstep(Rows* rows) {
  Lockstep halting, awake({"--spin-lockstep", "200"});
  // alternate servers and calls that do nothing, so that all see the same machine load
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Lockstep* each : {&halting, &awake}) {
      each->TakeTurn();
      each->CallInstead();
    }
  }
  rows->push_back(halting.MakeRow("lockstep"));
  rows->push_back(awake.MakeRow("lockstep_spin"));
  rows->back()["rate_ratio"] = awake.rate() / halting.rate();
  rows->back()["above_step_ratio"] = awake.above_step() / halting.above_step();
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
