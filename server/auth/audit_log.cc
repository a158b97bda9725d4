#include "server/auth/audit_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "spdlog/async.h"
#include "spdlog/async_logger.h"
#include "spdlog/sinks/rotating_file_sink.h"

namespace pliant::server {
namespace {

constexpr std::size_t kQueued = 8192;  // entries; beyond this the oldest are lost
constexpr std::size_t kMaxRecent = 4096;
constexpr std::chrono::seconds kWindow{1};

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path, Limits limits) {
  try {
    return std::unique_ptr<AuditLog>(new AuditLog(path, limits));
  } catch (const spdlog::spdlog_ex& error) {
    return absl::UnavailableError(
        absl::StrCat("cannot write the audit log: ", error.what(),
                     "\n    Name a file in a folder that pliantd may write, with --audit-log."));
  }
}

AuditLog::AuditLog(const std::string& path, Limits limits)
    : thread_(std::make_shared<spdlog::details::thread_pool>(kQueued, 1)) {
  auto sink =
      std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, limits.bytes, limits.files - 1);
  file_ = std::make_shared<spdlog::async_logger>("audit", std::move(sink), thread_,
                                                 spdlog::async_overflow_policy::overrun_oldest);
  file_->set_pattern("%v");
  file_->flush_on(spdlog::level::info);
}

AuditLog::~AuditLog() {
  std::lock_guard lock(mutex_);
  Forget(std::chrono::steady_clock::time_point::max());
}

void AuditLog::Write(const Entry& entry, std::chrono::steady_clock::time_point now) {
  std::string key = absl::StrCat(entry.who, "\n", entry.connection, "\n", entry.what, "\n",
                                 entry.world, "\n", static_cast<int>(entry.result.code()));
  std::lock_guard lock(mutex_);
  Forget(now - kWindow);
  if (const auto known = recent_.find(key); known != recent_.end()) {
    ++known->second.count;
    return;
  }
  Print(entry, 0);
  if (recent_.size() >= kMaxRecent) return;
  recent_.emplace(key, Repeated{entry, now, 0});
  order_.push_back(std::move(key));
}

// Call with mutex_ locked.
void AuditLog::Forget(std::chrono::steady_clock::time_point until) {
  while (!order_.empty()) {
    const auto oldest = recent_.find(order_.front());
    if (oldest->second.since > until) return;
    if (oldest->second.count > 0) Print(oldest->second.entry, oldest->second.count);
    recent_.erase(oldest);
    order_.pop_front();
  }
}

void AuditLog::Print(const Entry& entry, std::uint64_t repeated) {
  nlohmann::ordered_json line;
  line["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
  line["who"] = entry.who;
  line["connection"] = entry.connection;
  line["what"] = entry.what;
  if (!entry.world.empty()) line["world"] = entry.world;
  line["result"] = absl::StatusCodeToString(entry.result.code());
  if (!entry.result.ok()) line["reason"] = std::string(entry.result.message()).substr(0, 300);
  if (repeated > 0) line["repeated"] = repeated;
  file_->info(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace pliant::server
