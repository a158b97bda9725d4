#pragma once

#include <memory>

#include <CLI/CLI.hpp>

namespace pliant::server {

// One word of the command line: its options, and what it does once they are read. Returns an
// ExitStatus.
class Command {
 public:
  virtual ~Command() = default;
  virtual CLI::App* app() = 0;
  virtual int Execute() = 0;
};

// Each declares itself under `pliantd`.
std::unique_ptr<Command> MakeRunCommand(CLI::App* pliantd);
std::unique_ptr<Command> MakeCheckCommand(CLI::App* pliantd);
std::unique_ptr<Command> MakeDynamicsCommand(CLI::App* pliantd);
std::unique_ptr<Command> MakeServeCommand(CLI::App* pliantd);

}  // namespace pliant::server
