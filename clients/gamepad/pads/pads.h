#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/gamepad/driving/layout.h"

struct _SDL_GameController;

namespace pliant::clients {

// The gamepads of this machine, by SDL's database of controllers. They may come and go. Call it on
// one thread.
class Pads {
 public:
  // Throws std::runtime_error when SDL cannot look at the devices.
  Pads();
  ~Pads();
  Pads(const Pads&) = delete;

  // Takes note of what was plugged in, unplugged and pressed. The first gamepad stays in use until
  // it is unplugged.
  void Update();

  // None if no gamepad that can be used is plugged in.
  std::optional<PadState> state() const { return state_; }
  const std::string& name() const { return name_; }
  // Devices that are no gamepads SDL knows, by name.
  const std::vector<std::string>& unknown() const { return unknown_; }

  // Lets the gamepad shake, 0 to 1, for a fifth of a second. Nothing where it cannot.
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
