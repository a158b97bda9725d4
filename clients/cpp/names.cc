#include "clients/cpp/names.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace pliant {

int CalcEditDistance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string ListNearest(std::string_view wanted, std::vector<std::string> names,
                        std::size_t max_names) {
  if (names.empty()) return "none";
  std::ranges::stable_sort(names, {},
                           [&](const std::string& name) { return CalcEditDistance(wanted, name); });
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), max_names); ++i)
    absl::StrAppend(&list, i == 0 ? "" : ", ", names[i]);
  if (names.size() > max_names) absl::StrAppend(&list, " and ", names.size() - max_names, " more");
  return list;
}

}  // namespace pliant
