#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "physics/world/world.h"
#include "server/host/clock.h"

namespace pliant::server {

// The lease holder of a target, and its last command that a step applied.
struct CommandEcho {
  std::string lease_id;
  std::string target;
  std::string client;
  int priority = 0;
  std::uint64_t sequence = 0;  // 0: none was applied yet
  std::int64_t applied_step = 0;
  double client_time = 0;  // [s], the client's own clock
  double latency = 0;      // [s], from receipt to the start of the step that applied it
};

// Control status reported to the viewers of a world.
struct ControlStatus {
  std::vector<CommandEcho> commands;
  bool stopped = false;
};

// A world's complete published state at one moment. Immutable, shared by pointer with every reader.
struct Published {
  std::shared_ptr<const physics::Snapshot> snapshot;
  SteadyTime at;              // of this publication
  std::uint64_t version = 0;  // increases with every publication
  std::uint32_t epoch = 0;    // increases at every reset and restore
  ClockMode clock;
  std::optional<physics::WorldFault> fault;
  ControlStatus control;
  double rate = 0;                        // simulated seconds a second, achieved; 0 while paused
  double lag = 0;                         // [s] behind the real-time clock
  std::int64_t steps_not_converged = 0;   // of this epoch, stalled ones included
  physics::CompromiseCounts compromises;  // of this epoch
};

}  // namespace pliant::server
