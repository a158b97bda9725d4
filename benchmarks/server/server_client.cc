#include "benchmarks/server/server_client.h"

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <nlohmann/json.hpp>

namespace pliant::benchmarks {
namespace {

std::vector<std::string> ServerArguments(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments{
      FindProgram("pliantd"), "serve", "--grpc-port",  "0",
      "--http-port",          "0",     "--viewer-dir", "/nonexistent"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return arguments;
}

// Calls `visit` with the name, the labels and the value of each sample of a metrics text.
template <typename Visit>
void ForEachSample(const std::string& text, const Visit& visit) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.rfind(' '), brace = line.find('{');
    const std::string name = line.substr(0, std::min(space, brace));
    const std::string labels = brace < space ? line.substr(brace, space - brace) : "";
    visit(name, labels, std::strtod(line.c_str() + space, nullptr));
  }
}

// Cumulative counts of a histogram by upper bound, summed over its other labels.
std::map<double, double> ReadBuckets(const std::string& text, const std::string& histogram) {
  std::map<double, double> buckets;
  ForEachSample(text, [&](const std::string& name, const std::string& labels, double value) {
    const std::size_t at = labels.find("le=\"");
    if (name != histogram + "_bucket" || at == std::string::npos) return;
    const std::string bound = labels.substr(at + 4, labels.find('"', at + 4) - at - 4);
    buckets[bound == "+Inf" ? std::numeric_limits<double>::infinity()
                            : std::strtod(bound.c_str(), nullptr)] += value;
  });
  return buckets;
}

}  // namespace

Connection::Connection(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  const auto channel =
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  worlds = v1::WorldService::NewStub(channel);
  streams = v1::StreamService::NewStub(channel);
  control = v1::ControlService::NewStub(channel);
  health = grpc::health::v1::Health::NewStub(channel);
}

v1::World Connection::Create(const std::string& id, const std::string& yaml) {
  grpc::ClientContext context;
  v1::CreateWorldRequest request;
  request.set_world_id(id);
  request.set_scene_yaml(yaml);
  v1::World world;
  Require(worlds->CreateWorld(&context, request, &world), "CreateWorld");
  return world;
}

v1::World Connection::Get(const std::string& id) {
  grpc::ClientContext context;
  v1::GetWorldRequest request;
  request.set_name("worlds/" + id);
  v1::World world;
  Require(worlds->GetWorld(&context, request, &world), "GetWorld");
  return world;
}

v1::StepWorldResponse Connection::Step(const std::string& id, int steps) {
  grpc::ClientContext context;
  v1::StepWorldRequest request;
  request.set_name("worlds/" + id);
  request.set_steps(steps);
  v1::StepWorldResponse response;
  Require(worlds->StepWorld(&context, request, &response), "StepWorld");
  return response;
}

void Connection::RunInRealTime(const std::string& id) {
  grpc::ClientContext context;
  v1::SetClockRequest request;
  request.set_name("worlds/" + id);
  request.mutable_real_time();
  v1::World world;
  Require(worlds->SetClock(&context, request, &world), "SetClock");
}

void Connection::Delete(const std::string& id) {
  grpc::ClientContext context;
  v1::DeleteWorldRequest request;
  request.set_name("worlds/" + id);
  google::protobuf::Empty empty;
  Require(worlds->DeleteWorld(&context, request, &empty), "DeleteWorld");
}

void Connection::CheckHealth() {
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckResponse response;
  Require(health->Check(&context, grpc::health::v1::HealthCheckRequest(), &response), "Check");
}

void Require(const grpc::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s failed: %s\n", what, status.error_message().c_str());
  std::exit(1);
}

ServerProcess::ServerProcess(const std::vector<std::string>& flags)
    : process_(ServerArguments(flags)) {
  const auto ready = nlohmann::json::parse(process_.ReadLine(), nullptr, false);
  if (ready.is_discarded()) {
    std::fprintf(stderr, "pliantd did not start; build it with ./dev build\n");
    std::exit(1);
  }
  grpc_ = ready.at("grpc");
  http_ = ready.at("http");
  http_ = http_.substr(http_.find("//") + 2);
}

std::string ServerProcess::FetchMetrics() const {
  namespace http = boost::beast::http;
  boost::asio::io_context io;
  boost::beast::tcp_stream stream(io);
  boost::asio::ip::tcp::resolver resolver(io);
  const std::size_t colon = http_.rfind(':');
  stream.connect(resolver.resolve(http_.substr(0, colon), http_.substr(colon + 1)));
  http::request<http::empty_body> request{http::verb::get, "/metrics", 11};
  request.set(http::field::host, http_);
  http::write(stream, request);
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(stream, buffer, response);
  return response.body();
}

double ServerProcess::ReadMetric(const std::string& wanted) const {
  double sum = 0;
  ForEachSample(FetchMetrics(), [&](const std::string& name, const std::string&, double value) {
    if (name == wanted) sum += value;
  });
  return sum;
}

double ServerProcess::ReadQuantile(const std::string& histogram, double share,
                                   const std::string& before) const {
  std::map<double, double> buckets = ReadBuckets(FetchMetrics(), histogram);
  for (const auto& [bound, count] : ReadBuckets(before, histogram)) buckets[bound] -= count;
  if (buckets.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double wanted = share * buckets.rbegin()->second;
  double lower = 0, below = 0;
  for (const auto& [bound, count] : buckets) {
    if (count >= wanted && count > below)
      return std::isinf(bound) ? bound
                               : lower + (bound - lower) * (wanted - below) / (count - below);
    lower = bound;
    below = count;
  }
  return lower;
}

}  // namespace pliant::benchmarks
