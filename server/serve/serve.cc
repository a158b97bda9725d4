#include "server/serve/serve.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <signal.h>
#include <thread>
#include <unistd.h>

#include "google/protobuf/stubs/logging.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"
#include <sys/resource.h>

#include "physics/scene/scene.h"
#include "server/serve/server.h"
#include "server/signals/interrupts.h"

namespace pliant::server {
namespace {

constexpr std::chrono::seconds kHardExit{10};

void LogToStderr() {
  auto logger = std::make_shared<spdlog::logger>(
      "pliant", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z level=%^%l%$ %v");
  spdlog::set_default_logger(std::move(logger));
  // protobuf prints a line for each malformed message, of which a client may send any number
  google::protobuf::SetLogHandler(nullptr);
}

// Raises the limit on descriptors as far as the system allows: connections of gRPC have two.
void AllowDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

bool IsLoopback(const std::string& bind) {
  return bind == "localhost" || bind == "::1" || bind == "[::1]" || bind.rfind("127.", 0) == 0;
}

// True if other machines could use this server without TLS or without a token, although `insecure`
// is not set.
bool IsExposed(const ServeOptions& options) {
  const bool has_tls = !options.tls_cert.empty();
  const bool has_accounts = !options.tokens_file.empty() || !options.jwt_keys.empty();
  return !IsLoopback(options.bind) && !options.insecure && !(has_tls && has_accounts);
}

// Waits for a signal to stop the server, and returns it.
int WaitForEnd(Server* server) {
  sigset_t signals = InterruptSignals();
  sigaddset(&signals, SIGHUP);
  int number = 0;
  while (true) {
    sigwait(&signals, &number);
    if (number != SIGHUP) return number;
    spdlog::info("event=signal signal=SIGHUP");
    server->Reload();
  }
}

}  // namespace

int Serve(const ServeOptions& options) {
  HoldInterrupts({SIGHUP});
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error of its writer
  LogToStderr();
  AllowDescriptors();
  if (IsExposed(options)) {
    std::fprintf(stderr,
                 "pliantd: other machines can reach --bind %s: give --tls-cert and --tls-key, and "
                 "--tokens\n    (`pliantd token` makes them), or --insecure to let anyone in.\n",
                 options.bind.c_str());
    return kServeWrongUsage;
  }

  std::shared_ptr<const physics::Model> model;
  if (!options.scene_files.empty()) {
    physics::SceneOptions scene_options;
    scene_options.method = options.method;
    physics::SceneResult scene = physics::LoadSceneFiles(options.scene_files, scene_options);
    for (const physics::SceneMessage& message : scene.messages) {
      std::fprintf(stderr, "%s\n", physics::Format(message).c_str());
    }
    if (!scene.ok()) return kServeInvalidScene;
    model = scene.model;
  }

  auto server = Server::Start(options, std::move(model));
  if (!server.ok()) {
    std::fprintf(stderr, "pliantd: %s\n", std::string(server.status().message()).c_str());
    return kServeEnvironment;
  }
  std::printf("{\"ready\": true, \"grpc\": \"%s\", \"http\": \"%s\"}\n",
              (*server)->grpc_address().c_str(), (*server)->http_address().c_str());
  std::fflush(stdout);
  spdlog::info("event=serving grpc={} http={} viewer={}", (*server)->grpc_address(),
               (*server)->http_address(), (*server)->has_viewer() ? "yes" : "no");

  const int signal_number = WaitForEnd(server->get());
  spdlog::info("event=signal signal={}", signal_number == SIGINT ? "SIGINT" : "SIGTERM");

  // end the process even if the shutdown hangs: at once on a second signal, else after 10 s
  std::atomic<bool> stopped{false};
  std::thread watchdog([&stopped] {
    const int again = WaitForInterrupt(kHardExit);
    if (stopped.load()) return;
    spdlog::error("event=hard_exit reason=\"{}\"",
                  again > 0 ? "asked twice" : "shutdown took too long");
    _exit(again > 0 ? 130 : 1);
  });
  server->reset();
  stopped.store(true);
  pthread_kill(watchdog.native_handle(), SIGTERM);
  watchdog.join();
  return kServeDone;
}

}  // namespace pliant::server
