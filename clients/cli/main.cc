// pliant: the command line client.

#include <exception>
#include <iostream>

#include "CLI/CLI.hpp"

#include "clients/cli/commands.h"

namespace pliant::clients {
namespace {

int Main(int argc, char** argv) {
  CLI::App pliant("Command line client of a Pliant server", "pliant");
  pliant.set_version_flag("--version", "pliant " PLIANT_VERSION);
  pliant.require_subcommand(1);
  pliant.fallthrough();
  Client::Options options;
  pliant.add_option("--server", options.server, "Address of the server (default 127.0.0.1:50051)")
      ->envname("PLIANT_SERVER");
  pliant.add_option("--token", options.token, "Token for the server; rather set PLIANT_TOKEN")
      ->envname("PLIANT_TOKEN");
  pliant.add_flag("--tls", options.tls, "The server speaks TLS; implied by --ca and --cert");
  pliant
      .add_option("--ca", options.ca,
                  "Authorities (PEM) that sign the server's certificate (default: the system's)")
      ->envname("PLIANT_CA");
  CLI::Option* cert = pliant.add_option("--cert", options.cert, "Certificate of this client (PEM)");
  CLI::Option* key = pliant.add_option("--key", options.key, "Its key (PEM)");
  cert->needs(key);
  key->needs(cert);
  pliant.add_flag("--json", options.json, "Print JSON, one object per line");
  pliant
      .add_option(
          "--timeout", options.timeout,
          "Give up after this many seconds (default: 10; none for calls that may take long)")
      ->check(CLI::PositiveNumber);
  pliant.footer(
      "Examples:\n"
      "  pliant world create scenes/soft_ball.yaml --id ball\n"
      "  pliant world speed ball 0.5\n"
      "  pliant watch ball\n"
      "  pliant robot set lab arm elbow=30deg\n"
      "  pliant world pause ball && pliant world step ball 100 --json\n"
      "  pliant world --help\n"
      "\n"
      "Exit status: 0 done, 1 the server refused, 2 wrong usage, 3 invalid scene,\n"
      "4 no server answers, or a file cannot be read or written.");

  Client client(&options);
  Action action;
  AddWorldCommands(&pliant, &client, &action);
  AddWatchCommands(&pliant, &client, &action);
  AddControlCommands(&pliant, &client, &action);
  AddRecordCommands(&pliant, &client, &action);
  AddRobotCommands(&pliant, &client, &action);
  try {
    pliant.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return pliant.exit(error) == 0 ? kDone : kWrongUsage;
  }
  return action();
}

}  // namespace
}  // namespace pliant::clients

int main(int argc, char** argv) {
  try {
    return pliant::clients::Main(argc, argv);
  } catch (const pliant::clients::CommandError& error) {
    std::cerr << "pliant: " << error.what() << '\n';
    return error.exit_status;
  } catch (const std::exception& error) {
    std::cerr << "pliant: " << error.what() << '\n';
    return pliant::clients::kRefused;
  }
}
