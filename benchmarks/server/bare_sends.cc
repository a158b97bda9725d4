#include "benchmarks/server/bare_sends.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "benchmarks/measure.h"
#include "benchmarks/server/gateway_socket.h"
#include "benchmarks/server/viewer.h"
#include "pliant/v1/stream.pb.h"

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

  // Accepts a connection that sends without delay, as those of the server do.
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

std::unique_ptr<ChildProcess> StartReaders(const std::string& transport, const std::string& address,
                                           int count) {
  ViewerOptions options;
  options.transport = transport;
  options.address = address;
  options.count = count;
  return StartViewers(options);
}

struct Event {
  virtual ~Event() = default;
  virtual void Happen(bool ok) = 0;
};

// A server that accepts streams of any method, writes given bytes and discards what it reads.
class BareGrpcServer {
 public:
  BareGrpcServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.RegisterAsyncGenericService(&service_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    Await();
    thread_ = std::thread([this] {
      void* tag = nullptr;
      bool ok = false;
      while (queue_->Next(&tag, &ok)) static_cast<Event*>(tag)->Happen(ok);
    });
  }
  ~BareGrpcServer() {
    server_->Shutdown(std::chrono::system_clock::now());
    queue_->Shutdown();
    thread_.join();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int streams() const { return open_.load(); }

  // Writes to every stream whose last write has completed. Returns the number of these streams.
  int Write(const grpc::ByteBuffer& bytes) {
    int written = 0;
    for (int i = 0; i < open_.load(); ++i) written += streams_[i]->Write(bytes);
    return written;
  }

 private:
  struct Stream : Event {
    explicit Stream(BareGrpcServer* owner) : server(owner) {}
    void Happen(bool ok) override {
      if (!ok) return;
      if (!arrived) {
        arrived = true;
        server->Await();
        server->open_.fetch_add(1);
      }
      stream.Read(&in, this);
    }
    bool Write(const grpc::ByteBuffer& bytes) {
      if (written.busy.exchange(true)) return false;
      stream.Write(bytes, static_cast<Event*>(&written));
      return true;
    }

    struct Written : Event {
      void Happen(bool ok) override { busy.store(!ok); }
      std::atomic<bool> busy{false};
    };
    BareGrpcServer* const server;
    bool arrived = false;
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter stream{&context};
    grpc::ByteBuffer in;
    Written written;
  };

  void Await() {
    auto& next = streams_.at(awaited_++);
    next = std::make_unique<Stream>(this);
    service_.RequestCall(&next->context, &next->stream, queue_.get(), queue_.get(),
                         static_cast<Event*>(next.get()));
  }

  int port_ = 0;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::array<std::unique_ptr<Stream>, 256> streams_;
  int awaited_ = 0;
  std::atomic<int> open_{0};
  std::thread thread_;
};

// A response that viewers accept as a frame, with `bytes` bytes of positions.
grpc::ByteBuffer MakeFrame(std::size_t bytes) {
  v1::SubscribeResponse response;
  v1::Frame* frame = response.mutable_frame();
  frame->set_frame(1);
  frame->add_deformables()->set_positions(std::string(bytes, '\0'));
  const grpc::Slice slice(response.SerializeAsString());
  return {&slice, 1};
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
      readers.push_back(StartReaders("tcp", listener.address(),
                                     std::min(kReadersOfProcess, group.readers - started)));
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

std::vector<double> MeasureBareGrpcFanOut(const std::vector<ReaderGroup>& groups, double interval) {
  std::vector<double> times;
  for (const ReaderGroup& group : groups) {
    BareGrpcServer server;
    const grpc::ByteBuffer frame = MakeFrame(group.bytes);
    std::vector<std::unique_ptr<ChildProcess>> readers;
    for (int started = 0; started < group.readers; started += kReadersOfProcess)
      readers.push_back(StartReaders("grpc", server.address(),
                                     std::min(kReadersOfProcess, group.readers - started)));
    const auto sleep = [](double seconds) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    };
    while (server.streams() < group.readers) sleep(0.01);

    const int rounds = std::max(kMinRounds, static_cast<int>(kFanOutTime / interval));
    int frames = 0;
    double start = 0;
    for (int round = -kMinRounds; round < rounds; ++round) {
      // windows and buffers grow in the first rounds
      if (round == 0) start = ProcessNow();
      const int written = server.Write(frame);
      if (round >= 0) frames += written;
      sleep(interval);
    }
    times.push_back((ProcessNow() - start) / std::max(1, frames));
  }
  return times;
}

}  // namespace pliant::benchmarks
