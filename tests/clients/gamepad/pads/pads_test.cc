// Virtual gamepads of SDL are plugged in, pressed, shaken and unplugged. The program also runs on a
// machine without a gamepad.

#include "clients/gamepad/pads/pads.h"

#include <memory>

#include "SDL2/SDL.h"
#include "clients/gamepad/driving/drive.h"
#include "tests/clients/pliantd.h"

namespace pliant::clients {
namespace {

using testing::HasSubstr;

// A device that exists while this object does.
class VirtualDevice {
 public:
  explicit VirtualDevice(SDL_JoystickType type, const char* name) {
    SDL_VirtualJoystickDesc description{};
    description.version = SDL_VIRTUAL_JOYSTICK_DESC_VERSION;
    description.type = static_cast<Uint16>(type);
    description.naxes = SDL_CONTROLLER_AXIS_MAX;
    description.nbuttons = SDL_CONTROLLER_BUTTON_MAX;
    description.name = name;
    description.userdata = this;
    description.Rumble = [](void* device, Uint16 low, Uint16 /*high*/) {
      static_cast<VirtualDevice*>(device)->rumble_ = low;
      return 0;
    };
    index_ = SDL_JoystickAttachVirtualEx(&description);
    EXPECT_GE(index_, 0) << SDL_GetError();
    joystick_ = SDL_JoystickOpen(index_);
    EXPECT_NE(joystick_, nullptr) << SDL_GetError();
  }
  ~VirtualDevice() {
    const SDL_JoystickID instance = SDL_JoystickInstanceID(joystick_);
    SDL_JoystickClose(joystick_);
    for (int i = 0; i < SDL_NumJoysticks(); ++i) {
      if (SDL_JoystickGetDeviceInstanceID(i) == instance) SDL_JoystickDetachVirtual(i);
    }
  }
  VirtualDevice(const VirtualDevice&) = delete;

  void Move(SDL_GameControllerAxis axis, Sint16 value) {
    EXPECT_EQ(SDL_JoystickSetVirtualAxis(joystick_, axis, value), 0);
  }
  void Press(SDL_GameControllerButton button, bool is_down) {
    EXPECT_EQ(SDL_JoystickSetVirtualButton(joystick_, button, is_down ? 1 : 0), 0);
  }
  Uint16 rumble() const { return rumble_; }

 private:
  int index_ = -1;
  SDL_Joystick* joystick_ = nullptr;
  Uint16 rumble_ = 0;
};

// Skips where a real gamepad is plugged in, which would be used first.
void SkipBesideRealGamepads() {
  Pads pads;
  pads.Update();
  if (pads.state()) GTEST_SKIP() << "a gamepad is plugged in: " << pads.name();
}

class VirtualPads : public testing::Test {
 protected:
  void SetUp() override { SkipBesideRealGamepads(); }
};

TEST_F(VirtualPads, ComeAreReadAndGo) {
  Pads pads;
  {
    VirtualDevice device(SDL_JOYSTICK_TYPE_GAMECONTROLLER, "Virtual pad");
    pads.Update();
    ASSERT_TRUE(pads.state());
    EXPECT_THAT(pads.name(), HasSubstr("Virtual pad"));
    EXPECT_FALSE(IsUsed(*pads.state()));

    device.Move(SDL_CONTROLLER_AXIS_LEFTX, 32767);
    device.Move(SDL_CONTROLLER_AXIS_TRIGGERRIGHT, 32767);
    device.Press(SDL_CONTROLLER_BUTTON_B, true);
    pads.Update();
    EXPECT_EQ(pads.state()->axes[0], 1);
    EXPECT_EQ(pads.state()->buttons[kUp], 1);
    EXPECT_EQ(pads.state()->buttons[kStop], 1);
    EXPECT_TRUE(IsUsed(*pads.state()));
    device.Move(SDL_CONTROLLER_AXIS_LEFTX, -32768);
    device.Press(SDL_CONTROLLER_BUTTON_B, false);
    pads.Update();
    EXPECT_EQ(pads.state()->axes[0], -1);
    EXPECT_EQ(pads.state()->buttons[kStop], 0);

    pads.Rumble(1);
    EXPECT_EQ(device.rumble(), 65535);
    pads.Rumble(0);
    EXPECT_EQ(device.rumble(), 0);
  }
  pads.Update();
  EXPECT_FALSE(pads.state());
  pads.Rumble(1);  // no effect without a gamepad
  const VirtualDevice again(SDL_JOYSTICK_TYPE_GAMECONTROLLER, "Another pad");
  pads.Update();
  EXPECT_TRUE(pads.state());
}

TEST_F(VirtualPads, TheFirstStaysInUseUntilItIsUnplugged) {
  Pads pads;
  auto first = std::make_unique<VirtualDevice>(SDL_JOYSTICK_TYPE_GAMECONTROLLER, "First");
  pads.Update();
  VirtualDevice second(SDL_JOYSTICK_TYPE_GAMECONTROLLER, "Second");
  second.Move(SDL_CONTROLLER_AXIS_LEFTX, 32767);
  pads.Update();
  EXPECT_THAT(pads.name(), HasSubstr("First"));
  EXPECT_EQ(pads.state()->axes[0], 0);
  first.reset();
  pads.Update();
  EXPECT_THAT(pads.name(), HasSubstr("Second"));
  pads.Update();
  EXPECT_EQ(pads.state()->axes[0], 1);
}

TEST_F(VirtualPads, ADeviceThatIsNoGamepadIsNamed) {
  Pads pads;
  const VirtualDevice wheel(SDL_JOYSTICK_TYPE_UNKNOWN, "Steering wheel");
  pads.Update();
  EXPECT_THAT(pads.unknown(), testing::Contains(HasSubstr("Steering wheel")));
}

class Program : public PliantdTest {
 protected:
  void SetUp() override {
    SkipBesideRealGamepads();
    PliantdTest::SetUp();
  }
  // Runs the program, interrupts it after half a second, and returns its output and exit status.
  std::string Run(const std::string& arguments) const {
    const auto folder = std::filesystem::canonical("/proc/self/exe").parent_path();
    const std::string line =
        "TERM=dumb PLIANT_CLIENT_CONFIG=/nonexistent timeout "
        "--preserve-status -s INT 0.5 '" +
        (folder / "pliant-gamepad").string() + "' " + arguments + " 2>&1; echo status $?";
    FILE* pipe = popen(line.c_str(), "r");
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    pclose(pipe);
    return text;
  }
};

TEST_F(Program, SaysWhatIsMissingAndWhatToDo) {
  Create("lab");
  CreateArm("arm");
  const std::string server = "--server " + address() + " ";
  const std::string none = Run(server + "lab");
  EXPECT_THAT(none, HasSubstr("no gamepad: plug one in"));
  EXPECT_THAT(none, HasSubstr("status 130"));
  EXPECT_EQ(none.find('\033'), std::string::npos);  // the terminal cannot do colours
  EXPECT_THAT(Run(server + "arm"), HasSubstr("nothing that a gamepad can drive"));
  EXPECT_THAT(Run(server + "nowhere"), HasSubstr("there is no world"));
  EXPECT_THAT(Run("--server 127.0.0.1:1 arm"), HasSubstr("status 4"));
  EXPECT_THAT(Run("--token secret arm"), HasSubstr("status 2"));
  EXPECT_THAT(Run(""), HasSubstr("status 2"));
}

class PadsAndDrive : public Program {};

TEST_F(PadsAndDrive, AStickMovesTheBodyUntilTheGamepadIsUnplugged) {
  const World world = Create("lab");
  ASSERT_TRUE(world.Run().ok());
  const auto drive = Drive::Begin(world, "paddle", 0.5, false);
  ASSERT_TRUE(drive.ok()) << drive.status();
  Pads pads;
  const auto update = [&] {
    pads.Update();
    (*drive)->Update(pads.state());
  };
  update();
  auto device = std::make_unique<VirtualDevice>(SDL_JOYSTICK_TYPE_GAMECONTROLLER, "Pad");
  device->Move(SDL_CONTROLLER_AXIS_LEFTX, 32767);
  v1::ProbeWorldRequest request;
  v1::Probe& probe = *request.add_definitions();
  probe.set_name("x");
  probe.mutable_position()->set_body("paddle");
  const auto x = [&] { return world.Probe(request)->probes(0).values(0); };
  const double before = x();
  EXPECT_TRUE(WaitUntil([&] {
    update();
    return x() > before + 0.05;
  })) << (*drive)->problem();
  device.reset();
  update();
  EXPECT_FALSE((*drive)->is_driving());
  EXPECT_TRUE(world.Acquire("paddle").ok());  // at once
}

}  // namespace
}  // namespace pliant::clients
