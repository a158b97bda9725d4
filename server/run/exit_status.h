#pragma once

namespace pliant::server {

// Exit status of `pliantd`; programs rely on these numbers.
enum ExitStatus : int {
  kDone = 0,
  kRunFault = 1,  // a fault in the run: step and cause are reported, recorded data is written
  kWrongUsage = 2,
  kInvalidScene = 3,  // the errors are listed, one a line
  kEnvironment = 4,   // port taken, folder not writable, disk full; the message has the remedy
};

}  // namespace pliant::server
