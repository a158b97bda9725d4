#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"

#include "clients/cli/commands.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kPings = 20;

// A line of `doctor`: the subject, the result, and advice if there is a problem.
struct Finding {
  std::string subject;
  bool is_ok = true;
  std::string text;
};

class Examination {
 public:
  void Note(const std::string& subject, bool is_ok, const std::string& text) {
    findings_.push_back({subject, is_ok, text});
  }
  // Notes an error. True if there is none.
  bool Check(const std::string& subject, const absl::Status& status) {
    if (!status.ok()) Note(subject, false, std::string(status.message()));
    return status.ok();
  }

  int Report(bool as_json) const {
    const bool is_ok = std::ranges::all_of(findings_, &Finding::is_ok);
    if (as_json) {
      nlohmann::json checks = nlohmann::json::array();
      for (const Finding& finding : findings_) {
        checks.push_back(
            {{"check", finding.subject}, {"ok", finding.is_ok}, {"message", finding.text}});
      }
      PrintLine(nlohmann::json{{"ok", is_ok}, {"checks", checks}}.dump());
    } else {
      for (const Finding& finding : findings_) {
        const char* colour = finding.is_ok ? "\033[32m" : "\033[31m";
        PrintLine(absl::StrFormat("%s%s%s %-12s %s", HasColours() ? colour : "",
                                  finding.is_ok ? "ok  " : "FAIL", HasColours() ? "\033[0m" : "",
                                  finding.subject, finding.text));
      }
    }
    return is_ok ? kDone : kRefused;
  }

 private:
  std::vector<Finding> findings_;
};

void ExamineConnection(const ClientOptions& options, Examination* report) {
  std::string text = options.address + ", plain text";
  if (options.tls || !options.ca_file.empty() || !options.certificate_file.empty()) {
    text = options.address + ", TLS, authorities " +
           (options.ca_file.empty() ? "of this machine" : "in " + options.ca_file);
    if (!options.certificate_file.empty()) text += ", with a certificate of this client";
  }
  report->Note("connection", true, text);
}

void ExamineWorlds(Client* client, const ClientOptions& options, bool wants_tokens,
                   Examination* report) {
  const auto worlds = client->ListWorlds();
  const bool has_token = !options.token.empty() || !options.token_file.empty();
  if (absl::IsUnauthenticated(worlds.status())) {
    return report->Note("token", false,
                        std::string(worlds.status().message()) +
                            (has_token ? ""
                                       : "\n    Give one with --token-file FILE or PLIANT_TOKEN; "
                                         "`pliantd token` makes one."));
  }
  if (!report->Check("worlds", worlds.status())) return;
  std::string token = wants_tokens ? "accepted" : "the server asks for none";
  if (!wants_tokens && has_token) token += ", the one given is not used";
  std::vector<std::string> roles, slow;
  for (const v1::World& world : *worlds) {
    if (!world.caller_role().empty()) roles.push_back(world.caller_role());
    const v1::Clock& clock = world.clock();
    const double factor = clock.has_real_time() ? clock.real_time().factor() : 0;
    if (factor > 0 && world.last_report().lag() > 1) {
      slow.push_back(absl::StrFormat("%s runs at %.2f of %g", world.name(),
                                     world.last_report().real_time_rate(), factor));
    }
  }
  std::ranges::sort(roles);
  roles.erase(std::ranges::unique(roles).begin(), roles.end());
  if (!roles.empty()) token += ", role " + absl::StrJoin(roles, ", ");
  report->Note("token", true, token);
  report->Note("worlds", true, absl::StrFormat("%d", worlds->size()));
  report->Note("clock", slow.empty(),
               slow.empty()
                   ? "every world that runs in real time keeps up"
                   : absl::StrJoin(slow, "; ") +
                         "; a faster machine, a larger time step or a coarser mesh helps, or "
                         "a lower speed: pliant world speed");
}

void ExamineLatency(Client* client, Examination* report) {
  std::vector<double> times;
  for (int i = 0; i < kPings; ++i) {
    const auto begun = SteadyClock::now();
    if (!report->Check("latency", client->Call(v1::GetServerRequest()).status())) return;
    times.push_back(std::chrono::duration<double>(SteadyClock::now() - begun).count());
  }
  std::ranges::sort(times);
  const double median = times[kPings / 2];
  const std::string text = absl::StrFormat("median %.2f ms, at most %.2f ms of %d calls",
                                           1000 * median, 1000 * times.back(), kPings);
  report->Note("latency", median < 0.05,
               text + (median < 0.05 ? "" : "; too long to drive a robot: use a nearer server"));
}

// Checks everything between this program and a server, from the address to the latency. Stops at a
// problem that prevents further checks.
int Doctor(Session* session) {
  Examination report;
  const ClientOptions options = session->client_options();
  report.Note("client", true, "version " PLIANT_VERSION);
  const auto client = Client::Connect(options);
  if (!report.Check("address", client.status())) return report.Report(session->json());
  ExamineConnection(options, &report);
  const auto health = (*client)->CheckHealth();
  if (!report.Check("server", health.status())) {
    const int status = report.Report(session->json());
    return absl::IsUnavailable(health.status()) ? kUnreachable : status;
  }
  report.Note("server", *health == "SERVING",
              *health == "SERVING" ? "ready" : *health + ": it is starting or shutting down");
  const auto info = (*client)->CheckServer();
  bool wants_tokens = false;
  if (info.ok()) {
    report.Note("version", true,
                absl::StrFormat("%s, build %s%s%s", info->version(), info->build(),
                                info->features().empty() ? "" : ", ",
                                absl::StrJoin(info->features(), ", ")));
    wants_tokens = std::ranges::find(info->features(), "tokens") != info->features().end() ||
                   std::ranges::find(info->features(), "jwt") != info->features().end();
  } else if (!absl::IsUnauthenticated(info.status())) {
    report.Check("version", info.status());
    return report.Report(session->json());
  }
  ExamineWorlds(client->get(), options, wants_tokens, &report);
  if (info.ok()) ExamineLatency(client->get(), &report);
  return report.Report(session->json());
}

}  // namespace

void AddDoctorCommands(CLI::App* pliant, Session* session, Action* action) {
  CLI::App* health = pliant->add_subcommand("health", "Show whether the server is ready");
  health->callback([=] {
    *action = [=] {
      const std::string status = session->Value(session->client().CheckHealth());
      PrintLine(session->json() ? nlohmann::json{{"status", status}}.dump() : status);
      return status == "SERVING" ? kDone : kRefused;
    };
  });
  CLI::App* doctor = pliant->add_subcommand(
      "doctor", "Check connection, TLS, version, token, clock and latency, and say what to do");
  doctor->callback([=] { *action = [=] { return Doctor(session); }; });
}

}  // namespace pliant::clients
