// Feeds mutations of a corpus to a fuzz target without libFuzzer: TARGET CORPUS… [--runs N]
// [--seed N] [--first N] [--duration S] [--limit S] [--print]. Every input is a function of the
// seed and its number; a crash, or an input that takes too long, names it.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <sys/time.h>

#include "tests/fuzz/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// called by the sanitizers before they end the program; null in builds without them
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

constexpr std::size_t kMaxBytes = 8192;
constexpr int kWallTimes = 20;  // an input that blocks uses no processor time

volatile std::uint64_t g_number = 0;
std::uint64_t g_seed = 1;

void NameInput(const char* what) {
  char line[200];
  const int size = std::snprintf(
      line, sizeof line, "\nthe fuzz target %s; again: --seed %llu --first %llu --runs 1\n", what,
      static_cast<unsigned long long>(g_seed), static_cast<unsigned long long>(g_number));
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(size)) < 0) _exit(1);
}

void OnSanitizer() {
  NameInput("fails");
}

void OnSignal(int number) {
  NameInput(number == SIGPROF || number == SIGALRM ? "takes too long" : "fails");
  _exit(1);
}

void StartTimers(int seconds) {
  itimerval processor{}, wall{};
  processor.it_value.tv_sec = seconds;
  wall.it_value.tv_sec = seconds * kWallTimes;
  setitimer(ITIMER_PROF, &processor, nullptr);
  setitimer(ITIMER_REAL, &wall, nullptr);
}

// Contents of the given files and of the files in the given folders, without empty ones.
std::vector<std::string> ReadCorpus(const std::vector<std::string>& places) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& place : places) {
    if (!std::filesystem::is_directory(place)) paths.emplace_back(place);
    if (!std::filesystem::is_directory(place)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(place))
      paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    if (!bytes.str().empty()) corpus.push_back(bytes.str());
  }
  return corpus;
}

std::string MakeInput(const std::vector<std::string>& corpus, std::uint64_t number) {
  pliant::fuzz::Random random(g_seed * 0x9e3779b97f4a7c15 + number);
  const std::string& base = corpus[random.Below(corpus.size())];
  const std::string& other = corpus[random.Below(corpus.size())];
  std::string input = pliant::fuzz::Mutate(base, other, kMaxBytes, &random);
  // mostly in the format of the corpus
  if (!input.empty() && !random.OneIn(8)) input[0] = base[0];
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Feeds mutations of a corpus to a fuzz target");
  std::vector<std::string> places;
  std::uint64_t runs = 100'000, first = 0;
  int duration = 0, limit = 5;
  bool print = false;
  app.add_option("corpus", places, "inputs, and folders of inputs")->required();
  app.add_option("--runs", runs, "number of inputs");
  app.add_option("--seed", g_seed, "seed of the mutations");
  app.add_option("--first", first, "number of the first input");
  app.add_option("--duration", duration, "time after which it ends, whatever --runs says [s]");
  app.add_option("--limit", limit, "processor time that an input may take [s]");
  app.add_flag("--print", print, "print the inputs");
  CLI11_PARSE(app, argc, argv);
  for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL, SIGPROF, SIGALRM})
    std::signal(number, OnSignal);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(OnSanitizer);
  const std::vector<std::string> corpus = ReadCorpus(places);
  if (corpus.empty()) {
    std::fprintf(stderr, "there is no input in %s\n", places[0].c_str());
    return 2;
  }

  using std::chrono::steady_clock, std::chrono::seconds;
  const auto begun = steady_clock::now();
  auto said = begun;
  std::uint64_t made = 0;
  for (; made < runs; ++made) {
    const auto now = steady_clock::now();
    if (duration > 0 && now - begun > seconds(duration)) break;
    if (now - said > seconds(10)) {
      said = now;
      std::printf("%llu inputs\n", static_cast<unsigned long long>(made));
      std::fflush(stdout);
    }
    g_number = first + made;
    const std::string input = MakeInput(corpus, g_number);
    if (print) {
      std::fwrite(input.data(), 1, input.size(), stdout);
      std::fflush(stdout);
    }
    StartTimers(limit);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
  StartTimers(0);
  std::printf("%llu inputs, no failure", static_cast<unsigned long long>(made));
  if (pliant::fuzz::num_accepted > 0)
    std::printf("; %llu were accepted",
                static_cast<unsigned long long>(pliant::fuzz::num_accepted));
  std::printf("\n");
  return 0;
}
