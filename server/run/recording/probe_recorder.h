#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "physics/world/probes.h"
#include "physics/world/world.h"
#include "server/run/recording/sampling_schedule.h"

namespace pliant::server {

// The probes of a run, each at its own rate.
class ProbeRecorder {
 public:
  // Takes the first samples, of the world's current state. `world` outlives the recorder.
  explicit ProbeRecorder(const physics::World& world);

  // Takes the samples that are due after a step.
  void Record();

  // {name: {t: [..], value: [..]}}; a value is a number, a list of numbers, or a list of rows.
  nlohmann::ordered_json ToJson() const;

  // Header `time,NAME.x,…`, then one line for each time at which any probe was sampled, 17 digits;
  // empty where a probe was not sampled. Contact points are written as their number.
  std::string ToCsv() const;

 private:
  struct Series {
    const physics::Probe* probe;
    SamplingSchedule schedule;
    std::vector<double> times;
    std::vector<physics::ProbeValue> values;
  };

  const physics::World& world_;
  physics::ProbeSampler sampler_;
  std::vector<Series> series_;
};

}  // namespace pliant::server
