#include "benchmarks/server/child_process.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <utility>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace pliant::benchmarks {

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, int nice) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a benchmark that is killed leaves no server
    if (nice > 0) setpriority(PRIO_PROCESS, 0, nice);
    const int log = open("/dev/null", O_WRONLY);
    dup2(ends[1], STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  output_ = ends[0];
  if (pid_ > 0) return;
  std::fprintf(stderr, "cannot start %s\n", argv[0]);
  std::exit(4);
}

ChildProcess::~ChildProcess() {
  Stop();
  close(output_);
}

std::string ChildProcess::ReadLine() {
  std::string line;
  char next = 0;
  while (read(output_, &next, 1) == 1 && next != '\n') line += next;
  return line;
}

void ChildProcess::Signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

void ChildProcess::Stop() {
  if (pid_ <= 0) return;
  kill(pid_, SIGCONT);
  kill(pid_, SIGTERM);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) kill(pid_, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  pid_ = -1;
}

double ChildProcess::MeasureMemory() const {
  std::ifstream statm("/proc/" + std::to_string(pid_) + "/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double ChildProcess::MeasureCpu() const {
  std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
  std::string line, word;
  std::getline(stat, line);
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  double user = 0, system = 0;
  for (int i = 0; i < 11; ++i) fields >> word;  // utime is the 14th field, the 12th after the name
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

ChildProcess::ThreadTimes ChildProcess::MeasureThreads(const std::string& name, bool others) const {
  ThreadTimes times;
  std::error_code error;
  const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
    std::string own;
    std::getline(std::ifstream(task.path() / "comm"), own);
    std::ifstream schedstat(task.path() / "schedstat");
    double cpu = 0, wait = 0;  // [ns]
    if (own.starts_with(name) == others || !(schedstat >> cpu >> wait)) continue;
    times.cpu += 1e-9 * cpu;
    times.wait += 1e-9 * wait;
  }
  return times;
}

std::string FindProgram(const std::string& name) {
  return (std::filesystem::canonical("/proc/self/exe").parent_path() / name).string();
}

}  // namespace pliant::benchmarks
