#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#include "clients/cli/commands.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct BenchArguments {
  std::string file;
  std::string shipped;
  int worlds = 16;
  double seconds = 2;  // of each measurement
};

// A box that rests on the floor and never sleeps, and a body to command.
constexpr char kScene[] = R"(name: bench
sleeping: false
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: box, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.05]},
     shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
  - {name: paddle, rigid: {motion: KINEMATIC, pose: {position: [0, 0, 1]},
     shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
)";
constexpr char kPaddle[] = "paddle";
constexpr double kCommandRate = 100;  // [1/s]
constexpr int kWarmUp = 20;           // calls that are not measured

double SecondsSince(SteadyClock::time_point begun) {
  return std::chrono::duration<double>(SteadyClock::now() - begun).count();
}

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// The measured worlds. The destructor deletes them, also after an interrupt.
class BenchWorlds {
 public:
  BenchWorlds() = default;
  ~BenchWorlds() {
    for (const World& world : worlds_) world.Delete().IgnoreError();
  }
  BenchWorlds(const BenchWorlds&) = delete;

  void Create(Session* session, const BenchArguments& arguments) {
    v1::CreateWorldRequest request;
    (*request.mutable_labels())["purpose"] = "bench";
    request.set_idle_timeout(300);  // in case this program is killed
    for (int i = 0; i < arguments.worlds; ++i) {
      request.set_world_id(absl::StrCat("bench-", getpid(), "-", i));
      // noted before the call, because an interrupted call may have created the world
      worlds_.push_back(session->client().GetWorld(request.world_id()));
      if (!arguments.file.empty()) {
        session->Value(session->client().CreateWorldFromFile(arguments.file, request));
      } else if (!arguments.shipped.empty()) {
        request.set_shipped_scene(arguments.shipped);
        session->Value(session->client().CreateWorld(request));
      } else {
        request.set_scene_yaml(kScene);
        session->Value(session->client().CreateWorld(request));
      }
      if (Interrupted()) throw CommandError(kInterrupted, "");
    }
    for (const World& world : worlds_) session->Value(world.Pause());
  }

  const World& first() const { return worlds_.front(); }
  const std::vector<World>& all() const { return worlds_; }

 private:
  std::vector<World> worlds_;
};

// Durations of repeated calls [s].
struct Calls {
  std::vector<double> times;
  double elapsed = 0;  // [s]
};

// Repeats a call for `seconds`, after some that are not measured.
Calls Repeat(double seconds, const std::function<void()>& call) {
  for (int i = 0; i < kWarmUp; ++i) call();
  Calls calls;
  const auto begun = SteadyClock::now();
  while ((calls.elapsed = SecondsSince(begun)) < seconds) {
    if (Interrupted()) throw CommandError(kInterrupted, "");
    const auto sent = SteadyClock::now();
    call();
    calls.times.push_back(SecondsSince(sent));
  }
  return calls;
}

// Rows of the report: a name, numbers for JSON, and a line of text.
class Rows {
 public:
  explicit Rows(bool as_json) : as_json_(as_json) {}
  void Add(const std::string& name, const nlohmann::ordered_json& numbers,
           const std::string& text) {
    rows_[name] = numbers;
    if (!as_json_) PrintLine(absl::StrFormat("%-10s %s", name, text));
  }
  void Print() const {
    if (as_json_) PrintLine(rows_.dump());
  }

 private:
  const bool as_json_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::object();
};

void MeasureCalls(Session* session, double seconds, Rows* rows) {
  const Calls calls =
      Repeat(seconds, [&] { session->Value(session->client().Call(v1::GetServerRequest())); });
  const double median = 1e6 * Quantile(calls.times, 0.5), p99 = 1e6 * Quantile(calls.times, 0.99);
  rows->Add("call", {{"median_us", median}, {"p99_us", p99}},
            absl::StrFormat("%.0f µs round trip, 99 %%: %.0f µs", median, p99));
}

// Steps of one world by calls, and over a stream.
void MeasureLockstep(Session* session, const World& world, double seconds, Rows* rows) {
  v1::StepWorldRequest request;
  request.set_name(world.name());
  Lockstep stream(world.client());
  for (const bool is_streamed : {false, true}) {
    double stepping = 0;  // [s]
    const Calls calls = Repeat(seconds, [&] {
      const auto stepped = is_streamed ? stream.Step(request) : world.Step(request);
      stepping += session->Value(stepped).report().step_seconds();
    });
    const auto count = static_cast<double>(calls.times.size());
    const double rate = count / calls.elapsed, median = 1e6 * Quantile(calls.times, 0.5);
    const double step = 1e6 * stepping / (count + kWarmUp);
    rows->Add(
        is_streamed ? "lockstep_stream" : "lockstep",
        {{"steps_per_s", rate}, {"call_us", median}, {"step_us", step}},
        absl::StrFormat("%.0f steps/s of one world, %s; %.0f µs, of which the step takes %.0f",
                        rate, is_streamed ? "over a stream" : "a call each", median, step));
  }
}

void MeasureWorlds(Session* session, const std::vector<World>& worlds, double seconds, Rows* rows) {
  v1::StepWorldsRequest request;
  for (const World& world : worlds) {
    v1::StepWorldRequest* one = request.add_requests();
    one->set_name(world.name());
    one->set_steps(1);
  }
  const Calls calls = Repeat(seconds, [&] {
    const auto response = session->Value(session->client().StepWorlds(request));
    for (const v1::StepWorldResult& result : response.results()) {
      if (result.has_status()) throw CommandError(kRefused, result.status().message());
    }
  });
  const double rate = static_cast<double>(calls.times.size() * worlds.size()) / calls.elapsed;
  rows->Add("worlds", {{"worlds", worlds.size()}, {"world_steps_per_s", rate}},
            absl::StrFormat("%.0f world steps/s of %d worlds in one call", rate, worlds.size()));
}

void MeasureStream(Session* session, const World& world, double seconds, Rows* rows) {
  session->Value(world.Run());
  v1::Subscription request;
  request.set_rate(60);
  const auto subscription = session->Value(world.Subscribe(request));
  Frame frame;
  std::vector<double> gaps;
  auto last = SteadyClock::now();
  const auto begun = last;
  for (double elapsed = 0; elapsed < seconds; elapsed = SecondsSince(begun)) {
    if (Interrupted()) throw CommandError(kInterrupted, "");
    const absl::Status status = subscription->WaitForFrame(&frame, std::chrono::seconds(2));
    session->Check(status);
    const auto now = SteadyClock::now();
    gaps.push_back(std::chrono::duration<double>(now - last).count());
    last = now;
  }
  session->Value(world.Pause());
  const double rate = static_cast<double>(gaps.size()) / SecondsSince(begun);
  const double worst = 1e3 * Quantile(gaps, 0.99), speed = frame.ParseReport().real_time_rate();
  rows->Add("stream", {{"frames_per_s", rate}, {"gap_p99_ms", worst}, {"real_time_rate", speed}},
            absl::StrFormat("%.1f of 60 frames/s, 99 %% of the gaps up to %.1f ms, %.2f of real "
                            "time",
                            rate, worst, speed));
}

void MeasureCommands(Session* session, const World& world, double seconds, Rows* rows) {
  session->Value(world.Run());
  const auto commands = session->Value(world.Command(session->Value(world.Acquire(kPaddle))));
  v1::CommandRequest command;
  for (int i = 0; i < 3; ++i) {
    command.mutable_twist()->add_linear(0);
    command.mutable_twist()->add_angular(0);
  }
  const auto begun = SteadyClock::now();
  for (int i = 0; SecondsSince(begun) < seconds; ++i) {
    if (Interrupted()) throw CommandError(kInterrupted, "");
    std::this_thread::sleep_until(begun + std::chrono::duration<double>(i / kCommandRate));
    session->Check(commands->Send(command));
  }
  session->Check(commands->WaitForAnswer(commands->last_sequence(), std::chrono::seconds(2)));
  const Latency latency = commands->latency();
  session->Check(commands->Close());
  session->Value(world.Pause());
  rows->Add("commands", {{"median_us", 1e6 * latency.median}, {"p99_us", 1e6 * latency.p99}},
            absl::StrFormat("%.0f µs until a command is answered, 99 %%: %.0f µs (at %.0f Hz)",
                            1e6 * latency.median, 1e6 * latency.p99, kCommandRate));
}

// Creates worlds, measures calls, steps, frames and commands of a client, and deletes them.
int Bench(Session* session, const BenchArguments& arguments) {
  Rows rows(session->json());
  MeasureCalls(session, arguments.seconds, &rows);
  const auto begun = SteadyClock::now();
  {
    BenchWorlds worlds;
    worlds.Create(session, arguments);
    const double each = SecondsSince(begun) / arguments.worlds;
    rows.Add("create", {{"ms", 1e3 * each}}, absl::StrFormat("%.2f ms per world", 1e3 * each));
    MeasureLockstep(session, worlds.first(), arguments.seconds, &rows);
    MeasureWorlds(session, worlds.all(), arguments.seconds, &rows);
    MeasureStream(session, worlds.first(), arguments.seconds, &rows);
    const bool is_own = arguments.file.empty() && arguments.shipped.empty();
    if (is_own) MeasureCommands(session, worlds.first(), arguments.seconds, &rows);
  }
  rows.Print();
  return kDone;
}

}  // namespace

void AddBenchCommand(CLI::App* pliant, Session* session, Action* action) {
  const auto arguments = std::make_shared<BenchArguments>();
  CLI::App* bench = pliant->add_subcommand(
      "bench", "Measure calls, steps, streams and commands of a server with worlds of its own");
  bench->footer(
      "The worlds are labelled purpose=bench and deleted at the end. Other load on the server\n"
      "and on this machine affects the numbers.");
  CLI::Option* file =
      bench->add_option("scene", arguments->file, "Scene file (default: a box on the floor)");
  bench->add_option("--shipped", arguments->shipped, "A scene that comes with the server")
      ->excludes(file);
  bench->add_option("--worlds", arguments->worlds, "Number of worlds, up to 256 (default 16)")
      ->check(CLI::Range(1, 256));
  bench->add_option("--seconds", arguments->seconds, "Time for each measurement (default 2)")
      ->check(CLI::Range(0.05, 3600.0));
  bench->callback([=] { *action = [=] { return Bench(session, *arguments); }; });
}

}  // namespace pliant::clients
