// pliantd: runs the server, or scenes without it.

#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "server/main/commands.h"
#include "server/main/options_file.h"
#include "server/run/exit_status.h"

namespace pliant::server {
namespace {

// True if no command is named: `pliantd` and `pliantd --http-port 8080` serve.
bool NamesNoCommand(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return true;
  const std::string& first = arguments.front();
  return first.rfind("-", 0) == 0 && first != "-h" && first != "--help" && first != "--version";
}

// Reference to the help for the command that was named, or for all commands.
std::string HintFor(const CLI::App& pliantd) {
  const std::vector<CLI::App*> chosen = pliantd.get_subcommands();
  return chosen.empty()
             ? "`pliantd --help` lists the commands"
             : absl::StrCat("`pliantd ", chosen.front()->get_name(), " --help` lists its options");
}

const CLI::App* FindCommand(const CLI::App& pliantd, const std::string& name) {
  for (const CLI::App* command : pliantd.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

int Main(std::vector<std::string> arguments) {
  if (NamesNoCommand(arguments)) arguments.insert(arguments.begin(), "serve");

  CLI::App pliantd("Pliant: a simulation server for rigid and soft bodies in contact", "pliantd");
  pliantd.set_version_flag("--version", absl::StrCat("pliantd ", PLIANT_VERSION));
  pliantd.footer(
      "Without a command it runs `serve`. Options come from flags, then from the environment\n"
      "(PLIANT_HTTP_PORT for --http-port), then from a TOML file named by --config or "
      "PLIANT_CONFIG.\n"
      "\n"
      "Examples:\n"
      "  pliantd --scene scenes/soft_ball.yaml\n"
      "  pliantd run scenes/soft_ball.yaml --duration 2 --json -\n"
      "  pliantd check scenes/soft_ball.yaml\n"
      "  pliantd run --help");

  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(MakeServeCommand(&pliantd, arguments));
  commands.push_back(MakeRunCommand(&pliantd));
  commands.push_back(MakeCheckCommand(&pliantd));
  commands.push_back(MakeImportCommand(&pliantd));
  commands.push_back(MakeDynamicsCommand(&pliantd));
  commands.push_back(MakeReplayCommand(&pliantd));
  commands.push_back(MakeExportCommand(&pliantd));
  commands.push_back(MakeTokenCommand(&pliantd));
  std::string config;
  for (const auto& command : commands) AddConfigOption(command->app(), &config);

  // commands without options
  CLI::App* version = pliantd.add_subcommand("version", "Print the version");
  CLI::App* help = pliantd.add_subcommand("help", "Explain a command");
  std::string topic;
  help->add_option("command", topic,
                   "serve, run, check, import, dynamics, replay, export or token");
  pliantd.require_subcommand(1);

  // the first word names the command
  const std::string& word = arguments.front();
  if (word.rfind("-", 0) != 0 && FindCommand(pliantd, word) == nullptr) {
    std::cerr << "pliantd: unknown command \"" << word
              << "\"; expected one of serve, run, check, import, dynamics, replay, export, token, "
                 "help, version\n"
              << HintFor(pliantd) << '\n';
    return kWrongUsage;
  }

  try {
    std::reverse(arguments.begin(), arguments.end());
    pliantd.parse(arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return pliantd.exit(error);
    std::cerr << "pliantd: " << error.what() << "\n" << HintFor(pliantd) << '\n';
    return kWrongUsage;
  }

  if (version->parsed()) {
    std::cout << "pliantd " << PLIANT_VERSION << '\n';
    return kDone;
  }
  if (help->parsed()) {
    const CLI::App* about = topic.empty() ? &pliantd : FindCommand(pliantd, topic);
    if (about == nullptr) {
      std::cerr << "pliantd: unknown command \"" << topic << "\"\n" << HintFor(pliantd) << '\n';
      return kWrongUsage;
    }
    std::cout << about->help(topic.empty() ? "" : "pliantd");
    return kDone;
  }
  for (const auto& command : commands) {
    if (!command->app()->parsed()) continue;
    if (!config.empty()) {
      if (absl::Status status = ReadFromFile(config, command->app()); !status.ok()) {
        std::cerr << "pliantd: " << status.message() << '\n';
        return kWrongUsage;
      }
    }
    return command->Execute();
  }
  return kWrongUsage;
}

}  // namespace
}  // namespace pliant::server

int main(int argc, char** argv) {
  try {
    return pliant::server::Main({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    std::cerr << "pliantd: out of memory. Use a coarser mesh, or a machine with more memory.\n";
  } catch (const std::exception& error) {
    std::cerr << "pliantd: " << error.what() << '\n';
  }
  return pliant::server::kEnvironment;
}
