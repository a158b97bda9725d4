#include "server/gateway/metrics_text.h"

#include <functional>

#include "absl/strings/str_cat.h"

#include "server/service/handlers.h"

namespace pliant::server {
namespace {

void WriteHead(const char* name, const char* type, const char* help, std::string* text) {
  absl::StrAppend(text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

template <typename T>
void WriteOne(const char* name, const char* type, const char* help, T value, std::string* text) {
  WriteHead(name, type, help, text);
  absl::StrAppend(text, name, " ", value, "\n");
}

void WriteHistogram(const char* name, const std::string& labels, const Histogram& histogram,
                    std::string* text) {
  std::uint64_t count = 0;
  const std::string braces = labels.empty() ? "" : absl::StrCat("{", labels, "}");
  const std::string others = labels.empty() ? "" : labels + ",";
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    count += histogram.counts[i];
    const std::string bound =
        i < Histogram::kBounds.size() ? absl::StrCat(Histogram::kBounds[i]) : "+Inf";
    absl::StrAppend(text, name, "_bucket{", others, "le=\"", bound, "\"} ", count, "\n");
  }
  absl::StrAppend(text, name, "_sum", braces, " ", histogram.sum, "\n", name, "_count", braces, " ",
                  count, "\n");
}

}  // namespace

std::string WriteMetrics(Handlers& handlers, int websocket_clients) {
  std::string text;
  const auto hosts = handlers.registry().List();
  WriteOne("pliant_worlds", "gauge", "Number of worlds.", hosts.size(), &text);

  const auto each = [&](const char* name, const char* type, const char* help,
                        const std::function<double(const WorldHost&)>& read) {
    WriteHead(name, type, help, &text);
    for (const auto& host : hosts)
      absl::StrAppend(&text, name, "{world=\"", host->id(), "\"} ", read(*host), "\n");
  };
  each("pliant_steps_total", "counter", "Steps taken.",
       [](const WorldHost& host) { return static_cast<double>(host.counters().steps); });
  each("pliant_step_seconds_total", "counter", "Wall time spent in steps.",
       [](const WorldHost& host) { return host.counters().step_seconds; });
  each("pliant_last_step_seconds", "gauge", "Wall time of the last step.",
       [](const WorldHost& host) { return host.latest()->snapshot->report.seconds; });
  each("pliant_faults_total", "counter", "Steps that failed and paused their world.",
       [](const WorldHost& host) { return static_cast<double>(host.counters().faults); });
  each("pliant_steps_not_converged_total", "counter",
       "Steps whose residual missed the tolerance, stalled ones included.",
       [](const WorldHost& host) { return static_cast<double>(host.counters().not_converged); });
  WriteHead("pliant_steps_ended_total", "counter",
            "Steps, by the reason for which their solve ended.", &text);
  for (const auto& host : hosts) {
    const auto& ended = host->counters().totals.ended;
    for (std::size_t k = 0; k < ended.size(); ++k)
      absl::StrAppend(&text, "pliant_steps_ended_total{world=\"", host->id(), "\",reason=\"",
                      std::string(solvers::kStopReasonNames[k]), "\"} ", ended[k], "\n");
  }
  WriteHead("pliant_compromises_total", "counter",
            "Cases in which a step relaxed, clamped or truncated something, by kind.", &text);
  for (const auto& host : hosts) {
    host->counters().totals.compromises.ForEach([&](std::string_view kind, std::int64_t count) {
      absl::StrAppend(&text, "pliant_compromises_total{world=\"", host->id(), "\",kind=\"",
                      std::string(kind), "\"} ", count, "\n");
    });
  }
  each("pliant_last_step_residual", "gauge", "Relative residual of the last step.",
       [](const WorldHost& host) { return host.latest()->snapshot->report.residual; });
  each("pliant_real_time_rate", "gauge", "Simulated seconds per second of wall time.",
       [](const WorldHost& host) { return host.latest()->rate; });
  each("pliant_lag_seconds", "gauge", "Wall time by which the world lags behind its clock.",
       [](const WorldHost& host) { return host.latest()->lag; });
  each("pliant_blocks_asleep", "gauge", "Sleeping bodies and robots in the last step.",
       [](const WorldHost& host) {
         return static_cast<double>(host.latest()->snapshot->report.asleep);
       });
  each("pliant_contacts", "gauge", "Contacts in the last step.", [](const WorldHost& host) {
    return static_cast<double>(host.latest()->snapshot->report.contacts.size());
  });

  WriteHead("pliant_step_start_lateness_seconds", "histogram",
            "Time by which steps in real time started after they were due.", &text);
  for (const auto& host : hosts) {
    WriteHistogram("pliant_step_start_lateness_seconds", absl::StrCat("world=\"", host->id(), "\""),
                   host->counters().lateness, &text);
  }

  const StreamCounters& streams = handlers.stream_counters();
  WriteOne("pliant_websocket_clients", "gauge", "WebSocket clients connected.", websocket_clients,
           &text);
  WriteOne("pliant_streams", "gauge", "Open frame streams, over any transport.",
           streams.open.load(), &text);
  WriteOne("pliant_frames_sent_total", "counter", "Frames sent to viewers.", streams.sent.load(),
           &text);
  WriteHead("pliant_frame_bytes_total", "counter", "Bytes of frames sent to viewers, by tier.",
            &text);
  absl::StrAppend(&text, "pliant_frame_bytes_total{tier=\"full\"} ", streams.bytes[0].load(),
                  "\npliant_frame_bytes_total{tier=\"decimated\"} ", streams.bytes[1].load(), "\n");
  WriteHead("pliant_frame_lag_seconds", "histogram",
            "Time from the end of a step to a frame of it that was due then.", &text);
  WriteHistogram("pliant_frame_lag_seconds", "", streams.lag(), &text);
  WriteOne("pliant_frames_dropped_total", "counter",
           "States skipped because a viewer was not ready for them.", streams.dropped.load(),
           &text);
  WriteOne("pliant_frames_encoded_total", "counter", "Frames encoded.", streams.encoded.load(),
           &text);
  WriteOne("pliant_frame_encode_seconds_total", "counter", "Time spent encoding frames.",
           streams.encode_seconds.load(), &text);
  WriteOne("pliant_frames_acked_total", "counter", "Frames acknowledged.", streams.acked.load(),
           &text);
  WriteOne("pliant_frame_ack_seconds_total", "counter",
           "Time from sending frames to their acknowledgement, summed.", streams.ack_seconds.load(),
           &text);
  return text;
}

}  // namespace pliant::server
