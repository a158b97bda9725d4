#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

namespace pliant::fuzz {
namespace {

const char* const kNumbers[] = {
    "0",
    "-0",
    "-1",
    "1",
    "0.5",
    "1e308",
    "-1e308",
    "1e309",
    "1e-320",
    "5e-324",
    "0.49999999999999994",
    ".nan",
    ".inf",
    "-.inf",
    "1e6",
    "1e-7",
    "1000000",
    "2147483647",
    "-2147483648",
    "2147483648",
    "4294967296",
    "9223372036854775808",
    "0x10",
    "010",
    "1_000",
    "5 cm",
    "1,5",
    "NaN",
    "+3",
    "1.",
    ".5",
    "1e",
    "--1",
    "true",
    "null",
    "~",
    "''",
    "1e5",
    "[]",
    "{}",
};

const char* const kTokens[] = {
    "bodies: ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    ": ",
    ", ",
    "&a ",
    "*a",
    "<<: *a",
    "\n",
    "\n  ",
    "\t",
    "\"",
    "'",
    "#",
    "---\n",
    "...\n",
    "!!int ",
    "!!binary ",
    "? ",
    "| ",
    "> ",
    "%YAML 1.2\n",
    "FREE",
    "FIXED",
    "KINEMATIC",
    "rigid: {",
    "deformable: {",
    "mass: 1",
    "density: 1",
    "name: a",
    "template: true",
    "half_space: {}",
    "self_contact: true",
    "pose: {}",
    "robots: []",
    "method: {smooth: {}}",
    "file: ../x",
    "file: /etc/passwd",
    "vertex: -1",
    "\\u0000",
    "\\x80",
    "\xff",
    "\xc3\xa9",
    "CELLS 1 5\n",
    "$Elements\n",
    "POINTS 999999999 double\n",
    "<body>",
    "</body>",
    "<link name=\"a\"/>",
    "<!DOCTYPE r>",
    "<!--",
    "-->",
    "<![CDATA[",
    "<replicate count=\"1000\">",
    "parent",
    "world",
    "free",
    "name=\"a\" ",
    "relative_to=\"a\" ",
    "&amp;",
    "/>",
};

struct Span {
  std::size_t begin = 0, end = 0;
};

// A run of letters, digits, '.', '_' and '-' at or after a random position.
Span PickWord(const std::string& text, Random* random) {
  const auto is_word = [&](std::size_t i) {
    const unsigned char c = text[i];
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  };
  std::size_t at = random->Below(text.size());
  while (at < text.size() && !is_word(at)) ++at;
  Span word{at, at};
  while (word.begin > 0 && is_word(word.begin - 1)) --word.begin;
  while (word.end < text.size() && is_word(word.end)) ++word.end;
  return word;
}

Span PickNumber(const std::string& text, Random* random) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Span word = PickWord(text, random);
    if (word.begin < word.end && (std::isdigit(static_cast<unsigned char>(text[word.begin])) != 0 ||
                                  text[word.begin] == '-')) {
      return word;
    }
  }
  return PickWord(text, random);
}

// One to four whole lines.
Span PickLines(const std::string& text, Random* random) {
  const std::size_t at = random->Below(text.size());
  const std::size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  Span lines{before == std::string::npos ? 0 : before + 1, at};
  for (std::size_t i = random->Below(4); i + 1 > 0; --i) {
    const std::size_t next = text.find('\n', lines.end);
    lines.end = next == std::string::npos ? text.size() : next + 1;
    if (i == 0) break;
  }
  return lines;
}

std::string Cut(const std::string& text, Span span) {
  return text.substr(span.begin, span.end - span.begin);
}
void Replace(std::string* text, Span span, const std::string& by) {
  text->replace(span.begin, span.end - span.begin, by);
}

template <std::size_t n>
std::string Pick(const char* const (&table)[n], Random* random) {
  return table[random->Below(n)];
}

void MutateOnce(std::string* text, const std::string& other, Random* random) {
  if (text->empty()) {
    *text = other;
    return;
  }
  switch (random->Below(14)) {
    case 0:  // flip one bit
      (*text)[random->Below(text->size())] ^= static_cast<char>(1u << random->Below(8));
      break;
    case 1:  // replace one byte
      (*text)[random->Below(text->size())] = static_cast<char>(random->Below(256));
      break;
    case 2:
    case 3:
    case 4:
      Replace(text, PickNumber(*text, random), Pick(kNumbers, random));
      break;
    case 5: {  // swap two words
      const Span a = PickWord(*text, random), b = PickWord(*text, random);
      if (a.end > b.begin) break;
      const std::string first = Cut(*text, a), second = Cut(*text, b);
      Replace(text, b, first);
      Replace(text, a, second);
      break;
    }
    case 6:
      Replace(text, PickWord(*text, random), Cut(*text, PickWord(*text, random)));
      break;
    case 7:
      Replace(text, PickLines(*text, random), "");
      break;
    case 8: {  // duplicate lines
      const std::string lines = Cut(*text, PickLines(*text, random));
      text->insert(PickLines(*text, random).begin, lines);
      break;
    }
    case 9:
      text->insert(random->Below(text->size() + 1), Pick(kTokens, random));
      break;
    case 10: {  // delete a run of bytes
      const std::size_t at = random->Below(text->size());
      text->erase(at, 1 + random->Below(random->OneIn(4) ? text->size() : 16));
      break;
    }
    case 11:
      text->resize(random->Below(text->size() + 1));
      break;    // truncate
    case 12: {  // splice in lines of the other text
      const std::string part = Cut(other, PickLines(other, random));
      text->insert(PickLines(*text, random).begin, part);
      break;
    }
    case 13: {  // nest deeply, or insert a very long run
      static const char* const kDeep[] = {"[", "{a: ", "- ",  "? ", "&a [*a, ",
                                          "x", "(",    "\n ", "9",  "!t "};
      const std::string piece = Pick(kDeep, random);
      std::string run;
      for (std::size_t i = random->Below(random->OneIn(8) ? 3000 : 80); i > 0; --i) run += piece;
      text->insert(random->Below(text->size() + 1), run);
      break;
    }
  }
}

}  // namespace

std::uint64_t Random::Next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::uint64_t HashInput(std::string_view input) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : input) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string Mutate(const std::string& input, const std::string& other, std::size_t max_size,
                   Random* random) {
  std::string text = input;
  // mostly one change, so that inputs get past the parser too
  const std::size_t count = random->OneIn(2) ? 1 : 1 + random->Below(random->OneIn(4) ? 12 : 3);
  for (std::size_t i = 0; i < count; ++i) {
    MutateOnce(&text, other, random);
    if (text.size() > max_size) text.resize(max_size);
  }
  return text;
}

}  // namespace pliant::fuzz
