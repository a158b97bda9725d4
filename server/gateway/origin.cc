#include "server/gateway/origin.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "boost/asio/ip/address.hpp"

namespace pliant::server {
namespace {

// Name of a host without port and brackets, in lower case.
std::string NameOfHost(const std::string& host) {
  const std::string name = absl::AsciiStrToLower(host);
  if (!name.empty() && name.front() == '[') return name.substr(1, name.find(']') - 1);
  return name.substr(0, name.find(':'));
}

bool Lists(const std::vector<std::string>& list, const std::string& wanted) {
  return std::any_of(list.begin(), list.end(), [&wanted](const std::string& one) {
    return absl::AsciiStrToLower(one) == wanted;
  });
}

}  // namespace

bool IsOwnHost(const std::string& host, bool loopback_only,
               const std::vector<std::string>& allowed_hosts) {
  const std::string name = NameOfHost(host);
  if (name == "localhost" || Lists(allowed_hosts, name)) return true;
  boost::system::error_code error;
  const boost::asio::ip::address address = boost::asio::ip::make_address(name, error);
  return !error && (!loopback_only || address.is_loopback());
}

bool IsOriginAllowed(const std::string& origin, const std::string& host, bool is_own_host,
                     const std::vector<std::string>& allowed_origins) {
  if (origin.empty()) return true;
  const std::string asked = absl::AsciiStrToLower(origin);
  if (Lists(allowed_origins, asked)) return true;
  const std::string own = absl::AsciiStrToLower(host);
  return is_own_host && (asked == "http://" + own || asked == "https://" + own);
}

}  // namespace pliant::server
