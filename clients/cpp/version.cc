#include "clients/cpp/version.h"

#include <compare>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace pliant {
namespace {

std::optional<std::pair<int, int>> Parse(std::string_view version) {
  const std::vector<std::string> parts =
      absl::StrSplit(absl::string_view(version.data(), version.size()), '.');
  std::pair<int, int> numbers;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &numbers.first) ||
      !absl::SimpleAtoi(parts[1], &numbers.second))
    return std::nullopt;
  return numbers;
}

}  // namespace

absl::Status CheckVersions(std::string_view client, std::string_view server) {
  const auto ours = Parse(client), theirs = Parse(server);
  if (!ours || !theirs) return absl::OkStatus();
  const bool fits = ours->first == theirs->first && (ours->first > 0 || *ours == *theirs);
  if (fits) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the server is ", *theirs < *ours ? "older" : "newer", " (", std::string(server),
                   ") than this client (", std::string(client),
                   "), and they are not compatible; "
                   "use a client of version ",
                   theirs->first, ".", theirs->second));
}

}  // namespace pliant
