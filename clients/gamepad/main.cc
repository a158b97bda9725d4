// pliant-gamepad: drives robots and bodies of a world, with the status in the terminal.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

#include "CLI/CLI.hpp"

#include "clients/gamepad/driving/drive.h"
#include "clients/gamepad/pads/pads.h"
#include "clients/options/connection_options.h"

namespace pliant::clients {
namespace {

constexpr std::chrono::microseconds kPeriod{16'667};  // 60 Hz
constexpr double kForceOfFullRumble = 50;             // [N]
constexpr int kUpdatesPerLine = 15;

volatile std::sig_atomic_t interrupted = 0;

void Interrupt(int /*signal*/) {
  interrupted = 1;
}

struct Options {
  ConnectionOptions connection;
  std::string world, target;
  double speed = 0.25;
  bool takeover = false;
};

std::string DescribePad(const Pads& pads) {
  if (pads.state()) return pads.name();
  if (pads.unknown().empty()) return "no gamepad: plug one in, or switch it on";
  return pads.unknown().front() +
         ": not in SDL's database of gamepads; set SDL_GAMECONTROLLERCONFIG to its layout";
}

std::string DescribeDrive(const Drive& drive) {
  const DriveTarget& target = drive.target();
  std::string text =
      target.name + (target.controller.empty() ? "" : " (" + target.controller + ")");
  if (drive.is_driving()) {
    const Latency latency = drive.latency();
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, ": driven, %.1f ms (p99 %.1f ms), %.1f N",
                  1000 * latency.median, 1000 * latency.p99, drive.force());
    text += numbers;
  } else {
    text += ": free";
  }
  if (!drive.problem().empty()) text += "  " + drive.problem();
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// Prints a status line: in place on a terminal, otherwise whenever it changes.
class StatusLine {
 public:
  void Show(const std::string& line) {
    const char* terminal = std::getenv("TERM");
    const bool is_live =
        isatty(STDOUT_FILENO) != 0 && terminal != nullptr && std::string(terminal) != "dumb";
    if (!is_live && line == last_) return;
    last_ = line;
    std::printf(is_live ? "\r\033[K%s" : "%s\n", line.c_str());
    std::fflush(stdout);
  }
  ~StatusLine() { std::printf("\n"); }

 private:
  std::string last_;
};

int Run(const Options& options) {
  auto client = Client::Connect(options.connection.client());
  if (!client.ok()) {
    std::cerr << "pliant-gamepad: " << client.status().message() << '\n';
    return absl::IsUnavailable(client.status()) ? 4 : 1;
  }
  const World world = (*client)->GetWorld(options.world);
  const auto begun = Drive::Begin(world, options.target, options.speed, options.takeover);
  if (!begun.ok()) {
    std::cerr << "pliant-gamepad: " << begun.status().message() << '\n';
    return 1;
  }
  Drive& drive = **begun;
  Pads pads;
  StatusLine status;
  auto next = std::chrono::steady_clock::now();
  for (int update = 0; interrupted == 0; ++update) {
    pads.Update();
    drive.Update(pads.state());
    if (drive.force() > 1) pads.Rumble(drive.force() / kForceOfFullRumble);
    if (update % kUpdatesPerLine == 0)
      status.Show(DescribePad(pads) + "  |  " + DescribeDrive(drive));
    // if this program was suspended, missed updates are not made up for
    next = std::max(next + kPeriod, std::chrono::steady_clock::now());
    std::this_thread::sleep_until(next);
  }
  drive.Update(std::nullopt);  // releases the lease
  return 130;
}

int Main(int argc, char** argv) {
  CLI::App app("Drives a robot or a body of a world from a gamepad", "pliant-gamepad");
  app.set_version_flag("--version", "pliant-gamepad " PLIANT_VERSION);
  Options options;
  options.connection.AddTo(&app);
  app.add_option("world", options.world, "Name of the world")->required();
  app.add_option("target", options.target, "Robot or body (default: the first that can be driven)");
  app.add_option("--speed", options.speed, "Speed of a full deflection [m/s] (default 0.25)")
      ->check(CLI::Range(0.001, 10.0));
  app.add_flag("--takeover", options.takeover, "Take the target from another client");
  app.footer(
      "Left stick: to the right and forward (x, y). Triggers: down and up. Right stick: turn and\n"
      "tilt. Shoulders: roll. A or a pressed left stick: slow. B: stop. X: gripper. Y: next "
      "target.\n"
      "Robots with a gamepad profile map the sticks and buttons themselves. What is let go of\n"
      "stops; an unplugged gamepad gives its target back.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    options.connection.Complete();
  } catch (const std::invalid_argument& error) {
    std::cerr << "pliant-gamepad: " << error.what() << '\n';
    return 2;
  }
  std::signal(SIGINT, Interrupt);
  std::signal(SIGTERM, Interrupt);
  return Run(options);
}

}  // namespace
}  // namespace pliant::clients

int main(int argc, char** argv) {
  try {
    return pliant::clients::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "pliant-gamepad: " << error.what() << '\n';
    return 1;
  }
}
