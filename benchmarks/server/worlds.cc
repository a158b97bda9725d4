// Worlds that are created and deleted.

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

#include "benchmarks/measure.h"
#include "benchmarks/server/cases.h"
#include "benchmarks/server/server_client.h"

namespace pliant::benchmarks {
namespace {

constexpr char kSmallWorld[] = R"(name: small
bodies: [{name: ball, rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 0.05}}]}}]
)";
// The smallest valid scene: ground without other bodies.
constexpr char kEmptyWorld[] = R"(name: empty
bodies: [{name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}]
)";
constexpr int kWorlds = 1000;
constexpr int kAlive = 64;
constexpr int kWarmUp = 1000;  // cycles after which memory is compared
constexpr int kShown = 5000;   // cycles between two lines of progress

}  // namespace

void RunSmallWorlds(Rows* rows) {
  ServerProcess server({"--max-worlds", "100"});
  std::atomic<int> next{0}, alive{0}, max_alive{0};
  const double start = Now();
  // each thread keeps its share of the 64 worlds alive
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      Connection client(server.grpc_address());
      std::vector<std::string> own;
      const auto remove_oldest = [&] {
        client.Delete(own.front());
        alive.fetch_sub(1);
        own.erase(own.begin());
      };
      while (true) {
        const int number = next.fetch_add(1);
        if (number >= kWorlds) break;
        if (own.size() == kAlive / kThreads) remove_oldest();
        own.push_back(absl::StrCat("w", number));
        client.Create(own.back(), kSmallWorld);
        const int now = alive.fetch_add(1) + 1;
        for (int seen = max_alive.load();
             now > seen && !max_alive.compare_exchange_weak(seen, now);) {
        }
        client.Step(own.back(), 10);
      }
      while (!own.empty()) remove_oldest();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double elapsed = Now() - start;
  rows->push_back({{"case", "small_worlds"},
                   {"worlds", kWorlds},
                   {"alive_at_once", max_alive.load()},
                   {"seconds", elapsed},
                   {"worlds_per_minute", 60 * kWorlds / elapsed},
                   {"goal", {{"worlds_per_minute", 1000}, {"alive_at_once", kAlive}}}});
}

void RunCreateDelete(int cycles, Rows* rows) {
  ServerProcess server;
  Connection client(server.grpc_address());
  double memory = 0;
  const double start = Now();
  for (int cycle = 0; cycle < cycles; ++cycle) {
    if (cycle == std::min(kWarmUp, cycles - 1)) memory = server.process().MeasureMemory();
    if (cycle > kWarmUp && cycle % kShown == 0) {
      std::fprintf(stderr, "  %d of %d cycles, %.0f per minute, %+.2f MB\n", cycle, cycles,
                   60 * cycle / (Now() - start), server.process().MeasureMemory() - memory);
    }
    client.Create("w", kEmptyWorld);
    client.Delete("w");
  }
  const double elapsed = Now() - start;
  rows->push_back({{"case", "create_delete"},
                   {"cycles", cycles},
                   {"cycles_per_minute", 60 * cycles / elapsed},
                   {"memory_mb_after_1000", memory},
                   {"memory_mb", server.process().MeasureMemory()},
                   {"growth_mb", server.process().MeasureMemory() - memory},
                   {"goal", {{"cycles_per_minute", 10000}, {"growth_mb", 1}}}});
}

}  // namespace pliant::benchmarks
