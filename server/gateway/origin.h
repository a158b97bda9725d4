#pragma once

#include <string>
#include <vector>

namespace pliant::server {

// Whether a browser page may open a WebSocket here. A page of this very server may (its Origin is
// the Host it called); others must be listed. Where the server listens on loopback alone, the Host
// must be a loopback name too: a foreign page whose name was made to resolve to 127.0.0.1 is
// refused. No Origin: not a browser.
//
// origin   header, e.g. "http://localhost:8080"; empty when there is none
// host     header, e.g. "localhost:8080"
bool IsOriginAllowed(const std::string& origin, const std::string& host, bool loopback_only,
                     const std::vector<std::string>& allowed_origins);

bool IsLoopbackHost(const std::string& host);

}  // namespace pliant::server
