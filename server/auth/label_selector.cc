#include "server/auth/label_selector.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace pliant::server {

absl::StatusOr<LabelSelector> LabelSelector::Parse(absl::string_view text) {
  LabelSelector selector;
  if (absl::StripAsciiWhitespace(text).empty()) return selector;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    absl::string_view rest = absl::StripAsciiWhitespace(part);
    Term term;
    if (const std::size_t equals = rest.find('='); equals != absl::string_view::npos) {
      term.value = std::string(absl::StripAsciiWhitespace(rest.substr(equals + 1)));
      rest = rest.substr(0, equals);
      if (!rest.empty() && rest.back() == '!') {
        term.negated = true;
        rest.remove_suffix(1);
      }
    } else if (!rest.empty() && rest.front() == '!') {
      term.negated = true;
      rest.remove_prefix(1);
    }
    term.key = std::string(absl::StripAsciiWhitespace(rest));
    if (term.key.empty() || term.key.find_first_of("!= ") != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", part, "\" does not choose worlds; expected terms such as team=soft, ",
                       "stage!=live, robot or !robot, separated by commas"));
    }
    selector.terms_.push_back(std::move(term));
  }
  return selector;
}

bool LabelSelector::Matches(const std::map<std::string, std::string>& labels) const {
  return std::ranges::all_of(terms_, [&labels](const Term& term) {
    const auto own = labels.find(term.key);
    const bool holds = own != labels.end() && (!term.value || own->second == *term.value);
    return holds != term.negated;
  });
}

}  // namespace pliant::server
