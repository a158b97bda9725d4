#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace pliant::server {

// Counters of one port, for its metrics.
struct ConnectionCounters {
  std::atomic<int> open{0};
  std::atomic<std::uint64_t> refused{0};  // beyond the limits
};

// Limits the number of connections of each peer. Used on one thread.
class Peers {
 public:
  explicit Peers(int max_per_peer)
      : max_per_peer_(max_per_peer), counts_(std::make_shared<Counts>()) {}

  // Counts one connection of its peer until it is destroyed. May outlive the counter.
  class Place {
   public:
    Place() = default;
    Place(Place&&) = default;
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (counts_ == nullptr) return;
      const auto own = counts_->find(peer_);
      if (--own->second == 0) counts_->erase(own);
    }
    explicit operator bool() const { return counts_ != nullptr; }

   private:
    friend class Peers;
    std::shared_ptr<std::map<std::string, int>> counts_;
    std::string peer_;
  };

  // Returns an empty place if the peer already has its maximum.
  Place Take(const sockaddr& address) {
    Place place;
    const std::string peer = NameOf(address);
    int& count = (*counts_)[peer];
    if (count >= max_per_peer_) return place;
    ++count;
    place.counts_ = counts_;
    place.peer_ = peer;
    return place;
  }

 private:
  using Counts = std::map<std::string, int>;

  // An IPv4 address, or the /64 network of an IPv6 address, which usually belongs to one machine.
  static std::string NameOf(const sockaddr& address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address.sa_family == AF_INET) {
      inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text,
                sizeof text);
      return text;
    }
    in6_addr bytes = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&bytes)) {
      inet_ntop(AF_INET, bytes.s6_addr + 12, text, sizeof text);
      return text;
    }
    if (!IN6_IS_ADDR_LOOPBACK(&bytes)) std::fill(bytes.s6_addr + 8, bytes.s6_addr + 16, 0);
    inet_ntop(AF_INET6, &bytes, text, sizeof text);
    return text;
  }

  const int max_per_peer_;
  std::shared_ptr<Counts> counts_;
};

}  // namespace pliant::server
