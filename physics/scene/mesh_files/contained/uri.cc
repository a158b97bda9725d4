#include "physics/scene/mesh_files/contained/uri.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace pliant::physics {

std::string DecodeUri(std::string_view name) {
  std::string decoded;
  for (std::size_t i = 0; i < name.size(); ++i) {
    int code = 0;
    if (name[i] == '%' && i + 2 < name.size() && absl::ascii_isxdigit(name[i + 1]) &&
        absl::ascii_isxdigit(name[i + 2]) &&
        absl::SimpleHexAtoi(absl::string_view(name.data() + i + 1, 2), &code)) {
      decoded += static_cast<char>(code);
      i += 2;
    } else {
      decoded += name[i];
    }
  }
  return decoded;
}

}  // namespace pliant::physics
