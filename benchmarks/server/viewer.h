#pragma once

#include <string>

namespace pliant::benchmarks {

// Viewers in a process of their own. Each acknowledges every frame.
struct ViewerOptions {
  std::string transport = "grpc";  // or ws
  std::string address;             // HOST:PORT
  std::string world;               // its id
  bool decimated = false;
  double rate = 30;            // [Hz]
  double bits_per_second = 0;  // of each connection; 0: as it comes
  int count = 1;
};

// Runs until SIGTERM, then prints {"frames", "bytes", "stale"}: totals of all viewers, and the
// largest number of frames older than half a second that one of them received in a row. Frames
// delayed by the world itself do not count.
int RunViewerProcess(const ViewerOptions& options);

}  // namespace pliant::benchmarks
