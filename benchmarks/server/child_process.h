#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace pliant::benchmarks {

// A process started by the benchmark. Its standard output can be read, its log is dropped.
class ChildProcess {
 public:
  explicit ChildProcess(const std::vector<std::string>& arguments);
  ~ChildProcess();  // Stop
  ChildProcess(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  std::string ReadLine();  // of its standard output; empty at the end
  void Signal(int number) const;
  void Stop();  // SIGTERM, and SIGKILL after 15 s. Idempotent

  double MeasureMemory() const;  // resident [MiB]
  double MeasureCpu() const;     // of all its threads [s]

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

// Path of a program beside this one.
std::string FindProgram(const std::string& name);

}  // namespace pliant::benchmarks
