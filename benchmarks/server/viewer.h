#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/server/child_process.h"

namespace pliant::benchmarks {

// Viewers in a process of their own. Each acknowledges every frame.
struct ViewerOptions {
  std::string transport = "grpc";  // or ws; or tcp, which reads whatever comes and sends nothing
  std::string address;             // HOST:PORT
  std::string world;               // its id
  bool decimated = false;
  double rate = 30;            // [Hz]
  double bits_per_second = 0;  // of each connection; 0: unlimited
  int count = 1;
};

// Runs until SIGTERM, then prints {"frames", "bytes", "stale"}: totals of all viewers, and the
// largest number of frames older than half a second that one of them received in a row. Frames
// delayed by the world itself do not count.
int RunViewerProcess(const ViewerOptions& options);

// Starts such a process at the lowest priority, since viewers usually run on other machines.
std::unique_ptr<ChildProcess> StartViewers(const ViewerOptions& options);

// Totals over viewers; `stale` is the largest of any.
struct Seen {
  double frames = 0, bytes = 0, stale = 0;
};
Seen operator+(const Seen& a, const Seen& b);

// Ends viewers and returns what they received.
Seen StopViewers(std::vector<std::unique_ptr<ChildProcess>>* viewers);

}  // namespace pliant::benchmarks
