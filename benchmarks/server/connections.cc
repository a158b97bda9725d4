// Clients that connect and disconnect.

#include <filesystem>

#include "benchmarks/measure.h"
#include "benchmarks/server/cases.h"
#include "benchmarks/server/gateway_socket.h"
#include "benchmarks/server/server_client.h"

namespace pliant::benchmarks {
namespace {

constexpr int kWarmUp = 1000;  // visits over each transport before growth is measured

// Opens a WebSocket, then closes it or drops the connection without a close frame.
void VisitGateway(const std::string& address, bool sends_close) {
  boost::asio::io_context io;
  GatewaySocket stream = OpenGatewaySocket(address, &io);
  boost::beast::error_code ignored;
  if (sends_close) stream.close(boost::beast::websocket::close_code::normal, ignored);
}

// Opens a gRPC connection, makes one call and disconnects.
void VisitGrpc(const std::string& address) {
  Connection connection(address);
  grpc::ClientContext context;
  v1::ServerInfo info;
  Require(connection.worlds->GetServer(&context, v1::GetServerRequest(), &info), "GetServer");
}

std::size_t CountEntries(pid_t pid, const char* folder) {
  std::size_t count = 0;
  const std::string path = "/proc/" + std::to_string(pid) + folder;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path)) ++count;
  return count;
}

}  // namespace

void RunConnections(int visits, Rows* rows) {
  ServerProcess server;
  const ChildProcess& process = server.process();
  const auto visit = [&](int count) {
    for (int i = 0; i < count; ++i) {
      VisitGateway(server.http_address(), i % 2 == 0);
      VisitGrpc(server.grpc_address());
    }
  };
  visit(kWarmUp);
  const double memory = process.MeasureMemory(), start = Now();
  const std::size_t files = CountEntries(process.pid(), "/fd"),
                    threads = CountEntries(process.pid(), "/task");
  visit(visits);
  const auto more = [](std::size_t now, std::size_t before) {
    return static_cast<double>(now) - static_cast<double>(before);
  };
  rows->push_back({{"case", "connections"},
                   {"visits_of_each_front", visits},
                   {"visits_per_s", 2 * visits / (Now() - start)},
                   {"growth_mb", process.MeasureMemory() - memory},
                   {"memory_mb", process.MeasureMemory()},
                   {"files_more", more(CountEntries(process.pid(), "/fd"), files)},
                   {"threads_more", more(CountEntries(process.pid(), "/task"), threads)},
                   {"goal", {{"growth_mb", 1}}}});
}

}  // namespace pliant::benchmarks
