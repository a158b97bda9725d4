// Feeds mutations of the corpus to a fuzz target without libFuzzer: TARGET CORPUS [--runs N]
// [--seed N] [--first N]. Every input is a function of the seed and its number; a crash names it.

#include <algorithm>
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

#include "tests/fuzz/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// called by the sanitizers before they end the program; null in builds without them
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

volatile std::uint64_t g_number = 0;
std::uint64_t g_seed = 1;

void NameInput() {
  char line[200];
  const int size = std::snprintf(
      line, sizeof line, "\nthe fuzz target fails; again: --seed %llu --first %llu --runs 1\n",
      static_cast<unsigned long long>(g_seed), static_cast<unsigned long long>(g_number));
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(size)) < 0) _exit(1);
}

void OnSignal(int) {
  NameInput();
  _exit(1);
}

std::vector<std::string> ReadCorpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    corpus.push_back(bytes.str());
  }
  return corpus;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Feeds mutations of a corpus to a fuzz target");
  std::string folder;
  std::uint64_t runs = 100'000, first = 0;
  app.add_option("corpus", folder, "folder of inputs")->required();
  app.add_option("--runs", runs, "number of inputs");
  app.add_option("--seed", g_seed, "seed of the mutations");
  app.add_option("--first", first, "number of the first input");
  CLI11_PARSE(app, argc, argv);
  for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(number, OnSignal);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(NameInput);
  const std::vector<std::string> corpus = ReadCorpus(folder);
  if (corpus.empty()) {
    std::fprintf(stderr, "there is no input in %s\n", folder.c_str());
    return 2;
  }
  for (std::uint64_t i = first; i < first + runs; ++i) {
    g_number = i;
    pliant::fuzz::Random random(g_seed * 0x9e3779b97f4a7c15 + i);
    const std::string& base = corpus[random.Below(corpus.size())];
    const std::string& other = corpus[random.Below(corpus.size())];
    std::string input = pliant::fuzz::Mutate(base, other, 4096, &random);
    // mostly in the format of the corpus
    if (!input.empty() && !random.OneIn(8)) input[0] = base[0];
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
  std::printf("%llu inputs\n", static_cast<unsigned long long>(runs));
  return 0;
}
