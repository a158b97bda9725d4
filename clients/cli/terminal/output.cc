#include "clients/cli/terminal/output.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "google/protobuf/util/json_util.h"
#include <sys/ioctl.h>

#include "clients/cli/terminal/command_error.h"

namespace pliant::clients {
namespace {

std::atomic<bool> has_screen{false};

// Escape sequences: the alternate screen without a cursor, and back.
constexpr char kEnter[] = "\033[?1049h\033[?25l";
constexpr char kLeave[] = "\033[?25h\033[?1049l";

winsize GetSize() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    size.ws_col = 80;
    size.ws_row = 24;
  }
  return size;
}

// The beginning of a line, with at most `columns` characters. Escape sequences and continuation
// bytes of UTF-8 have no width.
std::string_view Cut(std::string_view line, int columns) {
  bool in_escape = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto c = static_cast<unsigned char>(line[i]);
    if (in_escape) {
      in_escape = !(c >= '@' && c <= '~' && c != '[');
    } else if (c == '\033') {
      in_escape = true;
    } else if ((c & 0xc0) != 0x80 && columns-- == 0) {
      return line.substr(0, i);
    }
  }
  return line;
}

}  // namespace

void Print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      throw CommandError(kPipeClosed, "");
    } else if (errno != EINTR && errno != EAGAIN) {
      throw CommandError(kUnreachable,
                         std::string("the output cannot be written: ") + std::strerror(errno));
    }
  }
}

void PrintLine(std::string_view text) {
  Print(std::string(text) + "\n");
}

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) throw CommandError(kRefused, std::string(status.message()));
  return json;
}

void PrintJson(const google::protobuf::Message& message) {
  PrintLine(ToJson(message));
}

bool IsLive() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && terminal != nullptr && std::strcmp(terminal, "dumb") != 0 &&
         *terminal != '\0';
}

bool HasColours() {
  const char* none = std::getenv("NO_COLOR");
  return IsLive() && (none == nullptr || *none == '\0');
}

int TerminalColumns() {
  return GetSize().ws_col;
}

int TerminalRows() {
  return GetSize().ws_row;
}

Screen::Screen() {
  has_screen = true;
  Print(kEnter);
}

Screen::~Screen() {
  RestoreTerminal();
}

void Screen::Draw(std::string_view text) {
  std::string drawn = "\033[H";
  int rows = TerminalRows();
  while (!text.empty() && rows-- > 0) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    drawn += std::string(Cut(text.substr(0, end), TerminalColumns())) + "\033[0m\033[K";
    if (rows > 0) drawn += "\r\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Print(drawn + "\033[J");
}

void RestoreTerminal() {
  if (!has_screen.exchange(false)) return;
  // if the terminal is gone, there is nothing to restore
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, kLeave, sizeof kLeave - 1);
}

}  // namespace pliant::clients
