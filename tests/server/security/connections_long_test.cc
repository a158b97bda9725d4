// Thousands of clients that come and go, and clients that say nothing.

#include <array>
#include <filesystem>
#include <fstream>
#include <malloc.h>
#include <unistd.h>

#include "boost/asio/io_context.hpp"
#include "boost/asio/write.hpp"
#include "boost/beast/core.hpp"

#include "server/auth/tokens.h"
#include "tests/server/serve/server_test_base.h"
#include "tests/server/serve/socket_client.h"

namespace pliant::server {
namespace {

class Connections : public ServerTest {
 protected:
  static std::size_t CountEntries(const char* folder) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
    return count;
  }
  static double ResidentMegabytes() {
    malloc_trim(0);
    std::ifstream file("/proc/self/statm");
    std::size_t total = 0, resident = 0;
    file >> total >> resident;
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
  }

  // A WebSocket that greets and leaves, every other one without a word.
  void VisitSocket(int number) {
    SocketClient socket(&io_, server_->http_port(), kTimeout);
    v1::ClientMessage hello;
    hello.mutable_hello()->set_client("visitor");
    EXPECT_TRUE(socket.Ask(hello).has_welcome());
    boost::beast::error_code ignored;
    if (number % 2 == 0)
      socket.stream().close(boost::beast::websocket::close_code::normal, ignored);
  }

  void VisitGrpc() {
    const grpc::Status status = Visit(server_->grpc_address());
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

  boost::asio::io_context io_;
};

TEST_F(Connections, TenThousandVisitsLeaveNoMemoryDescriptorsOrThreads) {
  const auto visit = [this](int count) {
    for (int i = 0; i < count / 2 && !HasFailure(); ++i) {
      VisitSocket(i);
      VisitGrpc();
    }
  };
  const auto settle = [] {
    // descriptors of clients that have left are closed soon after
    std::size_t last = 0;
    return WaitUntil([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      return std::exchange(last, CountEntries("/proc/self/fd")) == CountEntries("/proc/self/fd");
    });
  };
  visit(2000);
  ASSERT_TRUE(settle());
  const std::size_t files = CountEntries("/proc/self/fd");
  const std::size_t threads = CountEntries("/proc/self/task");
  const double memory = ResidentMegabytes();
  visit(10000);
  ASSERT_TRUE(settle());
  // a few belong to the pools of gRPC, which grow and shrink with the load
  EXPECT_LE(CountEntries("/proc/self/fd"), files + 4);
  EXPECT_LE(CountEntries("/proc/self/task"), threads + 4);
  // 1 kB of each visit would be 10 MB
  EXPECT_LE(ResidentMegabytes(), memory + 5);
  RecordProperty("memory_growth_mb", std::to_string(ResidentMegabytes() - memory));
}

// With a token file, so that a socket must authenticate.
class SilentConnections : public Connections {
 protected:
  void Configure(ServeOptions* options) override {
    tokens_ =
        (std::filesystem::temp_directory_path() / ("pliant-silent-" + std::to_string(getpid())))
            .string();
    ASSERT_TRUE(AddToken(tokens_, {"a", "viewer", "", ""}).ok());
    options->tokens_file = tokens_;
  }
  void TearDown() override { std::filesystem::remove(tokens_); }

  std::string tokens_;
};

TEST_F(SilentConnections, AreClosed) {
  const auto start = std::chrono::steady_clock::now();
  // one sends no request, one no token
  auto mute = SocketClient::Connect(&io_, server_->http_port(), kTimeout);
  SocketClient nameless(&io_, server_->http_port(), kTimeout);
  boost::beast::flat_buffer buffer;
  boost::beast::error_code error;
  nameless.stream().read(buffer, error);
  EXPECT_EQ(error, boost::beast::websocket::error::closed);
  EXPECT_NE(std::string(nameless.stream().reason().reason.c_str()).find("token"),
            std::string::npos);
  char byte = 0;
  mute.read_some(boost::asio::buffer(&byte, 1), error);
  EXPECT_EQ(error, boost::asio::error::eof) << error.message();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(40));
}

// A gRPC client that has vanished, as after an unplugged cable, answers no ping.
TEST_F(Connections, GrpcClientThatAnswersNothingIsClosed) {
  boost::asio::ip::tcp::socket socket = SocketClient::Connect(&io_, server_->grpc_port(), kTimeout);
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  boost::asio::write(socket, boost::asio::buffer(preface + settings));
  const auto start = std::chrono::steady_clock::now();
  boost::beast::error_code error;
  std::array<char, 4096> bytes{};
  while (!error) socket.read_some(boost::asio::buffer(bytes), error);
  EXPECT_EQ(error, boost::asio::error::eof) << error.message();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(45));
}

// A gRPC client that connects and sends nothing.
TEST_F(Connections, GrpcClientThatNeverSpeaksIsClosed) {
  boost::asio::ip::tcp::socket socket = SocketClient::Connect(&io_, server_->grpc_port(), kTimeout);
  boost::beast::error_code error;
  std::array<char, 4096> bytes{};
  while (!error) socket.read_some(boost::asio::buffer(bytes), error);
  EXPECT_NE(error, boost::asio::error::would_block);
}

}  // namespace
}  // namespace pliant::server
