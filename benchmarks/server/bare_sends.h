#pragma once

#include <cstddef>
#include <vector>

namespace pliant::benchmarks {

// Cost of sending in a process that does nothing else: a lower bound for servers.

// Processor time of this thread to send `bytes` over the loopback interface [s]. It sends
// continuously through one connection, so the reader never sleeps.
double MeasureBareSend(std::size_t bytes);

// Readers with one connection each.
struct ReaderGroup {
  int readers;
  std::size_t bytes;  // of each frame
};

// Processor time of this thread per frame and reader [s], by group. The readers are in other
// processes and sleep until the next frame, which comes every `interval` seconds.
std::vector<double> MeasureBareFanOut(const std::vector<ReaderGroup>& groups, double interval);

// The same over gRPC, with streams that only write these bytes and read acknowledgements: processor
// time of this process per frame and reader [s], by group. One thread reads the events of all
// streams, which is cheapest in gRPC.
std::vector<double> MeasureBareGrpcFanOut(const std::vector<ReaderGroup>& groups, double interval);

}  // namespace pliant::benchmarks
