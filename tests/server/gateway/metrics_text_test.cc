#include "server/gateway/metrics_text.h"

#include <future>
#include <regex>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "server/service/handlers.h"
#include "server/service/methods.h"
#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

using testing::HasSubstr;

class Metrics : public testing::Test {
 protected:
  template <typename Response, typename Request>
  Response Ask(const std::string& method, const Request& request) {
    Call call;
    call.caller = caller_;
    std::promise<absl::StatusOr<std::string>> promise;
    Dispatch(handlers_, call, "pliant.v1." + method, request.SerializeAsString(),
             [&](absl::StatusOr<std::string> reply) { promise.set_value(std::move(reply)); });
    const auto reply = promise.get_future().get();
    EXPECT_TRUE(reply.ok()) << reply.status();
    Response response;
    if (reply.ok()) response.ParseFromString(*reply);
    return response;
  }
  void CreateAndStep(int steps) {
    caller_->identity = Anyone();
    v1::CreateWorldRequest create;
    create.set_world_id("w");
    create.set_scene_yaml(kTestScene);
    Ask<v1::World>("WorldService/CreateWorld", create);
    v1::StepWorldRequest step;
    step.set_name("worlds/w");
    step.set_steps(steps);
    Ask<v1::StepWorldResponse>("WorldService/StepWorld", step);
  }

  Handlers handlers_{Handlers::Options{}};
  std::shared_ptr<Caller> caller_ = std::make_shared<Caller>();
};

TEST_F(Metrics, HistogramsHaveEveryStepAndItsPhases) {
  CreateAndStep(7);
  const std::string text = WriteMetrics(handlers_, {});
  EXPECT_THAT(text, HasSubstr("\n# TYPE pliant_step_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr("\npliant_step_seconds_count{world=\"w\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("\npliant_step_seconds_bucket{world=\"w\",le=\"+Inf\"} 7\n"));
  for (const auto phase : physics::kPhaseNames) {
    EXPECT_THAT(text, HasSubstr("\npliant_step_phase_seconds_count{world=\"w\",phase=\"" +
                                std::string(phase) + "\"} 7\n"));
  }
  EXPECT_THAT(text, HasSubstr("\npliant_command_latency_seconds_count{world=\"w\"} 0\n"));
}

TEST_F(Metrics, GaugesFollowLeasesAndConnections) {
  CreateAndStep(1);
  EXPECT_THAT(WriteMetrics(handlers_, {}), HasSubstr("\npliant_leases{world=\"w\"} 0\n"));
  v1::AcquireLeaseRequest acquire;
  acquire.set_world("worlds/w");
  acquire.set_target("paddle");
  acquire.set_client("tester");
  Ask<v1::Lease>("ControlService/AcquireLease", acquire);
  const std::string text = WriteMetrics(handlers_, {.connections = 3,
                                                    .websockets = 5,
                                                    .refused = 2,
                                                    .grpc_connections = 7,
                                                    .grpc_refused = 1,
                                                    .certificate_expires = 2e9});
  EXPECT_THAT(text, HasSubstr("\npliant_leases{world=\"w\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\npliant_http_connections 3\n"));
  EXPECT_THAT(text, HasSubstr("\npliant_websocket_clients 5\n"));
  EXPECT_THAT(text, HasSubstr("\npliant_certificate_expires_seconds 2000000000\n"));
  EXPECT_THAT(text, HasSubstr("\npliant_queue_length{queue=\"building\"} 0\n"));
  EXPECT_THAT(WriteMetrics(handlers_, {}), testing::Not(HasSubstr("certificate")));
}

TEST_F(Metrics, EachLineIsACommentOrASample) {
  CreateAndStep(1);
  std::istringstream text(WriteMetrics(handlers_, {}));
  const std::regex sample("[a-z_]+(\\{[a-z]+=\"[^\"]*\"(,[a-z]+=\"[^\"]*\")*\\})? [-+.0-9eInfaN]+");
  int samples = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.rfind("# ", 0) == 0) continue;
    EXPECT_TRUE(std::regex_match(line, sample)) << line;
    ++samples;
  }
  EXPECT_GT(samples, 50);
}

TEST_F(Metrics, ProcessHasMemoryDescriptorsAndThreads) {
  const std::string text = WriteMetrics(handlers_, {});
  std::smatch match;
  ASSERT_TRUE(
      std::regex_search(text, match, std::regex("\nprocess_resident_memory_bytes ([0-9.e+]+)\n")));
  EXPECT_GT(std::stod(match[1]), 1e6);
  ASSERT_TRUE(std::regex_search(text, match, std::regex("\nprocess_open_fds ([0-9]+)\n")));
  EXPECT_GE(std::stoi(match[1]), 3);
  ASSERT_TRUE(std::regex_search(text, match, std::regex("\nprocess_threads ([0-9]+)\n")));
  EXPECT_GE(std::stoi(match[1]), 4);
}

}  // namespace
}  // namespace pliant::server
