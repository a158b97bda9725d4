#include <iostream>

#include "server/auth/tokens.h"
#include "server/main/commands.h"
#include "server/run/exit_status.h"

namespace pliant::server {
namespace {

class TokenCommand final : public Command {
 public:
  explicit TokenCommand(CLI::App* pliantd)
      : app_(pliantd->add_subcommand("token", "Make a token for a client of the server")) {
    app_->add_option("--name", entry_.name, "Name of the client, in logs and as owner of worlds")
        ->required();
    app_->add_option("--role", entry_.role,
                     "viewer: watch, and stop worlds; operator: change worlds, too; admin: all")
        ->required();
    app_->add_option(
        "--worlds", entry_.worlds,
        "Labels of the worlds for which it is valid, e.g. team=soft,stage!=live (default: "
        "all worlds)");
    app_->add_option("--expires", entry_.expires,
                     "Time at which it expires, e.g. 2030-01-31T12:00:00Z (default: never)");
    app_->add_option("--tokens", path_,
                     "File of tokens, to which its hash is added; see `pliantd serve --tokens`")
        ->required();
    app_->footer(
        "Prints the token. It is not stored anywhere: only its hash is. A running server reads "
        "the\n"
        "file again on SIGHUP. Remove a line to revoke its token.\n"
        "\n"
        "Examples:\n"
        "  pliantd token --name alice --role operator --tokens tokens.yaml\n"
        "  pliantd token --name wall --role viewer --worlds team=soft --tokens tokens.yaml\n"
        "\n"
        "Exit status: 0 done, 2 wrong usage, 4 the file cannot be written.");
  }

  CLI::App* app() override { return app_; }

  int Execute() override {
    const absl::StatusOr<std::string> token = AddToken(path_, entry_);
    if (!token.ok()) {
      std::cerr << "pliantd token: " << token.status().message() << '\n';
      return absl::IsUnavailable(token.status()) ? kEnvironment : kWrongUsage;
    }
    std::cout << *token << '\n';
    return kDone;
  }

 private:
  CLI::App* app_;
  NewToken entry_;
  std::string path_;
};

}  // namespace

std::unique_ptr<Command> MakeTokenCommand(CLI::App* pliantd) {
  return std::make_unique<TokenCommand>(pliantd);
}

}  // namespace pliant::server
