#include "benchmarks/server/viewer.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>
#include <memory>
#include <signal.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <nlohmann/json.hpp>

#include "benchmarks/measure.h"
#include "benchmarks/server/gateway_socket.h"
#include "benchmarks/server/server_client.h"
#include "benchmarks/server/slow_link.h"
#include "pliant/v1/gateway.pb.h"

namespace pliant::benchmarks {
namespace {

constexpr double kStale = 0.5;  // [s]
constexpr int kNice = 19;

struct Totals {
  std::atomic<std::int64_t> frames{0}, bytes{0}, stale{0};
};

// Frames that one viewer received.
class FrameLog {
 public:
  explicit FrameLog(Totals* totals) : totals_(totals) {}

  void Add(const v1::Frame& frame, std::size_t bytes) {
    totals_->frames.fetch_add(1);
    totals_->bytes.fetch_add(static_cast<std::int64_t>(bytes));
    // in a real-time world, the frame that arrives with the least delay has the smallest difference
    const double behind = Now() - frame.time() - frame.report().lag();
    min_behind_ = std::min(min_behind_, behind);
    stale_ = behind - min_behind_ > kStale ? stale_ + 1 : 0;
    std::int64_t highest = totals_->stale.load();
    while (stale_ > highest && !totals_->stale.compare_exchange_weak(highest, stale_)) {
    }
  }

 private:
  Totals* const totals_;
  double min_behind_ = std::numeric_limits<double>::infinity();
  std::int64_t stale_ = 0;  // in a row
};

v1::SubscribeRequest MakeSubscription(const ViewerOptions& options) {
  v1::SubscribeRequest request;
  v1::Subscription* subscription = request.mutable_subscription();
  subscription->set_world("worlds/" + options.world);
  subscription->set_rate(options.rate);
  subscription->add_fields(v1::FIELD_MEASURE_VON_MISES_STRAIN);
  if (options.decimated) subscription->set_tier(v1::TIER_DECIMATED);
  return request;
}

void WatchOverGrpc(const ViewerOptions& options, const std::string& address, Totals* totals) {
  Connection connection(address);
  grpc::ClientContext context;
  const auto stream = connection.streams->Subscribe(&context);
  stream->Write(MakeSubscription(options));
  FrameLog log(totals);
  v1::SubscribeResponse response;
  while (stream->Read(&response)) {
    log.Add(response.frame(), response.ByteSizeLong());
    v1::SubscribeRequest ack;
    ack.mutable_ack()->set_frame(response.frame().frame());
    stream->Write(ack);
  }
}

void WatchOverWebSocket(const ViewerOptions& options, const std::string& address, Totals* totals) {
  namespace beast = boost::beast;
  boost::asio::io_context io;
  GatewaySocket stream = OpenGatewaySocket(address, &io);
  stream.read_message_max(64 << 20);
  stream.binary(true);
  const auto send = [&](const v1::SubscribeRequest& request) {
    v1::ClientMessage message;
    *message.mutable_subscribe() = request;
    stream.write(boost::asio::buffer(message.SerializeAsString()));
  };
  send(MakeSubscription(options));
  FrameLog log(totals);
  beast::flat_buffer buffer;
  while (true) {
    beast::error_code error;
    stream.read(buffer, error);
    if (error) return;
    v1::ServerMessage message;
    message.ParseFromArray(buffer.data().data(), static_cast<int>(buffer.size()));
    const std::size_t size = buffer.size();
    buffer.consume(size);
    if (!message.stream().has_frame()) continue;
    log.Add(message.stream().frame(), size);
    v1::SubscribeRequest ack;
    ack.mutable_ack()->set_frame(message.stream().frame().frame());
    send(ack);
  }
}

void ReadTcp(const ViewerOptions&, const std::string& address, Totals* totals) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket socket = ConnectTcp(address, &io);
  std::vector<char> buffer(256 << 10);
  boost::system::error_code error;
  while (!error) {
    const std::size_t size = socket.read_some(boost::asio::buffer(buffer), error);
    totals->bytes.fetch_add(static_cast<std::int64_t>(size));
  }
}

auto FindWatch(const std::string& transport) {
  if (transport == "tcp") return ReadTcp;
  return transport == "ws" ? WatchOverWebSocket : WatchOverGrpc;
}

}  // namespace

std::unique_ptr<ChildProcess> StartViewers(const ViewerOptions& options) {
  std::vector<std::string> arguments{FindProgram("pliant_bench_server"), "viewer"};
  const auto add = [&](const char* flag, const std::string& value) {
    arguments.push_back(flag);
    arguments.push_back(value);
  };
  add("--transport", options.transport);
  add("--address", options.address);
  add("--world", options.world);
  add("--tier", options.decimated ? "decimated" : "full");
  add("--rate", std::to_string(options.rate));
  add("--bits-per-second", std::to_string(options.bits_per_second));
  add("--count", std::to_string(options.count));
  return std::make_unique<ChildProcess>(arguments, kNice);
}

Seen operator+(const Seen& a, const Seen& b) {
  return {a.frames + b.frames, a.bytes + b.bytes, std::max(a.stale, b.stale)};
}

Seen StopViewers(std::vector<std::unique_ptr<ChildProcess>>* viewers) {
  Seen seen;
  for (const auto& viewer : *viewers) viewer->Signal(SIGTERM);
  for (const auto& viewer : *viewers) {
    const auto line = nlohmann::json::parse(viewer->ReadLine(), nullptr, false);
    if (line.is_discarded()) continue;
    seen = seen + Seen{line.at("frames").get<double>(), line.at("bytes").get<double>(),
                       line.at("stale").get<double>()};
  }
  viewers->clear();
  return seen;
}

int RunViewerProcess(const ViewerOptions& options) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  Totals totals;
  std::vector<std::unique_ptr<SlowLink>> links;
  for (int i = 0; i < options.count; ++i) {
    std::string address = options.address;
    if (options.bits_per_second > 0) {
      links.push_back(std::make_unique<SlowLink>(address, options.bits_per_second));
      address = links.back()->address();
    }
    const auto watch = FindWatch(options.transport);
    std::thread([=, &options, &totals] { watch(options, address, &totals); }).detach();
  }
  int signal_number = 0;
  sigwait(&signals, &signal_number);
  std::printf("{\"frames\": %lld, \"bytes\": %lld, \"stale\": %lld}\n",
              static_cast<long long>(totals.frames.load()),
              static_cast<long long>(totals.bytes.load()),
              static_cast<long long>(totals.stale.load()));
  std::fflush(stdout);
  _exit(0);  // the viewers' threads still read
}

}  // namespace pliant::benchmarks
