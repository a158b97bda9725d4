#pragma once

#include <stdexcept>
#include <string>

namespace pliant::clients {

inline constexpr int kDone = 0;
inline constexpr int kRefused = 1;  // the server refused, or the world has a fault
inline constexpr int kWrongUsage = 2;
inline constexpr int kInvalidScene = 3;
inline constexpr int kUnreachable = 4;    // no server answers, or a file cannot be read or written
inline constexpr int kInterrupted = 130;  // by SIGINT or SIGTERM, as shells report it
inline constexpr int kPipeClosed = 141;   // the reader of the output is gone (SIGPIPE), likewise

// Ends the command with an exit status and a message for stderr; none if it is empty.
class CommandError : public std::runtime_error {
 public:
  CommandError(int exit_status, const std::string& message)
      : std::runtime_error(message), exit_status(exit_status) {}
  const int exit_status;
};

}  // namespace pliant::clients
