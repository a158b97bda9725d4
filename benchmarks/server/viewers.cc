// Many viewers, and an operator who must not notice them.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <signal.h>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

#include "benchmarks/measure.h"
#include "benchmarks/server/bare_sends.h"
#include "benchmarks/server/cases.h"
#include "benchmarks/server/server_client.h"
#include "benchmarks/server/viewer.h"

namespace pliant::benchmarks {
namespace {

constexpr double kSettle = 3;  // [s]
constexpr char kWorld[] = "balls";
constexpr char kSteppingThread[] = "step ";
constexpr char kFramesSent[] = "pliant_frames_sent_total";
constexpr char kLateness[] = "pliant_step_start_lateness_seconds";

void Sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Viewers of one kind, at 30 Hz.
std::unique_ptr<ChildProcess> Watch(const ServerProcess& server, const std::string& transport,
                                    const std::string& tier, int count,
                                    double bits_per_second = 0) {
  ViewerOptions options;
  options.transport = transport;
  options.address = transport == "grpc" ? server.grpc_address() : server.http_address();
  options.world = kWorld;
  options.decimated = tier == "decimated";
  options.bits_per_second = bits_per_second;
  options.count = count;
  return StartViewers(options);
}

// An operator that commands the paddle at 100 Hz, for as long as it exists.
class Operator {
 public:
  explicit Operator(const std::string& address) : connection_(address) {
    grpc::ClientContext context;
    v1::AcquireLeaseRequest request;
    request.set_world(std::string("worlds/") + kWorld);
    request.set_target("paddle");
    request.set_client("operator");
    Require(connection_.control->AcquireLease(&context, request, &lease_), "AcquireLease");
    stream_ = connection_.control->Command(&context_);
    writer_ = std::thread([this] { Write(); });
    reader_ = std::thread([this] { Read(); });
  }
  ~Operator() { Stop(); }

  // Times from the receipt of commands to the start of the step that used them [s].
  const std::vector<double>& Stop() {
    if (!stopped_.exchange(true)) {
      writer_.join();
      context_.TryCancel();
      reader_.join();
    }
    return latencies_;
  }

 private:
  void Write() {
    auto next = std::chrono::steady_clock::now();
    for (std::uint64_t sequence = 1; !stopped_.load(); ++sequence) {
      v1::CommandRequest command;
      command.set_world(lease_.world());
      command.set_lease_id(lease_.lease_id());
      command.set_sequence(sequence);
      const double phase = 0.01 * static_cast<double>(sequence);
      for (const double number : {0.0, 0.0, 0.05 * std::cos(phase)})
        command.mutable_twist()->add_linear(number);
      for (int i = 0; i < 3; ++i) command.mutable_twist()->add_angular(0);
      if (!stream_->Write(command)) return;
      next += std::chrono::milliseconds(10);
      std::this_thread::sleep_until(next);
    }
  }

  void Read() {
    v1::CommandResponse response;
    std::uint64_t last = 0;
    while (stream_->Read(&response)) {
      if (response.applied_step() == 0 || response.sequence() == last) continue;
      last = response.sequence();
      latencies_.push_back(response.latency());
    }
  }

  Connection connection_;
  v1::Lease lease_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CommandRequest, v1::CommandResponse>> stream_;
  std::atomic<bool> stopped_{false};
  std::vector<double> latencies_;
  std::thread writer_, reader_;
};

// Measurements of a period with an operator.
struct Period {
  double steps, seconds, latency_p99_ms, jitter_p99_ms, memory_mb;
  double frames;  // sent by the server
  // of the stepping thread, and of all other threads of the server
  ChildProcess::ThreadTimes stepping, others;

  double rate() const { return steps / seconds; }                      // [1/s]
  double frame_rate() const { return frames / seconds; }               // [1/s]
  double step_cpu_ms() const { return 1e3 * stepping.cpu / steps; }    // of one step
  double step_wait_ms() const { return 1e3 * stepping.wait / steps; }  // for a processor
};

ChildProcess::ThreadTimes operator-(const ChildProcess::ThreadTimes& a,
                                    const ChildProcess::ThreadTimes& b) {
  return {a.cpu - b.cpu, a.wait - b.wait};
}

// Waits until a step has ended and returns its number. A period has few steps, so it must begin and
// end between steps.
double AwaitStep(Connection& client) {
  const std::int64_t before = client.Get(kWorld).step();
  while (true) {
    const std::int64_t step = client.Get(kWorld).step();
    if (step != before) return static_cast<double>(step);
    Sleep(1e-3);
  }
}

Period Measure(ServerProcess& server, Connection& client, double seconds) {
  const ChildProcess& process = server.process();
  const std::string before = server.FetchMetrics();
  Period period{};
  Operator driver(server.grpc_address());
  const double first = AwaitStep(client), start = Now(), sent = server.ReadMetric(kFramesSent);
  const auto stepping = process.MeasureThreads(kSteppingThread),
             others = process.MeasureThreads(kSteppingThread, true);
  Sleep(seconds);
  period.steps = AwaitStep(client) - first;
  period.frames = server.ReadMetric(kFramesSent) - sent;
  period.seconds = Now() - start;
  period.stepping = process.MeasureThreads(kSteppingThread) - stepping;
  period.others = process.MeasureThreads(kSteppingThread, true) - others;
  const std::vector<double> latencies = driver.Stop();
  period.latency_p99_ms = latencies.empty() ? std::nan("") : 1e3 * Quantile(latencies, 0.99);
  period.jitter_p99_ms = 1e3 * server.ReadQuantile(kLateness, 0.99, before);
  period.memory_mb = process.MeasureMemory();
  return period;
}

// A period with viewers that keep up. A fifth of them receive all vertices, the others decimated
// surfaces.
struct Watching {
  Period period;
  Seen full, decimated;

  Seen seen() const { return full + decimated; }
  std::size_t frame_bytes() const { return SizeOf(seen()); }
  // Mean cost of a frame, given that of each tier [s].
  double Average(double full_cost, double decimated_cost) const {
    return (full.frames * full_cost + decimated.frames * decimated_cost) /
           std::max(1.0, seen().frames);
  }
  static std::size_t SizeOf(const Seen& tier) {
    return static_cast<std::size_t>(tier.bytes / std::max(1.0, tier.frames));
  }
};

// Starts, for each transport, one process of `count` viewers with all vertices and four with fewer.
Watching MeasureViewers(ServerProcess& server, Connection& client, double seconds,
                        const std::vector<std::string>& transports, int count) {
  std::vector<std::unique_ptr<ChildProcess>> full, decimated;
  for (const std::string& transport : transports) {
    full.push_back(Watch(server, transport, "full", count));
    for (int i = 0; i < 4; ++i) decimated.push_back(Watch(server, transport, "decimated", count));
  }
  Sleep(kSettle);
  Watching watching{};
  watching.period = Measure(server, client, seconds);
  watching.full = StopViewers(&full);
  watching.decimated = StopViewers(&decimated);
  return watching;
}

}  // namespace

std::string SoftBallsScene() {
  // surfaces of 162 and of 252 vertices, about 20,000 together
  constexpr int kCoarse = 58;
  std::string bodies, instances;
  const auto add = [&](const char* name, double edge, int first, int end) {
    absl::StrAppend(&bodies, "  - {name: ", name, ", template: true, deformable: {",
                    "mesh: {sphere: {radius: 0.05}, edge_length: ", edge, "}, material: {",
                    "model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4, ",
                    "density: 1000}, damping: {beta: 0.01}}}\n");
    absl::StrAppend(&instances, "  - {of: ", name, ", count: ", end - first, ", poses: [");
    for (int i = first; i < end; ++i) {
      absl::StrAppend(&instances, i > first ? ", " : "", "{position: [", 0.15 * (i % 10), ", ",
                      0.15 * (i / 10), ", 0.05]}");
    }
    absl::StrAppend(&instances, "]}\n");
  };
  add("coarse", 0.0122, 0, kCoarse);
  add("fine", 0.0105, kCoarse, 100);
  return R"(name: soft_balls
time_step: 0.033
sleeping: false
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: paddle, rigid: {motion: KINEMATIC, pose: {position: [-0.5, 0, 0.5]},
     shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
)" + bodies +
         "instances:\n" + instances;
}

void RunViewers(double seconds, Rows* rows) {
  ServerProcess server({"--threads", "1"});
  Connection client(server.grpc_address());
  const v1::World world = client.Create(kWorld, SoftBallsScene());
  client.RunInRealTime(kWorld);
  Sleep(kSettle);
  const Period alone = Measure(server, client, seconds);

  // few viewers of each kind, for which each state is computed and encoded as for many; then many
  // over each transport
  const Watching few = MeasureViewers(server, client, seconds, {"grpc", "ws"}, 1),
                 over_grpc = MeasureViewers(server, client, seconds, {"grpc"}, 10),
                 over_ws = MeasureViewers(server, client, seconds, {"ws"}, 10);

  // 90 viewers that keep up, in ten processes, five that are stopped and five behind slow links;
  // half of them over each transport, a fifth with all vertices
  std::vector<std::unique_ptr<ChildProcess>> full, decimated, stalled;
  for (const char* transport : {"grpc", "ws"}) {
    full.push_back(Watch(server, transport, "full", 9));
    for (int i = 0; i < 4; ++i) decimated.push_back(Watch(server, transport, "decimated", 9));
  }
  for (int i = 0; i < 5; ++i) {
    const std::string transport = i % 2 == 0 ? "grpc" : "ws";
    const std::string tier = i == 0 ? "full" : "decimated";
    stalled.push_back(Watch(server, transport, tier, 1));
    (i == 0 ? full : decimated).push_back(Watch(server, transport, tier, 1, 1e6));
  }
  Sleep(kSettle);
  for (const auto& viewer : stalled) viewer->Signal(SIGSTOP);
  const Period watched = Measure(server, client, seconds);
  for (const auto& viewer : stalled) viewer->Signal(SIGCONT);
  Sleep(2);
  const Seen late = StopViewers(&stalled);
  const Watching all{watched, StopViewers(&full), StopViewers(&decimated)};

  // Threads other than the stepping one serve the operator, compute and encode each state once for
  // all viewers, and send frames: cpu = operator + states · per_state + frames · per_frame, where a
  // frame of few viewers is of either transport.
  const auto cpu_of = [&](const Period& period) {
    return period.others.cpu / period.seconds - alone.others.cpu / alone.seconds;
  };
  double cpu = cpu_of(few.period), states = few.period.rate();
  for (const Watching* over : {&over_grpc, &over_ws}) {
    const double share = few.period.frame_rate() / 2 / over->period.frame_rate();
    cpu -= share * cpu_of(over->period);
    states -= share * over->period.rate();
  }
  const double per_state = cpu / states;
  const auto per_frame = [&](const Period& period) {
    return (cpu_of(period) - period.rate() * per_state) / period.frame_rate();
  };

  // the same bytes in a bare `send`, and the same frames to as many sleeping readers, in the
  // proportion in which the viewers got them
  const double interval = 1 / watched.rate();
  const auto fan_out = [&](const Watching& watching, int readers, const auto& measure) {
    const std::size_t sizes[] = {Watching::SizeOf(watching.full),
                                 Watching::SizeOf(watching.decimated)};
    const std::vector<double> times =
        measure({{readers / 5, sizes[0]}, {readers * 4 / 5, sizes[1]}}, interval);
    return watching.Average(times[0], times[1]);
  };
  const double bare = MeasureBareSend(all.frame_bytes()),
               bare_fan_out = fan_out(all, 100, MeasureBareFanOut),
               bare_grpc = fan_out(over_grpc, 50, MeasureBareGrpcFanOut);
  const double ws = per_frame(over_ws.period), grpc = per_frame(over_grpc.period);
  rows->push_back({{"case", "viewers_100"},
                   {"dofs", world.size().dofs()},
                   {"steps_per_s_alone", alone.rate()},
                   {"rate_kept", watched.rate() / alone.rate()},
                   {"step_cpu_ms_alone", alone.step_cpu_ms()},
                   {"step_cpu_ms", watched.step_cpu_ms()},
                   {"step_wait_ms_alone", alone.step_wait_ms()},
                   {"step_wait_ms", watched.step_wait_ms()},
                   {"latency_p99_ms_alone", alone.latency_p99_ms},
                   {"latency_p99_ms", watched.latency_p99_ms},
                   {"jitter_p99_ms_more", watched.jitter_p99_ms - alone.jitter_p99_ms},
                   {"memory_mb_more", watched.memory_mb - alone.memory_mb},
                   {"frames_per_s", watched.frame_rate()},
                   {"cpu_ms_per_state", 1e3 * per_state},
                   {"frame_kb", 1e-3 * static_cast<double>(all.frame_bytes())},
                   {"cpu_us_per_frame", 1e6 * per_frame(watched)},
                   {"cpu_us_per_frame_ws", 1e6 * ws},
                   {"cpu_us_per_frame_grpc", 1e6 * grpc},
                   {"bare_send_us", 1e6 * bare},
                   {"cpu_over_bare_send", per_frame(watched) / bare},
                   {"ws_over_bare_send", ws / bare},
                   {"grpc_over_bare_send", grpc / bare},
                   {"bare_fan_out_us", 1e6 * bare_fan_out},
                   {"cpu_over_bare_fan_out", per_frame(watched) / bare_fan_out},
                   {"bare_grpc_us", 1e6 * bare_grpc},
                   {"grpc_over_bare_grpc", grpc / bare_grpc},
                   {"stale_after_stall", late.stale},
                   {"goal",
                    {{"rate_kept", 0.98},
                     {"latency_p99_ms", "one step + 2"},
                     {"jitter_p99_ms_more", 1},
                     {"memory_mb_more", 50},
                     {"cpu_over_bare_send", 3},
                     {"ws_over_bare_send", 3},
                     {"grpc_over_bare_send", 3},
                     {"cpu_over_bare_fan_out", 3},
                     {"stale_after_stall", 2}}}});
}

void RunFrameLag(Rows* rows) {
  ServerProcess server({"--scene", PLIANT_SOURCE_DIR "/scenes/soft_ball.yaml"});
  std::vector<std::unique_ptr<ChildProcess>> viewers;
  for (const bool is_grpc : {true, false}) {
    ViewerOptions options;
    options.transport = is_grpc ? "grpc" : "ws";
    options.address = is_grpc ? server.grpc_address() : server.http_address();
    options.world = "default";
    options.rate = 60;
    options.count = 5;
    viewers.push_back(StartViewers(options));
  }
  Sleep(1);
  const std::string before = server.FetchMetrics();
  Sleep(5);
  const double median = server.ReadQuantile("pliant_frame_lag_seconds", 0.5, before);
  const double p99 = server.ReadQuantile("pliant_frame_lag_seconds", 0.99, before);
  const Seen seen = StopViewers(&viewers);
  rows->push_back({{"case", "frame_lag"},
                   {"frames", seen.frames},
                   {"lag_ms", 1e3 * median},
                   {"lag_p99_ms", 1e3 * p99},
                   {"goal", {{"lag_p99_ms", 2}}}});
}

}  // namespace pliant::benchmarks
