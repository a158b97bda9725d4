#pragma once

#include <memory>
#include <string>

#include "benchmarks/server/child_process.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "pliant/v1/control.grpc.pb.h"
#include "pliant/v1/stream.grpc.pb.h"
#include "pliant/v1/world.grpc.pb.h"

namespace pliant::benchmarks {

// Client of a server at HOST:PORT, over one TCP connection that no other Connection shares.
struct Connection {
  explicit Connection(const std::string& address);

  std::unique_ptr<v1::WorldService::Stub> worlds;
  std::unique_ptr<v1::StreamService::Stub> streams;
  std::unique_ptr<v1::ControlService::Stub> control;
  std::unique_ptr<grpc::health::v1::Health::Stub> health;

  // Each ends the benchmark if the server refuses.
  v1::World Create(const std::string& id, const std::string& yaml);
  v1::World Get(const std::string& id);
  v1::StepWorldResponse Step(const std::string& id, int steps);
  void RunInRealTime(const std::string& id);
  void Delete(const std::string& id);
  void CheckHealth();  // a call that does nothing
};

// Ends the benchmark with the error of a call that failed.
void Require(const grpc::Status& status, const char* what);

// A `pliantd` of this build on free ports of the loopback interface.
class ServerProcess {
 public:
  explicit ServerProcess(const std::vector<std::string>& flags = {});

  ChildProcess& process() { return process_; }
  const ChildProcess& process() const { return process_; }
  const std::string& grpc_address() const { return grpc_; }
  const std::string& http_address() const { return http_; }  // HOST:PORT

  // Value of a metric without labels, or the sum over its labels.
  double ReadMetric(const std::string& name) const;

  // Quantile of a histogram, summed over its labels and interpolated within its buckets. Counts of
  // `before`, an earlier text of the metrics, are subtracted.
  double ReadQuantile(const std::string& histogram, double share,
                      const std::string& before = "") const;

  std::string FetchMetrics() const;

 private:
  ChildProcess process_;
  std::string grpc_, http_;
};

}  // namespace pliant::benchmarks
