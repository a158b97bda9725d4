#include "clients/gamepad/driving/layout.h"

#include <algorithm>
#include <cmath>

namespace pliant::clients {
namespace {

constexpr double kDeadZone = 0.15, kTriggerDeadZone = 0.05;
constexpr double kSpinPerSpeed = 6;  // [rad/m]: 1.5 rad/s at 0.25 m/s
constexpr double kSlowness = 0.2;

bool IsAction(std::size_t button) {
  return button == kStop || button == kGrip || button == kNext;
}

// Applies a circular dead zone to a stick and rescales the rest to the full range.
std::array<double, 2> OutsideDeadZone(double x, double y) {
  const double length = std::hypot(x, y);
  if (!(length > kDeadZone)) return {0, 0};
  const double scale = std::min(1.0, (length - kDeadZone) / (1 - kDeadZone)) / length;
  return {x * scale, y * scale};
}

double Trigger(double value) {
  return value > kTriggerDeadZone ? std::min(1.0, value) : 0;
}

}  // namespace

double ScaleStick(std::int16_t value) {
  return std::max(-1.0, value / 32767.0);
}

double ScaleTrigger(std::int16_t value) {
  return std::max(0.0, value / 32767.0);
}

bool IsUsed(const PadState& pad) {
  for (const double axis : pad.axes)
    if (std::abs(axis) > kDeadZone) return true;
  for (std::size_t i = 0; i < pad.buttons.size(); ++i)
    if (!IsAction(i) && pad.buttons[i] > kTriggerDeadZone) return true;
  return false;
}

v1::Gamepad MakeGamepad(const PadState& pad) {
  v1::Gamepad message;
  for (const double axis : pad.axes) message.add_axes(axis);
  for (std::size_t i = 0; i < pad.buttons.size(); ++i)
    message.add_buttons(IsAction(i) ? 0 : pad.buttons[i]);
  return message;
}

v1::Twist MakeTwist(const PadState& pad, double speed) {
  const auto [right, back] = OutsideDeadZone(pad.axes[0], pad.axes[1]);
  const auto [turn, tilt] = OutsideDeadZone(pad.axes[2], pad.axes[3]);
  const bool is_slow = pad.buttons[kSlow] > 0.5 || pad.buttons[kLower] > 0.5;
  const double linear = speed * (is_slow ? kSlowness : 1), angular = kSpinPerSpeed * linear;
  v1::Twist twist;
  twist.add_linear(linear * right);
  twist.add_linear(linear * -back);
  twist.add_linear(linear * (Trigger(pad.buttons[kUp]) - Trigger(pad.buttons[kDown])));
  twist.add_angular(angular * tilt);
  twist.add_angular(angular * (pad.buttons[kRollRight] - pad.buttons[kRollLeft]));
  twist.add_angular(angular * -turn);
  return twist;
}

}  // namespace pliant::clients
