#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace pliant::benchmarks {

// A process started by the benchmark. Its standard output can be read, its log is dropped.
class ChildProcess {
 public:
  // `nice` lowers its priority on a busy processor.
  explicit ChildProcess(const std::vector<std::string>& arguments, int nice = 0);
  ~ChildProcess();  // calls Stop
  ChildProcess(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  std::string ReadLine();  // next line of its standard output; empty at the end
  void Signal(int number) const;
  void Stop();  // SIGTERM, and SIGKILL after 15 s. Idempotent

  double MeasureMemory() const;  // resident [MiB]
  double MeasureCpu() const;     // of all its threads [s]

  // Times of its threads whose names begin with `name`, or of all others.
  struct ThreadTimes {
    double cpu = 0;   // [s]
    double wait = 0;  // runnable, but waiting for a processor [s]
  };
  ThreadTimes MeasureThreads(const std::string& name, bool others = false) const;

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

// Path of a program beside this one.
std::string FindProgram(const std::string& name);

}  // namespace pliant::benchmarks
