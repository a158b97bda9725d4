#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "clients/cli/commands.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

struct WatchArguments {
  std::string world;
  double rate = 4;
  int count = 0;
  std::vector<std::string> plots;
};

constexpr std::size_t kMaxSamples = 400;  // of a plot
constexpr int kPlotRows = 6;

std::string DescribeFrame(const Frame& frame, const Description& description) {
  double largest = 0;
  std::string body;
  for (int i = 0; i < frame.forces.bodies_size() && 3 * i + 2 < frame.forces.forces_size(); ++i) {
    const auto force = [&](int k) { return frame.forces.forces(3 * i + k); };
    const double size = std::hypot(force(0), force(1), force(2));
    if (size <= largest) continue;
    largest = size;
    body = description.NameBody(frame.forces.bodies(i));
  }
  const v1::StepReport report = frame.ParseReport();
  std::string text = absl::StrFormat(
      "t %9.3f s  step %-8d %-7s  %.2f x real time  step %6.2f ms  contacts %-4d", frame.time,
      frame.step, frame.clock == ClockMode::kPaused ? "paused" : "running", report.real_time_rate(),
      1000 * report.step_seconds(), report.contacts());
  if (!body.empty()) text += absl::StrFormat("  %.3g N on %.40s", largest, body);
  if (frame.is_stopped) text += "  STOPPED";
  if (frame.has_fault()) text += "  FAULT: " + frame.ParseFault().reason();
  return text;
}

// The message of a frame, without surfaces.
v1::Frame MakeMessage(const Frame& frame) {
  v1::Frame message;
  message.set_frame(frame.id);
  message.set_step(frame.step);
  message.set_time(frame.time);
  message.set_keyframe(frame.is_keyframe);
  message.set_epoch(frame.epoch);
  message.set_stopped(frame.is_stopped);
  for (std::size_t body = 0; body < frame.rigid.size(); ++body) {
    if (!frame.rigid[body].is_new) continue;
    v1::RigidFrame* rigid = message.add_rigid();
    rigid->set_body(static_cast<std::uint32_t>(body));
    rigid->mutable_pose()->Add(frame.rigid[body].pose.begin(), frame.rigid[body].pose.end());
  }
  *message.mutable_forces() = frame.forces;
  *message.mutable_joints() = frame.joints;
  *message.mutable_report() = frame.ParseReport();
  if (frame.has_fault()) *message.mutable_fault() = frame.ParseFault();
  switch (frame.clock) {
    case ClockMode::kPaused:
      message.mutable_clock()->mutable_paused();
      break;
    case ClockMode::kRealTime:
      message.mutable_clock()->mutable_real_time()->set_factor(frame.speed);
      break;
    case ClockMode::kFreeRun:
      message.mutable_clock()->mutable_free_run();
      break;
    case ClockMode::kStepping:
      message.mutable_clock()->mutable_stepping();
      break;
  }
  for (int i = 0; i < frame.command_count; ++i) *message.add_commands() = frame.commands[i];
  for (std::size_t probe = 0; probe < frame.probes.size(); ++probe) {
    if (!frame.probes[probe].empty())
      *message.add_probes() = frame.ParseProbe(static_cast<int>(probe));
  }
  return message;
}

// Draws the latest samples of a number as rows of text: one bar per sample, in eighths of a row.
std::string DrawPlot(const std::string& name, const std::deque<double>& samples, int columns) {
  static const char* const kEighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto [low, high] = std::ranges::minmax(samples);
  std::string text = absl::StrFormat("%s  %.6g  (%.6g … %.6g)\n", name, samples.back(), low, high);
  const int width = std::max(1, columns);
  const std::size_t first =
      samples.size() > static_cast<std::size_t>(width) ? samples.size() - width : 0;
  for (int row = kPlotRows - 1; row >= 0; --row) {
    for (std::size_t i = first; i < samples.size(); ++i) {
      const double part = high > low ? (samples[i] - low) / (high - low) : 0.5;
      const double level = part * kPlotRows - row;
      text +=
          kEighths[static_cast<int>(std::clamp(std::ceil(8 * level), row == 0 ? 1.0 : 0.0, 8.0))];
    }
    text += "\n";
  }
  return text;
}

// Samples of the plotted probes.
class Plots {
 public:
  Plots(const Description& description, const std::vector<std::string>& names, Session* session) {
    for (const std::string& name : names)
      plots_.push_back({name, session->Value(description.FindProbe(name)), {}});
  }

  std::string Draw(const Frame& frame) {
    std::string text;
    for (Plot& plot : plots_) {
      const std::vector<double>& values = frame.probes[plot.probe];
      // a vector is plotted by its length
      double sum = 0;
      for (const double value : values) sum += value * value;
      if (!values.empty()) plot.samples.push_back(values.size() == 1 ? values[0] : std::sqrt(sum));
      if (plot.samples.size() > kMaxSamples) plot.samples.pop_front();
      if (!plot.samples.empty())
        text += "\n" + DrawPlot(plot.name, plot.samples, TerminalColumns());
    }
    return text;
  }

 private:
  struct Plot {
    std::string name;
    int probe;
    std::deque<double> samples;
  };
  std::vector<Plot> plots_;
};

int Watch(Session* session, const WatchArguments& arguments) {
  const World world = session->world(arguments.world);
  v1::Subscription request;
  request.set_rate(arguments.rate);
  request.mutable_probes()->Add(arguments.plots.begin(), arguments.plots.end());
  const auto subscription = session->Value(world.Subscribe(request));
  Plots plots(*subscription->description(), arguments.plots, session);

  // on a terminal one line is updated in place, or a screen with plots; elsewhere each frame gets
  // its own line
  const bool is_live = IsLive() && !session->json();
  std::unique_ptr<Screen> screen;
  if (is_live && !arguments.plots.empty()) screen = std::make_unique<Screen>();
  Frame frame;
  for (int seen = 0; arguments.count == 0 || seen < arguments.count;) {
    const absl::Status status = subscription->WaitForFrame(&frame, std::chrono::milliseconds(200));
    if (absl::IsDeadlineExceeded(status)) {
      if (Interrupted()) throw CommandError(kInterrupted, "");
      continue;
    }
    if (!status.ok()) {
      if (is_live && screen == nullptr) Print("\n");
      session->Check(status);
    }
    ++seen;
    const std::string line = DescribeFrame(frame, *subscription->description());
    if (session->json()) {
      PrintJson(MakeMessage(frame));
    } else if (screen != nullptr) {
      screen->Draw(line + "\n" + plots.Draw(frame));
    } else if (is_live) {
      Print("\r\033[K" + line);
    } else {
      std::string text = line;
      for (const std::string& name : arguments.plots) {
        text += "  " + name;
        const int probe = session->Value(subscription->description()->FindProbe(name));
        for (const double value : frame.probes[probe]) text += absl::StrFormat(" %.6g", value);
      }
      PrintLine(text);
    }
  }
  if (is_live && screen == nullptr) Print("\n");
  return kDone;
}

struct TopArguments {
  double interval = 2;
  int count = 0;
};

// The step of a world at a time; two of them give steps per second.
struct Sample {
  std::int64_t step = 0;
  std::chrono::steady_clock::time_point at;
};

std::string DrawTop(const std::vector<v1::World>& worlds, std::map<std::string, Sample>* before) {
  const auto now = std::chrono::steady_clock::now();
  std::string text =
      absl::StrFormat("%-24s %-10s %9s %8s %9s %8s %10s %9s %7s %s\n", "world", "method", "clock",
                      "rate", "step ms", "steps/s", "t [s]", "memory MB", "viewers", "controllers");
  for (const v1::World& world : worlds) {
    const std::string name = world.name().substr(sizeof("worlds"));
    if (world.has_creation()) {
      text += absl::StrFormat("%-24s being created, %.0f %%\n", name,
                              100 * world.creation().progress());
      continue;
    }
    const auto last = before->find(name);
    const std::chrono::duration<double> passed =
        last == before->end() ? std::chrono::duration<double>(0) : now - last->second.at;
    const double steps =
        passed.count() > 0 ? static_cast<double>(world.step() - last->second.step) / passed.count()
                           : 0;
    (*before)[name] = {world.step(), now};
    const v1::StepReport& report = world.last_report();
    const std::string clock = world.clock().has_free_run() ? "free"
                              : world.clock().has_real_time()
                                  ? absl::StrFormat("x %g", world.clock().real_time().factor())
                              : world.clock().has_stepping() ? "stepping"
                                                             : "paused";
    std::string state =
        world.controllers().empty() ? "-" : absl::StrJoin(world.controllers(), ", ");
    if (world.has_fault()) state += "  FAULT: " + world.fault().reason();
    if (world.stopped()) state += "  STOPPED";
    text += absl::StrFormat("%-24s %-10s %9s %8.2f %9.3f %8.0f %10.2f %9.1f %7d %s\n", name,
                            world.method(), clock, report.real_time_rate(),
                            1000 * report.step_seconds(), std::max(0.0, steps), world.time(),
                            static_cast<double>(world.memory()) / 1e6, world.viewers(), state);
  }
  if (worlds.empty()) text += "no worlds\n";
  return text;
}

int Top(Session* session, const TopArguments& arguments) {
  const bool is_live = IsLive() && !session->json();
  std::unique_ptr<Screen> screen;
  std::map<std::string, Sample> before;
  for (int seen = 0;;) {
    const auto worlds = session->Value(session->client().ListWorlds());
    if (is_live && screen == nullptr && arguments.count != 1) screen = std::make_unique<Screen>();
    if (session->json()) {
      v1::ListWorldsResponse all;
      for (const v1::World& world : worlds) *all.add_worlds() = world;
      PrintJson(all);
    } else if (screen != nullptr) {
      screen->Draw(DrawTop(worlds, &before));
    } else {
      Print(DrawTop(worlds, &before));
    }
    if (arguments.count > 0 && ++seen >= arguments.count) return kDone;
    const auto next =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(arguments.interval);
    while (std::chrono::steady_clock::now() < next) {
      if (Interrupted()) throw CommandError(kInterrupted, "");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

}  // namespace

void AddWatchCommands(CLI::App* pliant, Session* session, Action* action) {
  const auto arguments = std::make_shared<WatchArguments>();
  CLI::App* watch =
      pliant->add_subcommand("watch", "Follow a world: time, rate, contacts, the largest force");
  watch->add_option("world", arguments->world, "Name of the world")->required();
  watch->add_option("--rate", arguments->rate, "Maximum number of lines per second (default 4)")
      ->check(CLI::Range(0.1, 1000.0));
  watch->add_option("--count", arguments->count, "Stop after this many lines (default: never)")
      ->check(CLI::NonNegativeNumber);
  watch->add_option("--plot", arguments->plots,
                    "Plot a probe of the scene, of a vector its length; may be repeated");
  watch->callback([=] { *action = [=] { return Watch(session, *arguments); }; });

  const auto top_arguments = std::make_shared<TopArguments>();
  CLI::App* top = pliant->add_subcommand(
      "top", "Show all worlds with rate, step time, viewers and controllers, continuously");
  top->add_option("--interval", top_arguments->interval, "Time between updates [s] (default 2)")
      ->check(CLI::Range(0.1, 3600.0));
  top->add_option("--count", top_arguments->count, "Stop after this many updates (default: never)")
      ->check(CLI::NonNegativeNumber);
  top->callback([=] { *action = [=] { return Top(session, *top_arguments); }; });
}

}  // namespace pliant::clients
