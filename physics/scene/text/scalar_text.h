#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pliant::physics {

// Reads a plain decimal number: digits, one point, an exponent. On success returns an empty string;
// otherwise why `text` is none, and the mend: "5 cm" carries a unit, ".nan" is not finite, "0x1f"
// is not decimal.
std::string ParseNumber(std::string_view text, double* number);

// Reads a decimal whole number of 32 bits, as above.
std::string ParseInteger(std::string_view text, std::int32_t* number);

// The shortest decimal number that reads back as the same bits: 0.05, 1e+05.
std::string NumberText(double number);

// What a user wrote, in quotes and cut to a line's length.
std::string Quoted(std::string_view text);

// The one of `known` that `word` is most likely meant to be, or an empty string.
std::string FindNearest(std::string_view word, const std::vector<std::string>& known);

// "; did you mean `known`?" or an empty string.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

// "a, b or c"
std::string JoinWithOr(const std::vector<std::string>& words);

}  // namespace pliant::physics
