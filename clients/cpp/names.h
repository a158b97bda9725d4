#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pliant {

// Number of letters to insert, delete or replace, whatever their case.
int CalcEditDistance(std::string_view a, std::string_view b);

// Names for a message, the most similar to `wanted` first, separated by commas; at most
// `max_names`, and how many more there are. "none" if there are none.
std::string ListNearest(std::string_view wanted, std::vector<std::string> names,
                        std::size_t max_names = 8);

}  // namespace pliant
