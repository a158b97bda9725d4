#include "server/run/recording/probe_recorder.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <nlohmann/json.hpp>

namespace pliant::server {
namespace {

using physics::Probe;
using physics::ProbeValue;

nlohmann::ordered_json ValueToJson(const ProbeValue& value) {
  if (value.is_rows) return value.rows;
  if (value.numbers.size() == 1) return value.numbers.front();
  return value.numbers;
}

// Names of a probe's columns. Those with a comma, a quote or a line break are quoted for CSV.
std::vector<std::string> ColumnNames(const Probe& probe) {
  std::string name = probe.name;
  const bool quote = name.find_first_of(",\"\n") != std::string::npos;
  for (std::size_t i = 0; quote && i < name.size(); ++i) {
    if (name[i] == '"') name.insert(i++, 1, '"');
  }
  std::vector<std::string> suffixes;
  switch (physics::CountProbeNumbers(probe)) {
    case 0:
      suffixes = {".count"};
      break;
    case 3:
      suffixes = {".x", ".y", ".z"};
      if (probe.kind == Probe::Kind::kField) suffixes = {".1", ".2", ".3"};
      break;
    case 4:
      suffixes = {".w", ".x", ".y", ".z"};
      break;
    case 6:
      // a force and a torque, or linear and angular momentum
      suffixes = {".x", ".y", ".z", ".rx", ".ry", ".rz"};
      if (probe.kind == Probe::Kind::kField) suffixes = {".xx", ".yy", ".zz", ".xy", ".yz", ".xz"};
      break;
    default:
      suffixes = {""};
  }
  for (std::string& suffix : suffixes) {
    suffix = quote ? absl::StrCat("\"", name, suffix, "\"") : absl::StrCat(name, suffix);
  }
  return suffixes;
}

}  // namespace

ProbeRecorder::ProbeRecorder(const physics::World& world) : world_(world), sampler_(world.model()) {
  const double h = world.model().time_step;
  for (const Probe& probe : world.model().probes) {
    series_.push_back({&probe, SamplingSchedule(probe.rate, world.state().time, h), {}, {}});
  }
  Record();
}

void ProbeRecorder::Record() {
  const double t = world_.state().time;
  for (Series& series : series_) {
    if (!series.schedule.IsDue(t)) continue;
    series.times.push_back(t);
    series.values.push_back(
        sampler_.Sample(*series.probe, world_.state(), world_.report(), world_.model().time_step));
  }
}

nlohmann::ordered_json ProbeRecorder::ToJson() const {
  nlohmann::ordered_json probes = nlohmann::ordered_json::object();
  for (const Series& series : series_) {
    nlohmann::ordered_json values = nlohmann::ordered_json::array();
    for (const ProbeValue& value : series.values) values.push_back(ValueToJson(value));
    probes[series.probe->name] = {{"t", series.times}, {"value", std::move(values)}};
  }
  return probes;
}

std::string ProbeRecorder::ToCsv() const {
  std::string csv = "time";
  for (const Series& series : series_) {
    for (const std::string& column : ColumnNames(*series.probe)) absl::StrAppend(&csv, ",", column);
  }
  csv += '\n';

  // walk all series together, one line per time
  std::vector<std::size_t> next(series_.size(), 0);
  while (true) {
    double t = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < series_.size(); ++i) {
      if (next[i] < series_[i].times.size()) t = std::min(t, series_[i].times[next[i]]);
    }
    if (t == std::numeric_limits<double>::infinity()) break;

    absl::StrAppendFormat(&csv, "%.17g", t);
    for (std::size_t i = 0; i < series_.size(); ++i) {
      const Series& series = series_[i];
      const bool here = next[i] < series.times.size() && series.times[next[i]] == t;
      if (!here) {
        csv.append(ColumnNames(*series.probe).size(), ',');
        continue;
      }
      const ProbeValue& value = series.values[next[i]++];
      if (value.is_rows) absl::StrAppend(&csv, ",", value.rows.size());
      for (double number : value.numbers) absl::StrAppendFormat(&csv, ",%.17g", number);
    }
    csv += '\n';
  }
  return csv;
}

}  // namespace pliant::server
