#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "server/service/command_feedback.h"
#include "server/service/handlers.h"
#include "server/service/methods.h"
#include "tests/server/host/virtual_timeline.h"
#include "tests/server/run/temporary_folder.h"

namespace pliant::server {

// A server and its clients in virtual time. Clients create, run, step, reset, save, restore, watch,
// drive and delete worlds at random, by every kind of command, under leases on bodies, robots and
// actuator groups; their connections are slow, stall, and break without a word. The same seed gives
// the same run. Whatever breaks a promise of the server is a failure that names the seed.
class Simulation {
 public:
  struct Counts {
    int requests = 0, frames = 0, commands = 0, crashes = 0, worlds = 0, refusals = 0,
        recoveries = 0, restarts = 0, restores = 0;
    std::map<std::string, int> applied;  // steps that applied a command, by its kind
  };

  // With a data folder, some worlds are durable, and now and then the server is killed: another one
  // continues from the folder as it is then, and must have all that was acknowledged.
  Simulation(std::uint64_t seed, int clients, const std::string& data_folder = "");
  ~Simulation();

  // Runs for so long, then lets all clients leave and checks that nothing of them remains.
  void Run(std::chrono::seconds time);
  const Counts& counts() const { return counts_; }

 private:
  class Client;
  friend class Client;

  bool has_store() const { return !data_folder_.empty(); }
  double Uniform(double low, double high);
  bool Chance(double probability) { return Uniform(0, 1) < probability; }
  // Delivers a message after a random delay [s], but not before the one that arrives at `last`.
  void Deliver(double mean_delay, SteadyTime* last, std::function<void()> message);
  SteadyTime DeliverNext();
  void Fail(const std::string& what);
  void StartServer();
  void Restart();
  void RecoverWorlds();
  void CheckLeases();

  const std::uint64_t seed_;
  std::mt19937_64 random_;
  VirtualTimeline timeline_;
  const TemporaryFolder scenes_;
  std::string data_folder_;
  Counts counts_;
  std::multimap<SteadyTime, std::function<void()>> messages_;
  std::unique_ptr<Handlers> handlers_;
  std::unique_ptr<Timeline::Worker> network_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace pliant::server
