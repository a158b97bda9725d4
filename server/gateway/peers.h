#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "boost/asio/ip/address.hpp"

namespace pliant::server {

// Counts the connections of each peer, so that one cannot take all of them. Used on one thread.
class Peers {
 public:
  explicit Peers(int max_per_peer)
      : max_per_peer_(max_per_peer), counts_(std::make_shared<Counts>()) {}

  // The place of one connection among those of its peer; given back when destroyed. May outlive
  // the counter.
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

  // An empty place when the peer has its maximum already.
  Place Take(const boost::asio::ip::address& address) {
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

  // An address, or the network of an IPv6 address, all of which usually belongs to one machine.
  static std::string NameOf(const boost::asio::ip::address& address) {
    if (!address.is_v6() || address.is_loopback() || address.to_v6().is_v4_mapped())
      return address.to_string();
    auto bytes = address.to_v6().to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), 0);
    return boost::asio::ip::address_v6(bytes).to_string();
  }

  const int max_per_peer_;
  std::shared_ptr<Counts> counts_;
};

}  // namespace pliant::server
