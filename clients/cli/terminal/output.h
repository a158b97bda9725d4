#pragma once

#include <string>
#include <string_view>

#include "google/protobuf/message.h"

namespace pliant::clients {

// Writes to stdout at once. Throws CommandError when nobody reads it any more (kPipeClosed, without
// a message) or when it cannot be written (the disk is full).
void Print(std::string_view text);
void PrintLine(std::string_view text);
// The message as one line of JSON with the field names of the schema.
std::string ToJson(const google::protobuf::Message& message);
void PrintJson(const google::protobuf::Message& message);  // one line

// Whether stdout is a terminal that understands escape sequences (TERM is not "dumb").
bool IsLive();
// Whether colours are wanted: a live terminal, and NO_COLOR is not set.
bool HasColours();
int TerminalColumns();
int TerminalRows();

// A screen that is drawn again and again, in place of the text of the terminal, which comes back at
// the end.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  void Draw(std::string_view text);  // lines, cut to the size of the terminal
};

// Gives back what a Screen took. Also at the end of a program that has no time.
void RestoreTerminal();

}  // namespace pliant::clients
