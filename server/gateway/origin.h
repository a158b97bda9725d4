#pragma once

#include <string>
#include <vector>

namespace pliant::server {

// True if a Host header names this server: a loopback name, an address, or one of `allowed_hosts`.
// Any other name may be that of a foreign page which had its name resolve to this machine (DNS
// rebinding). A server that listens on loopback only is reached by loopback names and
// `allowed_hosts`.
//
// host   header, e.g. "localhost:8080"; the port is not compared
bool IsOwnHost(const std::string& host, bool loopback_only,
               const std::vector<std::string>& allowed_hosts);

// True if a browser page may open a WebSocket. Pages of this server may (Origin equals Host, and
// Host is own); others must be listed. A request without Origin is not from a browser.
//
// origin   header, e.g. "http://localhost:8080"; empty when there is none
bool IsOriginAllowed(const std::string& origin, const std::string& host, bool is_own_host,
                     const std::vector<std::string>& allowed_origins);

}  // namespace pliant::server
