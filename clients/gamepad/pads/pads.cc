#include "clients/gamepad/pads/pads.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "SDL2/SDL.h"

namespace pliant::clients {
namespace {

constexpr unsigned kRumbleTime = 200;  // [ms]

// SDL's buttons in the order of the standard layout. The triggers are axes in SDL.
constexpr std::array<SDL_GameControllerButton, 17> kButtons{
    SDL_CONTROLLER_BUTTON_A,
    SDL_CONTROLLER_BUTTON_B,
    SDL_CONTROLLER_BUTTON_X,
    SDL_CONTROLLER_BUTTON_Y,
    SDL_CONTROLLER_BUTTON_LEFTSHOULDER,
    SDL_CONTROLLER_BUTTON_RIGHTSHOULDER,
    SDL_CONTROLLER_BUTTON_INVALID,
    SDL_CONTROLLER_BUTTON_INVALID,
    SDL_CONTROLLER_BUTTON_BACK,
    SDL_CONTROLLER_BUTTON_START,
    SDL_CONTROLLER_BUTTON_LEFTSTICK,
    SDL_CONTROLLER_BUTTON_RIGHTSTICK,
    SDL_CONTROLLER_BUTTON_DPAD_UP,
    SDL_CONTROLLER_BUTTON_DPAD_DOWN,
    SDL_CONTROLLER_BUTTON_DPAD_LEFT,
    SDL_CONTROLLER_BUTTON_DPAD_RIGHT,
    SDL_CONTROLLER_BUTTON_GUIDE,
};

}  // namespace

Pads::Pads() {
  // receive events without a window, and leave signals to the program
  SDL_SetHint(SDL_HINT_JOYSTICK_ALLOW_BACKGROUND_EVENTS, "1");
  SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
  if (SDL_Init(SDL_INIT_GAMECONTROLLER) != 0)
    throw std::runtime_error(std::string("the gamepads cannot be read: ") + SDL_GetError() +
                             "; your user may need to be in the group `input`");
  Open();
}

Pads::~Pads() {
  Close();
  SDL_Quit();
}

void Pads::Open() {
  unknown_.clear();
  for (int i = 0; i < SDL_NumJoysticks(); ++i) {
    if (SDL_IsGameController(i) == SDL_FALSE) {
      const char* name = SDL_JoystickNameForIndex(i);
      unknown_.emplace_back(name != nullptr ? name : "a device without a name");
      continue;
    }
    if (controller_ != nullptr) continue;
    controller_ = SDL_GameControllerOpen(i);
    if (controller_ == nullptr) continue;
    instance_ = SDL_JoystickInstanceID(SDL_GameControllerGetJoystick(controller_));
    const char* name = SDL_GameControllerName(controller_);
    name_ = name != nullptr ? name : "gamepad";
    state_.emplace();
  }
}

void Pads::Close() {
  if (controller_ != nullptr) SDL_GameControllerClose(controller_);
  controller_ = nullptr;
  instance_ = -1;
  state_.reset();
  name_.clear();
}

void Pads::Update() {
  SDL_Event event;
  bool has_changed = false;
  while (SDL_PollEvent(&event) != 0) {
    if (event.type == SDL_JOYDEVICEADDED) has_changed = true;
    if (event.type != SDL_JOYDEVICEREMOVED) continue;
    has_changed = true;
    if (event.jdevice.which == instance_) Close();
  }
  if (controller_ != nullptr && SDL_GameControllerGetAttached(controller_) == SDL_FALSE) {
    Close();
    has_changed = true;
  }
  if (has_changed) Open();
  if (controller_ != nullptr) Read();
}

void Pads::Read() {
  const auto axis = [&](SDL_GameControllerAxis which) {
    return SDL_GameControllerGetAxis(controller_, which);
  };
  PadState state;
  state.axes = {
      ScaleStick(axis(SDL_CONTROLLER_AXIS_LEFTX)), ScaleStick(axis(SDL_CONTROLLER_AXIS_LEFTY)),
      ScaleStick(axis(SDL_CONTROLLER_AXIS_RIGHTX)), ScaleStick(axis(SDL_CONTROLLER_AXIS_RIGHTY))};
  for (std::size_t i = 0; i < kButtons.size(); ++i) {
    if (kButtons[i] != SDL_CONTROLLER_BUTTON_INVALID)
      state.buttons[i] = SDL_GameControllerGetButton(controller_, kButtons[i]);
  }
  state.buttons[kDown] = ScaleTrigger(axis(SDL_CONTROLLER_AXIS_TRIGGERLEFT));
  state.buttons[kUp] = ScaleTrigger(axis(SDL_CONTROLLER_AXIS_TRIGGERRIGHT));
  state_ = state;
}

void Pads::Rumble(double strength) {
  if (controller_ == nullptr) return;
  const auto level = static_cast<Uint16>(65535 * std::clamp(strength, 0.0, 1.0));
  SDL_GameControllerRumble(controller_, level, level, kRumbleTime);
}

}  // namespace pliant::clients
