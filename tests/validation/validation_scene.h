#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include <gtest/gtest.h>

#include "physics/scene/scene.h"
#include "physics/spatial/trig.h"
#include "physics/stepping/integrators/theta_method.h"
#include "physics/stepping/step/stages.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"

namespace pliant::physics {

inline constexpr double kGravity = 9.81;  // [m/s²]

// Returns `text` with $NAME replaced by its value, to keep scenes readable.
inline std::string Fill(const std::string& text,
                        const std::vector<std::pair<std::string, std::string>>& values) {
  return absl::StrReplaceAll(text, values);
}

inline std::string Number(double x) {
  return absl::StrCat(x);
}

// Path of a temporary file or folder of the running test. No other test has it, since tests run at
// the same time.
inline std::string PathOfTest(const std::string& name) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = absl::StrCat(test->test_suite_name(), "_", test->name(), "_", name);
  return absl::StrCat(::testing::TempDir(), "pliant_", absl::StrReplaceAll(path, {{"/", "_"}}));
}

// The world of a loaded scene; errors in the scene fail the test.
inline World MakeWorld(const SceneResult& result) {
  for (const SceneMessage& message : result.messages) {
    if (message.error) ADD_FAILURE() << Format(message);
  }
  if (!result.ok()) std::abort();
  return World(result.model);
}

inline World LoadWorld(const std::string& yaml) {
  return MakeWorld(LoadSceneYaml(yaml, "scene.yaml"));
}

// Steps until time t [s]; every step must converge.
inline void RunUntil(double t, World* world) {
  while (world->state().time < t - 1e-6 * world->model().time_step) {
    const absl::Status status = world->Step();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(world->report().converged)
        << "step " << world->state().step << ", residual " << world->report().residual;
  }
}

// Steps until time t [s] and returns the number of steps that did not converge.
inline int RunAndCountMissed(double t, World* world) {
  int missed = 0;
  while (world->state().time < t - 1e-6 * world->model().time_step) {
    const absl::Status status = world->Step();
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) return missed;
    missed += !world->report().converged;
  }
  return missed;
}

// Reads a probe of the scene by name.
inline std::vector<double> Read(const World& world, const std::string& name) {
  for (const Probe& probe : world.model().probes) {
    if (probe.name == name) {
      return SampleProbe(world.model(), probe, world.state(), world.report(),
                         world.model().time_step)
          .numbers;
    }
  }
  ADD_FAILURE() << "no probe " << name;
  return {};
}

inline Eigen::Vector3d ReadVector(const World& world, const std::string& name) {
  const std::vector<double> numbers = Read(world, name);
  return {numbers.at(0), numbers.at(1), numbers.at(2)};
}

// Direction of steepest descent and outward normal of the plane z = 0 turned by `angle` [rad] about
// y.
inline Eigen::Vector3d Downhill(double angle) {
  return {std::cos(angle), 0, -std::sin(angle)};
}
inline Eigen::Vector3d SlopeNormal(double angle) {
  return {std::sin(angle), 0, std::cos(angle)};
}

inline std::string List(const Eigen::Vector3d& v) {
  return absl::StrCat("[", absl::StrCat(v.x()), ", ", absl::StrCat(v.y()), ", ",
                      absl::StrCat(v.z()), "]");
}

// Resistance of a step's contacts to sliding along a direction. A sticking contact is a damper: it
// resists with its velocity / (σ w), w = ‖W‖_F / 3. A yielding one resists with μ times its normal
// impulse, whatever its velocity.
struct Hold {
  int sticking = 0, yielding = 0;  // contacts
  double stick_resistance = 0;     // Σ 1 / (σ w_i) over sticking contacts [kg]
  double yield_impulse = 0;        // of yielding contacts against `direction` [N·s]
};

// Takes one more step and returns the resistance of its contacts. Requires the convex method and
// contacts with friction `mu`.
inline Hold StepAndCalcHold(const Eigen::Vector3d& direction, double mu, World* world) {
  const Model& model = world->model();
  StepStages stages(model, Terms::kFreeMotion);
  const ConvexOptions& options = model.method.convex;
  absl::Status status = PoseStep(world->CalcScriptedInputs(),
                                 ThetaMethod(model.time_step, options.theta, options.theta_vq),
                                 world->state(), &stages);
  EXPECT_TRUE(status.ok()) << status.message();
  status = world->Step();
  EXPECT_TRUE(status.ok()) << status.message();

  Hold hold;
  const std::vector<ContactForce>& contacts = world->report().contacts;
  EXPECT_EQ(contacts.size(), stages.system.contacts.size());
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    const double normal = contacts[c].impulse_W.dot(contacts[c].normal_W);
    if (normal <= 0) continue;
    const Eigen::Vector3d tangential = contacts[c].impulse_W - normal * contacts[c].normal_W;
    // contacts are on the cone to rounding, or clearly inside
    if (tangential.norm() < (1 - 1e-9) * mu * normal) {
      ++hold.sticking;
      const double w = std::sqrt(stages.system.contacts[c].W.squaredNorm()) / 3;
      hold.stick_resistance += 1 / (options.sigma * w);
    } else {
      ++hold.yielding;
      hold.yield_impulse -= tangential.dot(direction);
    }
  }
  return hold;
}

}  // namespace pliant::physics
