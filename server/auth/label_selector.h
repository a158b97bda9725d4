#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace pliant::server {

// Chooses worlds by their labels, as in "team=soft, stage!=live, robot": all of its terms must
// hold. "key" and "!key" ask whether a world has the label at all; "key!=value" includes worlds
// without it. A selector without terms chooses every world.
class LabelSelector {
 public:
  // INVALID_ARGUMENT names the term that cannot be read.
  static absl::StatusOr<LabelSelector> Parse(absl::string_view text);

  bool Matches(const std::map<std::string, std::string>& labels) const;
  bool matches_all() const { return terms_.empty(); }

  bool operator==(const LabelSelector&) const = default;

 private:
  struct Term {
    std::string key;
    std::optional<std::string> value;  // none: any
    bool negated = false;
    bool operator==(const Term&) const = default;
  };
  std::vector<Term> terms_;
};

}  // namespace pliant::server
