#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pliant {

// Levenshtein distance, ignoring case.
int CalcEditDistance(std::string_view a, std::string_view b);

// List of names for a message, the most similar to `wanted` first: at most `max_names`, and the
// number of others. "none" if there are none.
std::string ListNearest(std::string_view wanted, std::vector<std::string> names,
                        std::size_t max_names = 8);

}  // namespace pliant
