#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "server/host/quotas.h"

namespace pliant::server {

struct ServeOptions {
  int grpc_port = 50051;  // 0: any free one
  int http_port = 8080;
  std::string bind = "127.0.0.1";
  std::string data_dir;             // of durable worlds and recordings; empty: none are kept
  double checkpoint_interval = 60;  // of durable worlds [s]
  int keep_checkpoints = 2;         // the newest automatic ones of each durable world
  std::string scenes_dir;           // of the shipped scenes; empty: where it was built or installed
  // Files of the world `default`, which runs in real time: a scene, or robots and meshes; empty:
  // no world at the start.
  std::vector<std::string> scene_files;
  std::string viewer_dir;    // empty: where this program was built or installed
  std::string method;        // overrides the scene's; empty: the scene's
  int threads = 0;           // for the work inside steps; 0: one per core
  double spin_lockstep = 0;  // time for which processors are kept awake for the next request [s]
  Quotas quotas{.server = {.worlds = 32}};
  std::function<absl::StatusOr<Quotas>()> read_quotas;  // present settings; null: as above
  std::vector<std::string> allowed_origins;  // of other pages, e.g. http://localhost:5173
  std::vector<std::string> allowed_hosts;    // names by which pages reach this server
  std::string version = "unknown";           // reported to clients

  std::string tokens_file;     // of bearer tokens; empty: none
  std::string jwt_keys;        // file of public keys that verify JWTs; empty: none
  std::string jwt_audience;    // this server, as JWTs name it
  std::string jwt_issuer;      // empty: any
  std::string tls_cert;        // file of this server's certificate; empty: no TLS
  std::string tls_key;         // file of its key
  std::string client_ca;       // file of authorities whose clients are admitted; empty: any client
  bool insecure = false;       // other machines may connect without TLS and tokens
  std::string audit_log;       // file; empty: audit.log in data_dir, if there is one
  int max_connections = 1024;  // of each port
  int max_connections_per_peer = 256;  // of those, from one address
  double max_connection_idle = 300;    // of gRPC, without calls [s]
  double max_connection_age = 0;       // of gRPC [s]; 0: any
};

// Exit statuses of Serve.
inline constexpr int kServeDone = 0;
inline constexpr int kServeWrongUsage = 2;
inline constexpr int kServeInvalidScene = 3;
inline constexpr int kServeEnvironment = 4;

// Runs the server until SIGINT or SIGTERM. On SIGHUP it reads tokens, keys, certificates and quotas
// again. The first line on stdout is
// {"ready": true, "grpc": "127.0.0.1:N", "http": "http://127.0.0.1:N"}; logs go to stderr, and so
// do the errors that end it: other machines could connect without TLS and tokens (2), an invalid
// scene (3), a port that is taken or a folder that cannot be written (4), each with its remedy.
int Serve(const ServeOptions& options);

}  // namespace pliant::server
