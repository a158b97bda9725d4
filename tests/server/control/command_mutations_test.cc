// Commands with arbitrary contents: each is refused with a reason, or its effect is within the
// limits of the scene, finite, and accepted by the physics.

#include <cmath>
#include <limits>
#include <random>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

#include "tests/server/control/operator.h"

namespace pliant::server {
namespace {

constexpr char kEverything[] = R"(
    teleop:
      fallback: HOLD
      groups: [{name: slides, joints: ["[xyz]"]}, {name: jaws, joints: [left, right]}]
      gamepad:
        controls:
          - {axis: 0, tool: tool, twist: [0, 0, 0, 0.2, 0, 0]}
          - {button: 7, gripper: jaws, rate: 0.02}
)";

// Fills messages with numbers and names that are often wrong.
class Mutations {
 public:
  explicit Mutations(std::uint32_t seed) : random_(seed) {}

  v1::CommandRequest Next() {
    v1::CommandRequest command;
    Fill(&command);
    command.set_client_time(0);
    command.clear_epoch();
    return command;
  }

 private:
  using Field = google::protobuf::FieldDescriptor;

  int Draw(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  double Number() {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    constexpr double kNumbers[] = {0,
                                   -0.0,
                                   1,
                                   -1,
                                   0.3,
                                   -0.02,
                                   1e-310,
                                   1e6,
                                   1e300,
                                   -1e300,
                                   kInf,
                                   -kInf,
                                   std::numeric_limits<double>::quiet_NaN()};
    return Draw(2) == 0 ? 0.1 * (Draw(41) - 20) : kNumbers[Draw(std::size(kNumbers))];
  }
  std::string Name() {
    constexpr const char* kNames[] = {"x",    "y",    "left", "spin",  "motor", "sway",
                                      "tool", "jaws", "hand", "rotor", "",      "\xc3\xa9"};
    return kNames[Draw(std::size(kNames))];
  }

  void Fill(google::protobuf::Message* message) {
    const auto* type = message->GetDescriptor();
    if (type->real_oneof_decl_count() > 0) {
      const auto* choice = type->oneof_decl(0);
      Set(message, choice->field(Draw(choice->field_count())));
    }
    for (int i = 0; i < type->field_count(); ++i) {
      const Field* field = type->field(i);
      if (field->real_containing_oneof() == nullptr && Draw(4) != 0) Set(message, field);
    }
  }
  void Set(google::protobuf::Message* message, const Field* field) {
    const auto* access = message->GetReflection();
    // mostly the right number of values
    const int sizes[] = {3, 3, 3, 1, 1, 4, Draw(20)};
    const int count = field->is_repeated() ? sizes[Draw(std::size(sizes))] : 1;
    for (int i = 0; i < count; ++i) {
      switch (field->cpp_type()) {
        case Field::CPPTYPE_DOUBLE:
          field->is_repeated() ? access->AddDouble(message, field, Number())
                               : access->SetDouble(message, field, Number());
          break;
        case Field::CPPTYPE_STRING:
          field->is_repeated() ? access->AddString(message, field, Name())
                               : access->SetString(message, field, Name());
          break;
        case Field::CPPTYPE_INT32:
          access->SetInt32(message, field, Draw(30) - 2);
          break;
        case Field::CPPTYPE_MESSAGE:
          Fill(access->MutableMessage(message, field));
          break;
        default:
          break;
      }
    }
  }

  std::mt19937 random_;
};

void ExpectWithinLimits(const ControlledWorld& w) {
  for (const auto& target : w.inputs().actuators) {
    const physics::Actuator& actuator = w.model().actuators[target.actuator];
    const physics::RobotJoint& joint = w.model().joint_of(actuator);
    const double limit = actuator.kind == physics::Actuator::Kind::kPosition ? joint.upper
                         : actuator.kind == physics::Actuator::Kind::kVelocity
                             ? joint.velocity_limit
                             : actuator.effort_limit;
    ASSERT_LE(std::abs(target.value), limit + 1e-12) << actuator.name;
  }
  for (const auto& twist : w.inputs().twists) {
    ASSERT_LE(twist.linear_W.norm(), DriveLimits().speed * (1 + 1e-12));
    ASSERT_LE(twist.angular_W.norm(), DriveLimits().spin * (1 + 1e-12));
  }
  for (const auto& gains : w.inputs().gains) {
    const physics::Actuator& actuator = w.model().actuators[gains.actuator];
    ASSERT_LE(gains.stiffness, actuator.max_stiffness);
    ASSERT_LE(gains.damping, actuator.max_damping);
    ASSERT_LE(gains.effort_limit, actuator.effort_limit);
  }
}

TEST(CommandMutations, AreRefusedOrKeptWithinTheLimits) {
  ControlledWorld w(LoadGantryModel("", kEverything));
  int accepted = 0, refused = 0;
  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    Mutations mutations(seed);
    for (int round = 0; round < 100; ++round) {
      const std::string paddle = w.Acquire("paddle"), left = w.Acquire("left"),
                        slides = w.Acquire("right/slides"), jaws = w.Acquire("right/jaws");
      for (int i = 0; i < 60; ++i) {
        const std::string& lease = i % 4 == 0   ? paddle
                                   : i % 4 == 1 ? left
                                   : i % 4 == 2 ? slides
                                                : jaws;
        const v1::CommandRequest command = mutations.Next();
        const absl::Status status = w.Send(lease, command);
        status.ok() ? ++accepted : ++refused;
        if (!status.ok()) {
          ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
              << command.ShortDebugString();
          ASSERT_FALSE(status.message().empty());
        }
        if (i % 10 == 9) {
          w.Step();
          ExpectWithinLimits(w);
          if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", round " << round;
        }
      }
      for (const std::string& lease : {paddle, left, slides, jaws})
        ASSERT_TRUE(w.control().Release(lease, w.now()).ok());
    }
  }
  // both happen often, so both are tested
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace pliant::server
