#pragma once

#include <string>
#include <vector>

namespace pliant::server {

// Whether a browser page may open a WebSocket. Pages of this server may (Origin equals Host);
// others must be listed. If the server listens on loopback only, Host must be a loopback name too,
// which refuses foreign pages by DNS rebinding to 127.0.0.1. A request without Origin is not from a
// browser.
//
// origin   header, e.g. "http://localhost:8080"; empty when there is none
// host     header, e.g. "localhost:8080"
bool IsOriginAllowed(const std::string& origin, const std::string& host, bool loopback_only,
                     const std::vector<std::string>& allowed_origins);

bool IsLoopbackHost(const std::string& host);

}  // namespace pliant::server
