#pragma once

#include <string>
#include <string_view>

#include "google/protobuf/message.h"

namespace pliant::clients {

// Writes to stdout without buffering. Throws CommandError when its reader is gone (kPipeClosed,
// without a message) or when it cannot be written (the disk is full).
void Print(std::string_view text);
void PrintLine(std::string_view text);
// The message as one line of JSON with the field names of the schema.
std::string ToJson(const google::protobuf::Message& message);
void PrintJson(const google::protobuf::Message& message);  // one line

// True if stdout is a terminal that understands escape sequences (TERM is not "dumb").
bool IsLive();
// True if colours are wanted: a live terminal, and NO_COLOR is not set.
bool HasColours();
int TerminalColumns();
int TerminalRows();

// The alternate screen of the terminal, for text that is redrawn. The destructor restores the
// terminal.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  void Draw(std::string_view text);  // lines, cut to the size of the terminal
};

// Restores the terminal from a Screen, also when the program ends without destroying it.
void RestoreTerminal();

}  // namespace pliant::clients
