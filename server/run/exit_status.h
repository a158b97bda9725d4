#pragma once

namespace pliant::server {

// How `pliantd` ends; programs rely on these numbers.
enum ExitStatus : int {
  kDone = 0,
  kRunFault =
      1,  // a fault in the run: the step and the cause are said, what was recorded is written
  kWrongUsage = 2,
  kInvalidScene = 3,  // the errors are listed, one a line
  kEnvironment = 4,   // port taken, folder not writable, disk full: named, with the mend
};

}  // namespace pliant::server
