// Lockstep from a C++ client: one thread, one connection.

#include <vector>

#include "absl/strings/str_cat.h"

#include "benchmarks/measure.h"
#include "benchmarks/server/cases.h"
#include "benchmarks/server/server_client.h"

namespace pliant::benchmarks {
namespace {

// A box that slides on the ground, so that every step solves a contact.
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

}  // namespace

void RunLockstep(Rows* rows) {
  ServerProcess server;
  Connection client(server.grpc_address());
  client.Create("w", kOneBody);
  client.Step("w", 500);
  // in turns with calls that do nothing, so that both meet the same load of the machine
  std::vector<double> round_trips, above, bare;
  double elapsed = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const double start = Now();
    while (Now() - start < kTurn) {
      const double sent = Now();
      const v1::StepWorldResponse response = client.Step("w", 1);
      round_trips.push_back(Now() - sent);
      above.push_back(round_trips.back() - response.report().step_seconds());
    }
    elapsed += Now() - start;
    for (const double end = Now() + kTurn; Now() < end;) {
      const double sent = Now();
      client.CheckHealth();
      bare.push_back(Now() - sent);
    }
  }
  const double above_median = Quantile(above, 0.5), bare_median = Quantile(bare, 0.5);
  rows->push_back({{"case", "lockstep"},
                   {"steps_per_s", static_cast<double>(round_trips.size()) / elapsed},
                   {"round_trip_us", 1e6 * Quantile(round_trips, 0.5)},
                   {"round_trip_p99_us", 1e6 * Quantile(round_trips, 0.99)},
                   {"above_step_us", 1e6 * above_median},
                   {"bare_call_us", 1e6 * bare_median},
                   {"above_bare_call_us", 1e6 * (above_median - bare_median)},
                   {"goal", {{"steps_per_s", 6000}, {"above_step_us", 150}}}});
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
