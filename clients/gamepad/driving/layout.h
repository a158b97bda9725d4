#pragma once

#include <array>
#include <cstdint>

#include "pliant/v1/control.pb.h"

namespace pliant::clients {

// A gamepad in the standard layout: left stick x, y and right stick x, y, to the right and down
// positive; buttons 0 to 3 are the lower, right, left and upper one, 4 and 5 the shoulders, 6 and 7
// the triggers (0 to 1), 8 and 9 back and start, 10 and 11 the sticks, 12 to 15 up, down, left and
// right, 16 the middle one.
struct PadState {
  std::array<double, 4> axes{};
  std::array<double, 17> buttons{};

  bool operator==(const PadState&) const = default;
};

enum PadButton : std::uint8_t {
  kLower = 0,
  kStop = 1,  // the right one
  kGrip = 2,  // the left one
  kNext = 3,  // the upper one
  kRollLeft = 4,
  kRollRight = 5,
  kDown = 6,
  kUp = 7,
  kSlow = 10,
};

// Scale SDL's values: sticks from −32768 … 32767 to [−1, 1], triggers from 0 … 32767 to [0, 1].
double ScaleStick(std::int16_t value);
double ScaleTrigger(std::int16_t value);

// True if a control other than the actions (stop, grip, next) is used: a stick out of its dead
// zone, or a button.
bool IsUsed(const PadState& pad);

// The state as a command for a robot that maps it itself. Action buttons count as released.
v1::Gamepad MakeGamepad(const PadState& pad);

// The twist of a body or a tool, in the world frame: the left stick moves it in the horizontal
// plane, forward is +y; the triggers move it down and up, the right stick turns it about z and x,
// the shoulders about y. A pressed stick or the lower button makes it slow. `speed` is that of a
// full deflection [m/s].
v1::Twist MakeTwist(const PadState& pad, double speed);

}  // namespace pliant::clients
