// A PD controller at 200 Hz in the client: it moves a joint with a torque actuator to a position.
// pd_controller HOST:PORT WORLD ROBOT JOINT POSITION SECONDS

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "pliant/client.h"

namespace {

constexpr std::chrono::microseconds kPeriod{5000};
constexpr double kStiffness = 40, kDamping = 8;  // [N·m/rad], [N·m·s/rad]

absl::Status Run(char** argv) {
  const std::string robot = argv[3], joint = argv[4];
  const double target = std::atof(argv[5]), duration = std::atof(argv[6]);
  const auto client = pliant::Client::Connect({.address = argv[1], .name = "pd_controller"});
  if (!client.ok()) return client.status();
  const pliant::World world = (*client)->GetWorld(argv[2]);
  pliant::v1::Subscription request;
  request.set_rate(200);
  const auto frames = world.Subscribe(request);
  if (!frames.ok()) return frames.status();
  const auto index = (*frames)->description()->FindJoint(robot, joint);
  if (!index.ok()) return index.status();
  // a thread renews the lease, and the destructor releases it
  auto lease = world.Acquire(robot);
  if (!lease.ok()) return lease.status();
  const auto commands = world.Command(*std::move(lease));
  if (!commands.ok()) return commands.status();

  pliant::Frame frame;
  const auto begun = std::chrono::steady_clock::now();
  auto next = begun;
  while (std::chrono::steady_clock::now() - begun < std::chrono::duration<double>(duration)) {
    (*frames)->TakeLatest(&frame);
    if (frame.joints.positions_size() > *index) {
      const double q = frame.joints.positions(*index), v = frame.joints.velocities(*index);
      const absl::Status sent =
          (*commands)->SendJointTargets({joint}, {kStiffness * (target - q) - kDamping * v});
      if (!sent.ok()) return sent;  // the lease was lost; the status has the reason
    }
    std::this_thread::sleep_until(next += kPeriod);
  }
  if (frame.joints.positions_size() <= *index) return absl::UnavailableError("no frame came");
  const pliant::Latency latency = (*commands)->latency();
  std::printf("%s is at %.4f, wanted %.4f; %lld answers, median %.2f ms, p99 %.2f ms\n",
              joint.c_str(), frame.joints.positions(*index), target,
              static_cast<long long>(latency.answers), 1000 * latency.median, 1000 * latency.p99);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "usage: pd_controller HOST:PORT WORLD ROBOT JOINT POSITION SECONDS\n";
    return 2;
  }
  const absl::Status status = Run(argv);
  if (!status.ok()) std::cerr << status.message() << '\n';
  return status.ok() ? 0 : 1;
}
