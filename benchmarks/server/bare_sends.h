#pragma once

#include <cstddef>
#include <vector>

namespace pliant::benchmarks {

// What sending costs a process that does nothing else: the least that a server can take.

// Processor time of this thread to send `bytes` over the loopback interface [s]. It sends all the
// time, through one connection, so its reader never sleeps.
double MeasureBareSend(std::size_t bytes);

// Readers, each of which has a connection of its own.
struct ReaderGroup {
  int readers;
  std::size_t bytes;  // of each frame
};

// Processor time of this thread for each frame and reader [s], by group. The readers are in other
// processes and sleep until the next frame, which comes every `interval` seconds.
std::vector<double> MeasureBareFanOut(const std::vector<ReaderGroup>& groups, double interval);

// The same over gRPC, with streams that do nothing but write these bytes and read what acknowledges
// them: processor time of this process for each frame and reader [s], by group. One thread reads
// the events of all streams; that takes gRPC least.
std::vector<double> MeasureBareGrpcFanOut(const std::vector<ReaderGroup>& groups, double interval);

}  // namespace pliant::benchmarks
