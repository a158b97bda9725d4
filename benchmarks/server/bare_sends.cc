#include "benchmarks/server/bare_sends.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "benchmarks/measure.h"
#include "benchmarks/server/gateway_socket.h"
#include "benchmarks/server/viewer.h"

namespace pliant::benchmarks {
namespace {

constexpr int kReadersOfProcess = 10;
constexpr double kFanOutTime = 4;  // [s]
constexpr int kMinRounds = 10;

// A socket that listens on a free port of the loopback interface.
class Listener {
 public:
  explicit Listener(int backlog) : handle_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    if (bind(handle_, Address(), size) != 0 || listen(handle_, backlog) != 0) std::abort();
    getsockname(handle_, Address(), &size);
  }
  ~Listener() { close(handle_); }

  std::string address() const { return "127.0.0.1:" + std::to_string(ntohs(address_.sin_port)); }

  // A connection that sends at once, as those of the server do.
  int Accept() const {
    const int accepted = accept4(handle_, nullptr, nullptr, SOCK_CLOEXEC);
    const int on = 1;
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return accepted;
  }

 private:
  sockaddr* Address() { return reinterpret_cast<sockaddr*>(&address_); }

  const int handle_;
  sockaddr_in address_{};
};

void SendAll(int connection, const std::vector<char>& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t part = send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (part <= 0) return;
    sent += static_cast<std::size_t>(part);
  }
}

std::unique_ptr<ChildProcess> StartReaders(const Listener& listener, int count) {
  ViewerOptions options;
  options.transport = "tcp";
  options.address = listener.address();
  options.count = count;
  return StartViewers(options);
}

}  // namespace

double MeasureBareSend(std::size_t bytes) {
  const Listener listener(1);
  boost::asio::io_context io;
  auto receiving = ConnectTcp(listener.address(), &io);
  const int sending = listener.Accept();
  std::thread reader([&] {
    std::vector<char> buffer(1 << 20);
    boost::system::error_code error;
    while (!error) receiving.read_some(boost::asio::buffer(buffer), error);
  });
  const std::vector<char> frame(bytes);
  constexpr int kFrames = 300;
  const double start = ThreadNow();
  for (int i = 0; i < kFrames; ++i) SendAll(sending, frame);
  const double spent = ThreadNow() - start;
  close(sending);
  reader.join();
  return spent / kFrames;
}

std::vector<double> MeasureBareFanOut(const std::vector<ReaderGroup>& groups, double interval) {
  struct Fan {
    std::vector<char> frame;
    std::vector<int> connections;
    double spent = 0;
  };
  std::vector<Fan> fans;
  std::vector<std::unique_ptr<ChildProcess>> readers;
  for (const ReaderGroup& group : groups) {
    const Listener listener(group.readers);
    Fan& fan = fans.emplace_back();
    fan.frame.resize(group.bytes);
    for (int started = 0; started < group.readers; started += kReadersOfProcess)
      readers.push_back(
          StartReaders(listener, std::min(kReadersOfProcess, group.readers - started)));
    for (int i = 0; i < group.readers; ++i) fan.connections.push_back(listener.Accept());
  }

  const int rounds = std::max(kMinRounds, static_cast<int>(kFanOutTime / interval));
  for (int round = -1; round < rounds; ++round) {
    std::this_thread::sleep_for(std::chrono::duration<double>(interval));
    for (Fan& fan : fans) {
      const double start = ThreadNow();
      for (const int connection : fan.connections) SendAll(connection, fan.frame);
      if (round >= 0) fan.spent += ThreadNow() - start;  // buffers grow in the first round
    }
  }
  std::vector<double> times;
  for (const Fan& fan : fans) {
    times.push_back(fan.spent / rounds / static_cast<double>(fan.connections.size()));
    for (const int connection : fan.connections) close(connection);
  }
  return times;
}

}  // namespace pliant::benchmarks
