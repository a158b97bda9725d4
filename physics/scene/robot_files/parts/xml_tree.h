#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "physics/scene/robot_files/parts/robot_log.h"

namespace pliant::physics {

struct XmlAttribute {
  std::string name;
  std::string value;
  mutable bool read = false;  // by Find
};

// An element of an XML file, independent of the XML library, since robot formats splice, repeat and
// move elements. Names keep their prefix, declared or not: "drake:mimic".
struct XmlElement {
  std::string name;
  std::vector<XmlAttribute> attributes;
  std::string text;  // all of it between children, trimmed
  FilePlace place;
  std::vector<XmlElement> children;

  // Null when there is none.
  const std::string* Find(std::string_view attribute) const;
  std::string Get(std::string_view attribute) const;  // empty when there is none
  const XmlElement* Child(std::string_view child) const;

  // "<link> "wrist"", for messages.
  std::string Label() const;
};

inline constexpr int kMaxNesting = 256;
inline constexpr std::size_t kMaxXmlBytes = std::size_t{64} << 20;  // [bytes]

// The root of an XML text.
//
// errors, in `log`: malformed; declarations of entities, which are not expanded; nested beyond
// kMaxNesting; larger than kMaxXmlBytes. Then nothing is returned.
std::optional<XmlElement> ReadXml(std::string_view bytes, std::shared_ptr<const std::string> file,
                                  RobotLog* log);

// Reports an attribute that the format does not have.
void ReportUnknownAttribute(const XmlElement& element, const std::string& name, RobotLog* log);

// Reports attributes that were not read, on elements of which others were.
void ReportUnreadAttributes(const XmlElement& element, RobotLog* log);

inline bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Number of elements in this subtree, including its root.
std::size_t CountElements(const XmlElement& element);

}  // namespace pliant::physics
