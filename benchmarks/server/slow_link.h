#pragma once

#include <string>
#include <thread>

namespace pliant::benchmarks {

// A slow network connection to a server: one client connects to address(), and what the server
// sends is passed on at a bounded rate. What the link cannot carry yet stays with the server.
class SlowLink {
 public:
  // `server` is HOST:PORT with a numeric host.
  SlowLink(const std::string& server, double bits_per_second);
  ~SlowLink();
  const std::string& address() const { return address_; }

 private:
  void Carry(const std::string& server, double bits_per_second) const;

  int listening_ = -1;
  std::string address_;
  std::thread thread_;
};

}  // namespace pliant::benchmarks
