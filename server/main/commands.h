#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace pliant::server {

// A subcommand: its options and its action. Execute returns an ExitStatus.
class Command {
 public:
  virtual ~Command() = default;
  virtual CLI::App* app() = 0;
  virtual int Execute() = 0;
};

// Each adds a subcommand to `pliantd`.
std::unique_ptr<Command> MakeRunCommand(CLI::App* pliantd);
std::unique_ptr<Command> MakeCheckCommand(CLI::App* pliantd);
std::unique_ptr<Command> MakeDynamicsCommand(CLI::App* pliantd);
// `arguments` of the command line are read again when the server is reloaded.
std::unique_ptr<Command> MakeServeCommand(CLI::App* pliantd,
                                          const std::vector<std::string>& arguments);
std::unique_ptr<Command> MakeReplayCommand(CLI::App* pliantd);
std::unique_ptr<Command> MakeImportCommand(CLI::App* pliantd);
std::unique_ptr<Command> MakeExportCommand(CLI::App* pliantd);
std::unique_ptr<Command> MakeTokenCommand(CLI::App* pliantd);

}  // namespace pliant::server
