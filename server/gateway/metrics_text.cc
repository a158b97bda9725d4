#include "server/gateway/metrics_text.h"

#include <dirent.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"
#include "server/service/handlers.h"

namespace pliant::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

ClientMetric::Histogram ToPrometheus(const Histogram& histogram) {
  ClientMetric::Histogram result;
  result.sample_sum = histogram.sum;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    result.sample_count += histogram.counts[i];
    const bool bounded = i < Histogram::kBounds.size();
    result.bucket.push_back({result.sample_count, bounded
                                                      ? Histogram::kBounds[i]
                                                      : std::numeric_limits<double>::infinity()});
  }
  return result;
}

// A metric with its values, one for each set of labels.
class Family {
 public:
  Family(const char* name, MetricType type, const char* help) : family_{name, help, type, {}} {}

  Family& Add(Labels labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = metric.gauge.value = value;
    family_.metric.push_back(std::move(metric));
    return *this;
  }
  Family& Add(Labels labels, const Histogram& histogram) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.histogram = ToPrometheus(histogram);
    family_.metric.push_back(std::move(metric));
    return *this;
  }
  operator MetricFamily() && { return std::move(family_); }

 private:
  MetricFamily family_;
};

Family Counter(const char* name, const char* help) {
  return {name, MetricType::Counter, help};
}
Family Gauge(const char* name, const char* help) {
  return {name, MetricType::Gauge, help};
}
Family Histograms(const char* name, const char* help) {
  return {name, MetricType::Histogram, help};
}

// Counters of one world at one time.
struct WorldSample {
  std::string id;
  HostCounters counters;
  std::shared_ptr<const Published> published;
  ControlCounters control;
};

void AddWorlds(const std::vector<WorldSample>& worlds, std::vector<MetricFamily>* metrics) {
  const auto each = [&](Family family, const std::function<double(const WorldSample&)>& read) {
    for (const WorldSample& world : worlds) family.Add({{"world", world.id}}, read(world));
    metrics->push_back(std::move(family));
  };
  const auto report = [](const WorldSample& world) -> const physics::StepReport& {
    return world.published->snapshot->report;
  };
  each(Counter("pliant_steps_total", "Steps taken."),
       [](const WorldSample& world) { return static_cast<double>(world.counters.steps); });
  each(Counter("pliant_step_seconds_total", "Wall time spent in steps."),
       [](const WorldSample& world) { return world.counters.step_seconds; });
  each(Gauge("pliant_last_step_seconds", "Wall time of the last step."),
       [&](const WorldSample& world) { return report(world).seconds; });
  each(Counter("pliant_faults_total", "Steps that failed and paused their world."),
       [](const WorldSample& world) { return static_cast<double>(world.counters.faults); });
  each(Counter("pliant_steps_not_converged_total",
               "Steps whose residual missed the tolerance, stalled ones included."),
       [](const WorldSample& world) { return static_cast<double>(world.counters.not_converged); });
  each(Gauge("pliant_last_step_residual", "Relative residual of the last step."),
       [&](const WorldSample& world) { return report(world).residual; });
  each(Gauge("pliant_real_time_rate", "Simulated seconds per second of wall time."),
       [](const WorldSample& world) { return world.published->rate; });
  each(Gauge("pliant_lag_seconds", "Wall time by which the world lags behind its clock."),
       [](const WorldSample& world) { return world.published->lag; });
  each(Gauge("pliant_blocks_asleep", "Sleeping bodies and robots in the last step."),
       [&](const WorldSample& world) { return static_cast<double>(report(world).asleep); });
  each(Gauge("pliant_contacts", "Contacts in the last step."), [&](const WorldSample& world) {
    return static_cast<double>(report(world).contacts.size());
  });
  each(Gauge("pliant_leases", "Targets that clients hold leases on."),
       [](const WorldSample& world) { return static_cast<double>(world.control.leases); });
  each(Gauge("pliant_mailbox_length", "Requests that wait for the world's thread."),
       [](const WorldSample& world) { return static_cast<double>(world.counters.waiting); });
}

void AddWorldCounts(const std::vector<WorldSample>& worlds, std::vector<MetricFamily>* metrics) {
  Family ended =
      Counter("pliant_steps_ended_total", "Steps, by the reason for which their solve ended.");
  Family compromises =
      Counter("pliant_compromises_total",
              "Cases in which a step relaxed, clamped or truncated something, by kind.");
  for (const WorldSample& world : worlds) {
    const physics::StepTotals& totals = world.counters.totals;
    for (std::size_t k = 0; k < totals.ended.size(); ++k)
      ended.Add({{"world", world.id}, {"reason", std::string(solvers::kStopReasonNames[k])}},
                static_cast<double>(totals.ended[k]));
    totals.compromises.ForEach([&](std::string_view kind, std::int64_t count) {
      compromises.Add({{"world", world.id}, {"kind", std::string(kind)}},
                      static_cast<double>(count));
    });
  }
  metrics->push_back(std::move(ended));
  metrics->push_back(std::move(compromises));
}

void AddWorldTimes(const std::vector<WorldSample>& worlds, std::vector<MetricFamily>* metrics) {
  Family step = Histograms("pliant_step_seconds", "Wall time of steps.");
  Family phase = Histograms("pliant_step_phase_seconds", "Wall time of the phases of steps.");
  Family lateness = Histograms("pliant_step_start_lateness_seconds",
                               "Time by which steps in real time started after they were due.");
  Family command =
      Histograms("pliant_command_latency_seconds",
                 "Time from the receipt of a command to the start of the step that used it.");
  for (const WorldSample& world : worlds) {
    step.Add({{"world", world.id}}, world.counters.step_time);
    for (std::size_t k = 0; k < physics::kPhaseNames.size(); ++k)
      phase.Add({{"world", world.id}, {"phase", std::string(physics::kPhaseNames[k])}},
                world.counters.phase_time[k]);
    lateness.Add({{"world", world.id}}, world.counters.lateness);
    command.Add({{"world", world.id}}, world.control.latency);
  }
  metrics->push_back(std::move(step));
  metrics->push_back(std::move(phase));
  metrics->push_back(std::move(lateness));
  metrics->push_back(std::move(command));
}

void AddStreams(const StreamCounters& streams, std::vector<MetricFamily>* metrics) {
  const auto add = [metrics](Family family, double value) {
    metrics->push_back(std::move(family.Add({}, value)));
  };
  add(Gauge("pliant_streams", "Open frame streams, over any transport."), streams.open.load());
  add(Counter("pliant_frames_sent_total", "Frames sent to viewers."),
      static_cast<double>(streams.sent.load()));
  add(Counter("pliant_frames_dropped_total",
              "States skipped because a viewer was not ready for them."),
      static_cast<double>(streams.dropped.load()));
  add(Counter("pliant_frames_encoded_total", "Frames encoded."),
      static_cast<double>(streams.encoded.load()));
  add(Counter("pliant_frame_encode_seconds_total", "Time spent encoding frames."),
      streams.encode_seconds.load());
  add(Counter("pliant_frames_acked_total", "Frames acknowledged."),
      static_cast<double>(streams.acked.load()));
  add(Counter("pliant_frame_ack_seconds_total",
              "Time from sending frames to their acknowledgement, summed."),
      streams.ack_seconds.load());
  Family bytes = Counter("pliant_frame_bytes_total", "Bytes of frames sent to viewers, by tier.");
  bytes.Add({{"tier", "full"}}, static_cast<double>(streams.bytes[0].load()));
  bytes.Add({{"tier", "decimated"}}, static_cast<double>(streams.bytes[1].load()));
  metrics->push_back(std::move(bytes));
  Family lag = Histograms("pliant_frame_lag_seconds",
                          "Time from the end of a step to a frame of it that was due then.");
  lag.Add({}, streams.lag());
  metrics->push_back(std::move(lag));
}

double ReadResidentBytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double CountEntries(const char* folder) {
  DIR* entries = opendir(folder);
  if (entries == nullptr) return 0;
  int count = -2;  // without . and ..
  while (readdir(entries) != nullptr) ++count;
  closedir(entries);
  return count;
}

void AddServer(Handlers& handlers, const GatewayCounts& gateway,
               std::vector<MetricFamily>* metrics) {
  Family queues = Gauge("pliant_queue_length", "Jobs that wait for a worker thread.");
  for (const auto& [name, length] : handlers.QueueLengths())
    queues.Add({{"queue", name}}, static_cast<double>(length));
  metrics->push_back(std::move(queues));
  const auto add = [metrics](Family family, double value) {
    metrics->push_back(std::move(family.Add({}, value)));
  };
  add(Gauge("pliant_http_connections", "Connections of HTTP other than WebSockets."),
      gateway.connections);
  add(Gauge("pliant_websocket_clients", "WebSocket clients connected."), gateway.websockets);
  add(Gauge("pliant_grpc_connections", "Connections of gRPC."), gateway.grpc_connections);
  Family refused = Counter("pliant_connections_refused_total",
                           "Connections beyond the limits, in all or of one client, by port.");
  refused.Add({{"port", "http"}}, static_cast<double>(gateway.refused));
  refused.Add({{"port", "grpc"}}, static_cast<double>(gateway.grpc_refused));
  metrics->push_back(std::move(refused));
  add(Gauge("process_resident_memory_bytes", "Resident memory of the server."),
      ReadResidentBytes());
  add(Gauge("process_open_fds", "Open descriptors of the server."), CountEntries("/proc/self/fd"));
  add(Gauge("process_threads", "Threads of the server."), CountEntries("/proc/self/task"));
  if (gateway.certificate_expires > 0) {
    add(Gauge("pliant_certificate_expires_seconds",
              "Time at which the certificate expires, since 1970."),
        gateway.certificate_expires);
  }
}

}  // namespace

std::string WriteMetrics(Handlers& handlers, const GatewayCounts& gateway) {
  std::vector<WorldSample> worlds;
  for (const auto& host : handlers.registry().List())
    worlds.push_back({host->id(), host->counters(), host->latest(), host->controller().counters()});
  std::vector<MetricFamily> metrics;
  metrics.push_back(std::move(
      Gauge("pliant_worlds", "Number of worlds.").Add({}, static_cast<double>(worlds.size()))));
  AddWorlds(worlds, &metrics);
  AddWorldCounts(worlds, &metrics);
  AddWorldTimes(worlds, &metrics);
  AddStreams(handlers.stream_counters(), &metrics);
  AddServer(handlers, gateway, &metrics);
  return prometheus::TextSerializer().Serialize(metrics);
}

}  // namespace pliant::server
