// pliant: the command line client.

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"

#include "clients/cli/commands.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

// A file of lines `server = 10.0.0.2:50051`, for what options and the environment leave open.
std::string FindConfigFile() {
  const char* named = std::getenv("PLIANT_CONFIG");
  if (named != nullptr) return named;
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  if (folder != nullptr && *folder != '\0') return std::string(folder) + "/pliant/config";
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.config/pliant/config";
}

std::string Trim(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

using Setting = std::pair<CLI::Option*, std::string*>;

void ReadConfigFile(const std::string& path, const std::vector<Setting>& settings) {
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = Trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t sign = line.find('=');
    std::string name = Trim(line.substr(0, sign));
    std::ranges::replace(name, '_', '-');
    const auto setting = std::ranges::find_if(
        settings, [&](const Setting& known) { return known.first->check_lname(name); });
    if (sign == std::string::npos || setting == settings.end()) {
      throw CommandError(kWrongUsage,
                         path + ":" + std::to_string(number) + ": \"" + line +
                             "\"; expected server, token-file, ca, cert or key = VALUE");
    }
    if (setting->first->count() == 0) *setting->second = Trim(line.substr(sign + 1));
  }
}

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
    "(PLIANT_SERVER, PLIANT_TOKEN_FILE, …; PLIANT_TOKEN has a token itself), or in the\n"
    "file ~/.config/pliant/config: lines like `server = 10.0.0.2:50051`. An option comes\n"
    "before the environment, and that before the file.\n"
    "\n"
    "Exit status: 0 done, 1 the server refused, 2 wrong usage, 3 invalid scene,\n"
    "4 no server answers, or a file cannot be read or written, 130 interrupted.";

int Main(int argc, char** argv) {
  // never destroyed: the thread of the signals uses them until the very end
  static Session::Options& options = *new Session::Options;
  static Session& session = *new Session(&options);
  HandleInterrupts([] { session.Interrupt(); });

  CLI::App pliant("Command line client of a Pliant server", "pliant");
  pliant.set_version_flag("--version", "pliant " PLIANT_VERSION);
  pliant.require_subcommand(1);
  pliant.fallthrough();
  std::vector<Setting> settings;
  const auto add = [&](const char* name, std::string* value, const char* help,
                       const char* variable) {
    CLI::Option* option = pliant.add_option(name, *value, help)->envname(variable);
    settings.emplace_back(option, value);
    return option;
  };
  add("--server", &options.server, "Address of the server (default 127.0.0.1:50051)",
      "PLIANT_SERVER");
  add("--token-file", &options.token_file, "File whose first line is the token for the server",
      "PLIANT_TOKEN_FILE");
  pliant.add_flag("--tls", options.tls, "The server speaks TLS; implied by --ca and --cert");
  add("--ca", &options.ca,
      "Authorities (PEM) that sign the server's certificate (default: the system's)", "PLIANT_CA");
  add("--cert", &options.cert, "Certificate of this client (PEM)", "PLIANT_CERT");
  add("--key", &options.key, "Its key (PEM)", "PLIANT_KEY");
  std::string token;
  CLI::Option* token_option = pliant.add_option("--token", token)->group("");
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
  if (token_option->count() > 0) {
    throw CommandError(kWrongUsage,
                       "--token: every user of this machine can read arguments; put the token into "
                       "a file and give --token-file FILE, or set PLIANT_TOKEN");
  }
  ReadConfigFile(FindConfigFile(), settings);
  if (options.server.empty()) options.server = "127.0.0.1:50051";
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
