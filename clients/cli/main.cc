// pliant: the command line client.

#include <exception>
#include <iostream>
#include <stdexcept>

#include "CLI/CLI.hpp"

#include "clients/cli/commands.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

constexpr char kFooter[] =
    "Examples:\n"
    "  pliant world create scenes/soft_ball.yaml --id ball\n"
    "  pliant world speed ball 0.5\n"
    "  pliant watch ball\n"
    "  pliant robot set lab arm elbow=30deg\n"
    "  pliant world pause ball && pliant world step ball 100 --json\n"
    "  pliant world --help\n"
    "  pliant doctor\n"
    "\n"
    "--server, --token-file, --ca, --cert and --key may also be in the environment\n"
    "(PLIANT_SERVER, PLIANT_TOKEN_FILE, …; PLIANT_TOKEN is a token itself), or in the\n"
    "file ~/.config/pliant/config: lines like `server = 10.0.0.2:50051`. An option comes\n"
    "before the environment, and that before the file.\n"
    "\n"
    "Exit status: 0 done, 1 the server refused, 2 wrong usage, 3 invalid scene,\n"
    "4 no server answers, or a file cannot be read or written, 130 interrupted.";

int Main(int argc, char** argv) {
  // never destroyed, because the signal thread uses them until the process ends
  static Session::Options& options = *new Session::Options;
  static Session& session = *new Session(&options);
  HandleInterrupts([] { session.Interrupt(); });

  CLI::App pliant("Command line client of a Pliant server", "pliant");
  pliant.set_version_flag("--version", "pliant " PLIANT_VERSION);
  pliant.require_subcommand(1);
  pliant.fallthrough();
  options.connection.AddTo(&pliant);
  pliant.add_flag("--json", options.json, "Print JSON, one object per line");
  pliant
      .add_option(
          "--timeout", options.timeout,
          "Give up after this many seconds (default: 10; none for calls that may take long)")
      ->check(CLI::PositiveNumber);
  pliant.footer(kFooter);

  Action action;
  AddWorldCommands(&pliant, &session, &action);
  AddWatchCommands(&pliant, &session, &action);
  AddControlCommands(&pliant, &session, &action);
  AddRecordCommands(&pliant, &session, &action);
  AddRobotCommands(&pliant, &session, &action);
  AddDoctorCommands(&pliant, &session, &action);
  AddBenchCommand(&pliant, &session, &action);
  AddHelpCommands(&pliant, &action);
  try {
    pliant.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return pliant.exit(error) == 0 ? kDone : kWrongUsage;
  }
  try {
    options.connection.Complete();
  } catch (const std::invalid_argument& error) {
    throw CommandError(kWrongUsage, error.what());
  }
  return action();
}

}  // namespace
}  // namespace pliant::clients

int main(int argc, char** argv) {
  try {
    return pliant::clients::Main(argc, argv);
  } catch (const pliant::clients::CommandError& error) {
    pliant::clients::RestoreTerminal();
    if (*error.what() != '\0') std::cerr << "pliant: " << error.what() << '\n';
    return error.exit_status;
  } catch (const std::exception& error) {
    std::cerr << "pliant: " << error.what() << '\n';
    return pliant::clients::kRefused;
  }
}
