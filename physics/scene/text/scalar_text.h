#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pliant::physics {

// Reads a plain decimal number: digits, one point, an exponent. Returns an empty string on success,
// otherwise why `text` is not a number, and the remedy: "5 cm" carries a unit, ".nan" is not
// finite, "0x1f" is not decimal.
std::string ParseNumber(std::string_view text, double* number);

// Reads a decimal whole number of 32 bits, as above.
std::string ParseInteger(std::string_view text, std::int32_t* number);

// The shortest decimal number that reads back as the same bits: 0.05, 1e+05.
std::string NumberText(double number);

// User text in quotes, cut to a line's length.
std::string Quoted(std::string_view text);

// The entry of `known` most likely meant by `word`, or an empty string.
std::string FindNearest(std::string_view word, const std::vector<std::string>& known);

// "; did you mean `known`?" or an empty string.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

// "a, b or c"
std::string JoinWithOr(const std::vector<std::string>& words);

}  // namespace pliant::physics
