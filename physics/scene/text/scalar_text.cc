#include "physics/scene/text/scalar_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

std::string LowerCase(std::string_view text) {
  std::string out(text);
  absl::AsciiStrToLower(&out);
  return out;
}

// Length of the longest prefix of `text` that is a decimal number.
std::size_t CountNumberCharacters(std::string_view text) {
  const auto digits = [&](std::size_t from) {
    std::size_t i = from;
    while (i < text.size() && absl::ascii_isdigit(text[i])) ++i;
    return i;
  };
  const std::size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  const std::size_t whole = digits(sign);
  std::size_t end = whole;
  std::size_t count = whole - sign;
  if (end < text.size() && text[end] == '.') {
    end = digits(end + 1);
    count += end - whole - 1;
  }
  if (count == 0) return 0;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    if (const std::size_t last = digits(exponent); last > exponent) end = last;
  }
  return end;
}

// Explains why a text is not a decimal number.
std::string ExplainNonNumber(std::string_view text, std::size_t number_length) {
  const std::string lower = LowerCase(text);
  std::string_view word = lower;
  if (!word.empty() && (word[0] == '+' || word[0] == '-')) word.remove_prefix(1);
  if (word == ".nan" || word == "nan" || word == ".inf" || word == "inf" || word == "infinity") {
    return "is not finite";
  }
  for (const std::string_view truth : {"true", "false", "yes", "no", "on", "off"}) {
    if (word == truth) return "is a boolean";
  }
  if (word.starts_with("0x") || word.starts_with("0o") || word.starts_with("0b")) {
    return "is not decimal";
  }
  if (number_length == 0) return "is not a number";
  const std::string_view rest = text.substr(number_length);
  if (rest[0] == '_' || rest[0] == '\'' || rest[0] == ',') {
    return "contains a separator";
  }
  const std::string_view unit = rest.substr(std::min(rest.find_first_not_of(' '), rest.size() - 1));
  if (absl::ascii_isalpha(unit[0]) || unit[0] == '%' || (unit[0] & 0x80) != 0) {
    return absl::StrCat("carries a unit (", std::string(unit.substr(0, 16)), ")");
  }
  return "is not a number";
}

// Some YAML parsers read 010 as eight, others as ten.
bool HasLeadingZero(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && absl::ascii_isdigit(text[1]);
}

int CountEdits(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string ParseNumber(std::string_view text, double* number) {
  const std::size_t length = CountNumberCharacters(text);
  if (length == 0 || length != text.size()) return ExplainNonNumber(text, length);
  if (HasLeadingZero(text)) return "has a leading zero";
  if (text[0] == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  if (error == std::errc::result_out_of_range) {
    // strtod distinguishes overflow from underflow, for which it gives the same bits
    *number = std::strtod(std::string(text).c_str(), nullptr);
    if (!std::isfinite(*number)) return "is beyond the range of a double";
    return "";
  }
  if (error != std::errc() || end != text.data() + text.size()) return "is not a number";
  return "";
}

std::string ParseInteger(std::string_view text, std::int32_t* number) {
  double value = 0;
  if (std::string why = ParseNumber(text, &value); !why.empty()) return why;
  if (value != std::floor(value)) return "is not whole";
  if (std::abs(value) > 2147483647.0) return "is beyond 32 bits";
  *number = static_cast<std::int32_t>(value);
  return "";
}

std::string NumberText(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  // write out whole numbers of ordinary size
  if (number == std::floor(number) && std::abs(number) < 1e6) {
    return absl::StrCat(static_cast<std::int64_t>(number));
  }
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), number);
  return std::string(buffer, result.ptr);
}

std::string Quoted(std::string_view text) {
  constexpr std::size_t kMaxTextLength = 60;
  std::string out = "\"";
  std::size_t cut = text.size();
  if (cut > kMaxTextLength) {
    // do not cut within a character
    cut = kMaxTextLength;
    while (cut > 0 && (text[cut] & 0xc0) == 0x80) --cut;
  }
  for (const char c : text.substr(0, cut)) {
    if (static_cast<unsigned char>(c) < 0x20) {
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "?";
    } else {
      out += c;
    }
  }
  if (cut < text.size()) out += "…";
  return out + "\"";
}

std::string FindNearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.empty() || word.size() > 64) return "";
  const std::string lower = LowerCase(word);
  int best = 1 + static_cast<int>(word.size()) / 3;
  std::string nearest;
  for (const std::string& candidate : known) {
    if (candidate.size() > 64) continue;
    const int edits = CountEdits(lower, LowerCase(candidate));
    if (edits < best || (edits == best && nearest.empty())) {
      best = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = FindNearest(word, known);
  return nearest.empty() ? "" : absl::StrCat("; did you mean `", nearest, "`?");
}

std::string JoinWithOr(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace pliant::physics
