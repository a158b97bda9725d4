#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/gamepad/driving/layout.h"

struct _SDL_GameController;

namespace pliant::clients {

// The gamepads of this machine that are in SDL's controller database. They may be plugged in and
// unplugged at any time. Use it on one thread.
class Pads {
 public:
  // Throws std::runtime_error when SDL cannot access the devices.
  Pads();
  ~Pads();
  Pads(const Pads&) = delete;

  // Handles gamepads that were plugged in or unplugged, and reads the controls. The first gamepad
  // stays in use until it is unplugged.
  void Update();

  // nullopt if no usable gamepad is plugged in.
  std::optional<PadState> state() const { return state_; }
  const std::string& name() const { return name_; }
  // Names of devices that SDL does not know as gamepads.
  const std::vector<std::string>& unknown() const { return unknown_; }

  // Rumbles with a strength of 0 to 1 for 0.2 s, if the gamepad can.
  void Rumble(double strength);

 private:
  void Open();
  void Close();
  void Read();

  _SDL_GameController* controller_ = nullptr;
  int instance_ = -1;
  std::optional<PadState> state_;
  std::string name_;
  std::vector<std::string> unknown_;
};

}  // namespace pliant::clients
