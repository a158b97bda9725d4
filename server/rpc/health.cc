#include "server/rpc/health.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "grpc/health/v1/health.pb.h"
#include "server/host/text.h"
#include "server/rpc/grpc_status.h"
#include "server/rpc/method_calls.h"

namespace pliant::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

grpc::ByteBuffer Write(HealthCheckResponse::ServingStatus status) {
  HealthCheckResponse response;
  response.set_status(status);
  return WriteBuffer(response.SerializeAsString());
}

HealthCheckResponse::ServingStatus ToStatus(bool serving) {
  return serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

std::set<std::string> WithServer(const std::vector<std::string>& services) {
  std::set<std::string> names(services.begin(), services.end());
  names.insert("");
  return names;
}

grpc::Status Unreadable() {
  return ToGrpc(absl::InvalidArgumentError("the request is not a HealthCheckRequest"));
}

}  // namespace

class Health::CheckCall final : public RpcCall {
 public:
  CheckCall(Health* health, std::unique_ptr<Arrival> arrival)
      : RpcCall(std::move(arrival)), health_(health) {
    StartRead(&in_);
  }

 private:
  void OnReadDone(bool ok) override {
    HealthCheckRequest request;
    if (!ok || !ParseBuffer(in_, &request)) return Finish(Unreadable());
    if (!health_->Knows(request.service())) {
      return Finish(ToGrpc(absl::NotFoundError(
          absl::StrCat("there is no service \"", Shorten(request.service(), 80), "\""))));
    }
    std::lock_guard lock(health_->mutex_);
    StartWriteAndFinish(Write(ToStatus(health_->serving_)), grpc::Status::OK);
  }

  Health* const health_;
  grpc::ByteBuffer in_;
};

// Sends the status at first and after each change. A slow client receives the latest one.
class Health::WatchCall final : public RpcCall {
 public:
  WatchCall(Health* health, std::unique_ptr<Arrival> arrival)
      : RpcCall(std::move(arrival)), health_(health) {
    StartRead(&in_);
  }

  // Call with the mutex of the service locked.
  void Send() {
    if (writing_ || finished_ || sent_ == status()) return;
    sent_ = status();
    writing_ = true;
    StartWrite(Write(sent_));
  }

 private:
  HealthCheckResponse::ServingStatus status() const {
    return known_ ? ToStatus(health_->serving_) : HealthCheckResponse::SERVICE_UNKNOWN;
  }
  void OnReadDone(bool ok) override {
    HealthCheckRequest request;
    std::lock_guard lock(health_->mutex_);
    if (finished_) return;
    if (!ok || !ParseBuffer(in_, &request)) {
      finished_ = true;
      return Finish(Unreadable());
    }
    known_ = health_->Knows(request.service());
    health_->watching_.insert(this);
    Send();
  }
  void OnWriteDone(bool /*ok*/) override {
    std::lock_guard lock(health_->mutex_);
    writing_ = false;
    Send();
  }
  void OnCancel() override {
    std::lock_guard lock(health_->mutex_);
    if (!std::exchange(finished_, true)) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    std::lock_guard lock(health_->mutex_);
    health_->watching_.erase(this);
  }

  Health* const health_;
  grpc::ByteBuffer in_;
  bool known_ = false;
  bool writing_ = false;
  bool finished_ = false;
  HealthCheckResponse::ServingStatus sent_ = HealthCheckResponse::UNKNOWN;
};

Health::Health(const std::vector<std::string>& services) : services_(WithServer(services)) {}

void Health::StopServing() {
  std::lock_guard lock(mutex_);
  serving_ = false;
  for (WatchCall* call : watching_) call->Send();
}

void Health::ServeCheck(std::unique_ptr<Arrival> arrival) {
  new CheckCall(this, std::move(arrival));
}

void Health::ServeWatch(std::unique_ptr<Arrival> arrival) {
  new WatchCall(this, std::move(arrival));
}

}  // namespace pliant::server
