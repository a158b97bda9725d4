#include "physics/scene/robot_files/parts/xml_values.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <Eigen/Geometry>

namespace pliant::physics {
namespace {

constexpr double kMaxDistance = 1e6;  // [m]
constexpr double kMaxAngle = 1e5;
constexpr double kMaxMagnitude = 1e30;   // so that products of a few stay finite
constexpr double kUnitTolerance = 1e-3;  // files round to a few digits
constexpr double kMaybeUnit = 0.1;       // of the squared length of a quaternion
constexpr std::size_t kMaxQuoteLength = 60;

std::string QuotedText(std::string_view text) {
  if (text.size() <= kMaxQuoteLength) return absl::StrCat("\"", std::string(text), "\"");
  return absl::StrCat("\"", std::string(text.substr(0, kMaxQuoteLength)), "…\"");
}

bool IsIn(double x, Range range) {
  switch (range) {
    case Range::kAny:
      return std::abs(x) <= kMaxMagnitude;
    case Range::kPositive:
      return x > 0 && x <= kMaxMagnitude;
    case Range::kNotNegative:
      return x >= 0 && x <= kMaxMagnitude;
    case Range::kLength:
      return std::abs(x) <= kMaxDistance;
    case Range::kSize:
      return x > 0 && x <= kMaxDistance;
    case Range::kAngle:
      return std::abs(x) <= kMaxAngle;
    case Range::kSizeOrZero:
      return x >= 0 && x <= kMaxDistance;
    case Range::kInfinite:
      return !std::isnan(x);
  }
  return false;
}

const char* Describe(Range range) {
  switch (range) {
    case Range::kAny:
      return "a number of at most 1e30 in magnitude";
    case Range::kPositive:
      return "a number above 0 and at most 1e30";
    case Range::kNotNegative:
      return "a number from 0 to 1e30";
    case Range::kLength:
      return "metres, at most 1e6 in magnitude";
    case Range::kSize:
      return "metres, above 0 and at most 1e6";
    case Range::kAngle:
      return "an angle of at most 1e5 in magnitude";
    case Range::kSizeOrZero:
      return "metres, above 0 and at most 1e6";
    case Range::kInfinite:
      return "a number";
  }
  return "a number";
}

std::vector<std::string_view> SplitWords(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && absl::ascii_isspace(text[at])) ++at;
    const std::size_t begin = at;
    while (at < text.size() && !absl::ascii_isspace(text[at])) ++at;
    if (at > begin) words.push_back(text.substr(begin, at - begin));
  }
  return words;
}

// Splits at commas if they clearly separate numbers and are no decimal points: each is next to
// white space, or they alone separate as many numbers as are expected.
std::optional<std::vector<std::string_view>> SplitAtCommas(std::string_view text,
                                                           std::size_t expected) {
  const auto is_blank = [&](std::size_t i) {
    return i >= text.size() || absl::ascii_isspace(text[i]);
  };
  std::vector<std::string_view> words;
  bool beside_blanks = true, blanks_alone = false;
  std::size_t last = std::string_view::npos;  // comma since the last word
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ',') {
      beside_blanks = beside_blanks && (is_blank(at + 1) || (at > 0 && is_blank(at - 1)));
      last = at++;
    } else if (is_blank(at)) {
      ++at;
    } else {
      const std::size_t begin = at;
      while (!is_blank(at) && text[at] != ',') ++at;
      blanks_alone = blanks_alone || (!words.empty() && last == std::string_view::npos);
      words.push_back(text.substr(begin, at - begin));
      last = std::string_view::npos;
    }
  }
  if (beside_blanks || (!blanks_alone && words.size() == expected)) return words;
  return std::nullopt;
}

// Whether the words beyond `most` may be ignored: all are numbers, and no quaternion instead of
// three angles.
bool IsClearWithout(const XmlValue& value, const std::vector<std::string_view>& words,
                    std::size_t most) {
  if (words.size() <= most) return false;
  double squared = 0;
  for (const std::string_view word : words) {
    const std::optional<double> x = ParseNumber(word);
    if (!x.has_value()) return false;
    squared += *x * *x;
  }
  const bool angles = value.attribute == "rpy" || value.attribute == "euler";
  const bool maybe_unit = std::abs(squared - 1) < kMaybeUnit;
  return !(most == 6 && words.size() == 7) && !(angles && words.size() == 4 && maybe_unit);
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && absl::ascii_isspace(text.front())) text.remove_prefix(1);
  while (!text.empty() && absl::ascii_isspace(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string XmlValue::Name() const {
  if (attribute.empty()) return absl::StrCat("<", owner->name, ">");
  return absl::StrCat(owner->Label(), " ", std::string(attribute));
}

XmlValue AttributeOf(const XmlElement& element, std::string_view attribute) {
  return {element.Find(attribute), &element, attribute};
}

XmlValue TextOfChild(const XmlElement& element, std::string_view child) {
  const XmlElement* found = element.Child(child);
  return found == nullptr ? XmlValue() : XmlValue{&found->text, found, {}};
}

XmlValue AttributeOfChild(const XmlElement& element, std::string_view child,
                          std::string_view attribute) {
  const XmlElement* found = element.Child(child);
  return found == nullptr ? XmlValue() : AttributeOf(*found, attribute);
}

XmlValue TextOf(const XmlElement& element) {
  return {&element.text, &element, {}};
}

std::optional<double> ParseNumber(std::string_view text) {
  double x;
  if (!absl::SimpleAtod(absl::string_view(text.data(), text.size()), &x)) return std::nullopt;
  return x;
}

bool ReadNumbers(const XmlValue& value, std::size_t least, std::size_t most,
                 std::vector<double>* out, RobotLog* log, Range range) {
  if (value.text == nullptr) return false;
  std::vector<std::string_view> words = SplitWords(*value.text);
  if (value.text->find(',') != std::string::npos) {
    if (auto split = SplitAtCommas(*value.text, least == most && most > 1 ? most : 0)) {
      words = *std::move(split);
      log->Mended(value.owner->place,
                  absl::StrCat(value.Name(), ": commas between numbers are read as spaces"));
    }
  }
  const std::size_t given = words.size();
  const bool too_many = IsClearWithout(value, words, most);
  if (too_many) words.resize(most);
  const auto refuse = [&](const std::string& what, const std::string& expected) {
    log->Error(value.owner->place, absl::StrCat(value.Name(), ": ", what, "; expected ", expected));
    return false;
  };
  const std::string count = least == most ? absl::StrCat(least) : absl::StrCat(least, " to ", most);
  const std::string expected =
      most == 1 ? Describe(range) : absl::StrCat(count, " numbers, each ", Describe(range));
  if (words.size() < least || words.size() > most) {
    return refuse(words.empty() ? "is empty"
                                : absl::StrCat(QuotedText(*value.text), " has ", words.size(),
                                               words.size() == 1 ? " number" : " numbers"),
                  expected);
  }
  std::vector<double> numbers;
  numbers.reserve(words.size());
  for (std::string_view word : words) {
    std::optional<double> x = ParseNumber(word);
    if (!x.has_value() && (word.ends_with('"') || word.ends_with('\''))) {
      // a common mistake that other readers ignore
      x = ParseNumber(word.substr(0, word.size() - 1));
      if (x.has_value()) {
        log->WarnOnce(value.owner->place,
                      absl::StrCat(value.Name(), ": the quotation mark after a number is ignored"));
      }
    }
    if (!x.has_value() && word.ends_with('.')) {
      x = ParseNumber(word.substr(0, word.size() - 1));
      if (x.has_value()) {
        log->Mended(value.owner->place,
                    absl::StrCat(value.Name(), ": the point after ",
                                 QuotedText(word.substr(0, word.size() - 1)), " is ignored"));
      }
    }
    if (!x.has_value()) return refuse(QuotedText(word) + " is not a number", expected);
    if (!IsIn(*x, range)) return refuse(QuotedText(word) + " is not allowed", expected);
    numbers.push_back(*x + 0.0);  // −0 becomes 0
  }
  *out = std::move(numbers);
  if (too_many) {
    log->Mended(value.owner->place,
                absl::StrCat(value.Name(), ": ", QuotedText(*value.text), " has ", given,
                             " numbers; the first ", most == 1 ? "" : absl::StrCat(most, " "),
                             most == 1 ? "is used" : "are used"));
  }
  return true;
}

bool ReadNumber(const XmlValue& value, double* out, RobotLog* log, Range range) {
  std::vector<double> numbers;
  if (!ReadNumbers(value, 1, 1, &numbers, log, range)) return false;
  *out = numbers[0];
  return true;
}

bool ReadVector(const XmlValue& value, Eigen::Vector3d* out, RobotLog* log, Range range) {
  std::vector<double> numbers;
  if (!ReadNumbers(value, 3, 3, &numbers, log, range)) return false;
  *out = {numbers[0], numbers[1], numbers[2]};
  return true;
}

bool ReadInteger(const XmlValue& value, int* out, RobotLog* log, int least, int most) {
  if (value.text == nullptr) return false;
  const std::string_view text = Trim(*value.text);
  int number = 0;
  if (absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &number) && number >= least &&
      number <= most) {
    *out = number;
    return true;
  }
  log->Error(value.owner->place,
             absl::StrCat(value.Name(), ": ", QuotedText(text),
                          " is not allowed; expected a whole number from ", least, " to ", most));
  return false;
}

bool ReadBool(const XmlValue& value, bool* out, RobotLog* log) {
  if (value.text == nullptr) return false;
  const std::string_view text = Trim(*value.text);
  const bool yes = text == "true" || text == "1" || text == "True" || text == "TRUE";
  const bool no = text == "false" || text == "0" || text == "False" || text == "FALSE";
  if (yes || no) {
    *out = yes;
    return true;
  }
  log->Error(value.owner->place, absl::StrCat(value.Name(), ": ", QuotedText(text),
                                              " is not allowed; expected true or false"));
  return false;
}

bool ReadAxis(const XmlValue& value, Eigen::Vector3d* out, RobotLog* log, AxisLength expected) {
  Eigen::Vector3d axis;
  if (!ReadVector(value, &axis, log)) return false;
  const double scale = axis.cwiseAbs().maxCoeff();
  if (!(scale > 0)) {
    log->Error(value.owner->place,
               absl::StrCat(value.Name(), ": the axis is zero; expected a direction, e.g. 0 0 1"));
    return false;
  }
  // scale first, so that squares neither underflow nor overflow
  axis /= scale;
  const double length = std::sqrt(axis.squaredNorm());
  if (expected == AxisLength::kUnit && !(std::abs(scale * length - 1) <= kUnitTolerance)) {
    log->Warning(
        value.owner->place,
        absl::StrCat(
            value.Name(), ": the axis ", QuotedText(Trim(*value.text)), " has length ",
            scale * length,
            ", not 1; only its direction is used, and positions are still in metres or radians"));
  }
  // leave an axis that is exactly of unit length unchanged
  *out = scale * length == 1 ? Eigen::Vector3d(axis * scale) : Eigen::Vector3d(axis / length);
  return true;
}

std::optional<Eigen::Matrix3d> RotationFromQuaternion(double w, double x, double y, double z) {
  Eigen::Quaterniond q(w, x, y, z);
  const double scale = q.coeffs().cwiseAbs().maxCoeff();
  if (!(scale > 0) || !std::isfinite(scale)) return std::nullopt;
  q.coeffs() /= scale;
  q.coeffs() /= std::sqrt(q.coeffs().squaredNorm());
  return q.toRotationMatrix();
}

Eigen::Matrix3d ReadUnitQuaternion(const XmlValue& value, double w, double x, double y, double z,
                                   RobotLog* log) {
  const std::optional<Eigen::Matrix3d> R = RotationFromQuaternion(w, x, y, z);
  if (!R.has_value()) {
    log->Error(value.owner->place,
               absl::StrCat(value.Name(), ": the quaternion is zero; expected one of length 1"));
    return Eigen::Matrix3d::Identity();
  }
  const double length = std::sqrt(w * w + x * x + y * y + z * z);
  if (!(std::abs(length - 1) <= kUnitTolerance)) {
    log->Warning(value.owner->place, absl::StrCat(value.Name(), ": the quaternion has length ",
                                                  length, ", not 1; it is normalised"));
  }
  return *R;
}

}  // namespace pliant::physics
