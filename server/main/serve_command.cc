#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"

#include "server/main/commands.h"
#include "server/main/options_file.h"
#include "server/main/scene_options.h"
#include "server/serve/serve.h"

namespace pliant::server {
namespace {

// Checks the origin of a page: a scheme and a host without a path. Returns the error, or "".
std::string IsOrigin(const std::string& value) {
  const std::size_t host = value.find("://");
  const bool has_scheme = value.rfind("http://", 0) == 0 || value.rfind("https://", 0) == 0;
  if (has_scheme && host + 3 < value.size() &&
      value.find_first_of("/?#* ", host + 3) == std::string::npos)
    return "";
  return "\"" + value + "\" is not an origin; expected e.g. https://lab.example:8443";
}

std::string IsHostName(const std::string& value) {
  if (!value.empty() && value.find_first_of(":/?#* ") == std::string::npos) return "";
  return "\"" + value + "\" is not the name of a host; expected e.g. lab.example, without a port";
}

absl::StatusOr<Quotas> ReadQuotas(std::vector<std::string> arguments);

class ServeCommand final : public Command {
 public:
  ServeCommand(CLI::App* pliantd, const std::vector<std::string>& arguments)
      : app_(pliantd->add_subcommand("serve", "Run the server (the default)")) {
    options_.grpc_port = 50051;
    options_.http_port = 8080;
    options_.read_quotas = [arguments] { return ReadQuotas(arguments); };
    app_->add_option("--grpc-port", options_.grpc_port,
                     "Port for gRPC clients (default 50051); 0: any free port")
        ->check(CLI::Range(0, 65535));
    app_->add_option(
            "--http-port", options_.http_port,
            "Port for the viewer, /ws, /healthz and /metrics (default 8080); 0: any free port")
        ->check(CLI::Range(0, 65535));
    app_->add_option("--bind", options_.bind,
                     "Address to listen on (default 127.0.0.1); 0.0.0.0 for all networks");
    app_->add_option("--scene", options_.scene_files,
                     "Scene file of the world `default`, which runs in real time; or robot and "
                     "mesh files to make one of")
        ->allow_extra_args(true);
    AddMethodOption(app_, &options_.method);
    app_->add_option("--threads", options_.threads,
                     "Number of threads for stepping (default: one per core)")
        ->check(CLI::Range(1, 1024));
    app_->add_option_function<int>(
            "--spin-lockstep",
            [this](int microseconds) { options_.spin_lockstep = 1e-6 * microseconds; },
            "Keep processors awake for up to this time between requests to step [µs], e.g. 200, by "
            "threads that run only when a processor is idle (default 0: let processors halt)")
        ->check(CLI::Range(0, 100000));
    app_->add_option("--data-dir", options_.data_dir,
                     "Folder of durable worlds and recordings (default: none are kept)");
    app_->add_option("--checkpoint-interval", options_.checkpoint_interval,
                     "Time between checkpoints of a durable world that changes [s] (default 60)")
        ->check(CLI::Range(0.1, 1e6));
    app_->add_option(
            "--keep-checkpoints", options_.keep_checkpoints,
            "Number of these checkpoints that are kept of each durable world, with the logs "
            "since the oldest (default 2)")
        ->check(CLI::Range(1, 1000));
    app_->add_option("--scenes-dir", options_.scenes_dir,
                     "Folder of the scenes from which clients may create worlds by name "
                     "(default: those that come with the server)");
    app_->add_option("--viewer-dir", options_.viewer_dir,
                     "Folder of the built viewer (default: where it was built or installed)");
    AddQuotas();
    app_->add_option("--allow-origin", options_.allowed_origins,
                     "Origin of pages from another server that may connect; may be repeated")
        ->check(IsOrigin)
        ->allow_extra_args(false);
    app_->add_option("--allow-host", options_.allowed_hosts,
                     "Name by which pages may reach this server, besides its addresses and "
                     "localhost; may be repeated")
        ->check(IsHostName)
        ->allow_extra_args(false);
    AddSecurityOptions();
    app_->footer(
        "The first line on stdout is {\"ready\": true, \"grpc\": ADDRESS, \"http\": URL}.\n"
        "\n"
        "Examples:\n"
        "  pliantd --scene scenes/soft_ball.yaml\n"
        "  pliantd --scene arm.urdf part.stl\n"
        "  pliantd serve --http-port 8080 --grpc-port 0\n"
        "  pliantd serve --bind 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --tokens "
        "tokens.yaml\n"
        "\n"
        "Exit status: 0 stopped by SIGINT or SIGTERM, 2 wrong usage, 3 invalid scene,\n"
        "4 environment (port taken, folder not writable, certificate expired).");
  }

  CLI::App* app() override { return app_; }
  const Quotas& quotas() const { return options_.quotas; }
  int Execute() override {
    options_.version = PLIANT_VERSION;
    return Serve(options_);
  }

 private:
  // Quotas of all worlds, of those of one user, and of each one.
  void AddQuotas() {
    Quotas& quotas = options_.quotas;
    AddCount("--max-worlds", "Maximum number of worlds (default 32)", &quotas.server.worlds)
        ->check(CLI::Range(1, 10000));
    AddCount("--max-dofs", "Maximum number of degrees of freedom of all worlds together",
             &quotas.server.dofs);
    AddSize("--max-memory", "Maximum estimated memory of all worlds together",
            &quotas.server.memory);
    AddCount("--max-user-worlds", "Maximum number of worlds of one user", &quotas.user.worlds);
    AddCount("--max-user-dofs", "Maximum number of degrees of freedom of a user's worlds",
             &quotas.user.dofs);
    AddSize("--max-user-memory", "Maximum estimated memory of a user's worlds",
            &quotas.user.memory);
    AddCount("--max-world-dofs", "Maximum number of degrees of freedom of a world",
             &quotas.world.dofs);
    AddSize("--max-world-memory", "Maximum estimated memory of a world", &quotas.world.memory);
    AddSize("--max-uploads", "Disk space for files that clients upload (default 4 GiB)",
            &quotas.uploads);
  }

  CLI::Option* AddCount(const char* flag, const char* text, std::int64_t* value) {
    return app_->add_option(flag, *value, text)->check(CLI::NonNegativeNumber);
  }
  // A number of bytes, e.g. 512M or 8G.
  void AddSize(const char* flag, const char* text, std::int64_t* value) {
    app_->add_option_function<std::uint64_t>(
            flag, [value](std::uint64_t bytes) { *value = static_cast<std::int64_t>(bytes); }, text)
        ->transform(CLI::AsSizeValue(false));
  }

  void AddSecurityOptions() {
    CLI::Option* certificate = app_->add_option(
        "--tls-cert", options_.tls_cert, "Certificate of this server (PEM), for TLS on both ports");
    CLI::Option* key = app_->add_option("--tls-key", options_.tls_key, "Its key (PEM)");
    certificate->needs(key);
    key->needs(certificate);
    app_->add_option("--client-ca", options_.client_ca,
                     "Authorities (PEM), one of which must have signed a client's certificate "
                     "(default: clients need none)")
        ->needs(certificate);
    app_->add_option("--tokens", options_.tokens_file,
                     "File of tokens, made by `pliantd token`; every client needs one of them");
    CLI::Option* keys = app_->add_option(
        "--jwt-keys", options_.jwt_keys,
        "Public keys (PEM, or a JSON Web Key Set) that verify JSON Web Tokens: RS256, "
        "ES256 and EdDSA");
    app_->add_option("--jwt-audience", options_.jwt_audience,
                     "Name of this server in the `aud` of JWTs")
        ->needs(keys);
    app_->add_option("--jwt-issuer", options_.jwt_issuer, "Issuer of the JWTs (default: any)")
        ->needs(keys);
    app_->add_flag("--insecure", options_.insecure,
                   "Let other machines connect without TLS or without tokens");
    app_->add_option("--audit-log", options_.audit_log,
                     "File that records who changed what, rotated at 16 MiB (default: audit.log in "
                     "--data-dir)");
    app_->add_option("--max-connections", options_.max_connections,
                     "Maximum number of connections of each port (default 1024)")
        ->check(CLI::Range(1, 100000));
    app_->add_option("--max-connections-per-peer", options_.max_connections_per_peer,
                     "Maximum number of connections of each port from one address (default 256)")
        ->check(CLI::Range(1, 100000));
    app_->add_option("--max-connection-idle", options_.max_connection_idle,
                     "Close gRPC connections without calls after this time [s] (default 300)")
        ->check(CLI::Range(1.0, 1e6));
    app_->add_option("--max-connection-age", options_.max_connection_age,
                     "Close gRPC connections after this time, with 10 s for their calls to end [s] "
                     "(default 0: never)")
        ->check(CLI::Range(0.0, 1e6));
  }

  CLI::App* app_;
  ServeOptions options_;
};

// The quotas that the flags, the environment and the configuration file give, which may have
// changed.
absl::StatusOr<Quotas> ReadQuotas(std::vector<std::string> arguments) {
  CLI::App pliantd;
  ServeCommand serve(&pliantd, arguments);
  std::string config;
  AddConfigOption(serve.app(), &config);
  try {
    std::reverse(arguments.begin(), arguments.end());
    pliantd.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  if (!config.empty()) {
    if (absl::Status status = ReadFromFile(config, serve.app()); !status.ok()) return status;
  }
  return serve.quotas();
}

}  // namespace

std::unique_ptr<Command> MakeServeCommand(CLI::App* pliantd,
                                          const std::vector<std::string>& arguments) {
  return std::make_unique<ServeCommand>(pliantd, arguments);
}

}  // namespace pliant::server
