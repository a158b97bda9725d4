#include "physics/scene/robot_files/parts/xml_tree.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include <tinyxml2.h>

namespace pliant::physics {
namespace {

// The library refuses more than 100 levels; deeper subtrees are parsed separately and inserted in
// place.
constexpr int kMaxParserDepth = 90;
constexpr std::size_t kMaxElements = 2'000'000;
constexpr std::size_t kMaxAttributes = 256;  // of one element
constexpr char kPlaceholder[] = "pliant-subtree";

std::string Trimmed(std::string_view text) {
  while (!text.empty() && absl::ascii_isspace(text.front())) text.remove_prefix(1);
  while (!text.empty() && absl::ascii_isspace(text.back())) text.remove_suffix(1);
  return std::string(text);
}

// Part of the text that the library parses at once.
struct Subtree {
  std::string text;  // with placeholders for deeper parts
  int line;          // of its first character
};

// Scans the tags before a tree is built: refuses harmful input, and cuts deep trees into subtrees.
class TagScanner {
 public:
  TagScanner(std::string_view bytes, const std::shared_ptr<const std::string>& file, RobotLog* log)
      : bytes_(bytes), file_(file), log_(log) {}

  // Returns the subtrees, the root's first.
  std::optional<std::vector<Subtree>> Cut() {
    subtrees_.push_back({"", 1});
    open_.push_back({0, -1});
    while (at_ < bytes_.size()) {
      const std::size_t tag = std::min(bytes_.find('<', at_), bytes_.size());
      Copy(tag);
      if (at_ >= bytes_.size()) break;
      if (!ReadTag()) return std::nullopt;
    }
    return std::move(subtrees_);
  }

 private:
  bool StartsWith(std::string_view what) const { return bytes_.substr(at_, what.size()) == what; }

  void Copy(std::size_t end) {
    subtrees_[open_.back().subtree].text.append(bytes_.substr(at_, end - at_));
    line_ += static_cast<int>(std::count(bytes_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         bytes_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at_ = end;
  }

  bool CopyUntil(std::string_view end) {
    const std::size_t found = bytes_.find(end, at_);
    // the library reports unfinished input
    Copy(found == std::string_view::npos ? bytes_.size() : found + end.size());
    return true;
  }

  // Leaves out everything but the line breaks.
  bool SkipUntil(std::string_view end) {
    const std::size_t found = bytes_.find(end, at_);
    if (found == std::string_view::npos) return CopyUntil(end);
    const std::string_view skipped = bytes_.substr(at_, found + end.size() - at_);
    const auto lines = std::count(skipped.begin(), skipped.end(), '\n');
    subtrees_[open_.back().subtree].text.append(lines, '\n');
    line_ += static_cast<int>(lines);
    at_ += skipped.size();
    return true;
  }

  bool Refuse(std::string text) {
    log_->Error({file_, line_}, std::move(text));
    return false;
  }

  // Returns the position of the '>' that ends the tag at `at_`. A '>' in quotes does not end it.
  std::size_t FindEndOfTag() const {
    std::size_t end = at_ + 1;
    char quote = 0;
    while (end < bytes_.size() && (quote != 0 || bytes_[end] != '>')) {
      if (quote != 0) {
        if (bytes_[end] == quote) quote = 0;
      } else if (bytes_[end] == '"' || bytes_[end] == '\'') {
        quote = bytes_[end];
      }
      ++end;
    }
    return end;
  }

  bool ReadTag() {
    if (StartsWith("<!--")) return CopyUntil("-->");
    if (StartsWith("<![CDATA[")) return CopyUntil("]]>");
    // declarations say nothing needed here, and the library refuses those after a comment
    if (StartsWith("<?")) return SkipUntil("?>");
    std::size_t end = FindEndOfTag();
    if (StartsWith("<!")) {
      // the file that a DOCTYPE names is not read
      const std::string_view declaration = bytes_.substr(at_, end - at_);
      if (declaration.starts_with("<!DOCTYPE") && declaration.find('[') == declaration.npos) {
        Copy(end);
        return true;
      }
      return Refuse(
          "declarations of entities, elements and attributes are not allowed in a robot file: "
          "they can expand without limit. Remove them");
    }
    const bool closing = StartsWith("</");
    const bool empty = end < bytes_.size() && bytes_[end - 1] == '/';
    end = std::min(end + 1, bytes_.size());
    if (closing) {
      Copy(end);
      if (depth_ > 0 && --depth_ == open_.back().depth && open_.size() > 1) open_.pop_back();
      return true;
    }
    if (++elements_ > kMaxElements) {
      return Refuse(absl::StrCat("has more than ", kMaxElements, " elements; expected fewer"));
    }
    if (depth_ >= kMaxNesting) {
      return Refuse(
          absl::StrCat("elements are nested more than ", kMaxNesting, " deep; expected fewer"));
    }
    if (depth_ > 0 && depth_ % kMaxParserDepth == 0) {
      absl::StrAppend(&subtrees_[open_.back().subtree].text, "<", kPlaceholder, " n='",
                      subtrees_.size(), "'/>");
      open_.push_back({subtrees_.size(), depth_});
      subtrees_.push_back({"", line_});
      Copy(end);
      if (empty) {
        open_.pop_back();
      } else {
        ++depth_;
      }
      return true;
    }
    Copy(end);
    if (!empty) ++depth_;
    return true;
  }

  std::string_view bytes_;
  std::shared_ptr<const std::string> file_;
  RobotLog* log_;
  std::size_t at_ = 0;
  int line_ = 1;
  int depth_ = 0;
  std::vector<Subtree> subtrees_;
  struct Open {
    std::size_t subtree;
    int depth;  // of the parent element
  };
  std::vector<Open> open_;
  std::size_t elements_ = 0;
};

class TreeBuilder {
 public:
  TreeBuilder(const std::vector<Subtree>& subtrees, const std::shared_ptr<const std::string>& file,
              RobotLog* log)
      : subtrees_(subtrees), file_(file), log_(log) {}

  bool Build(std::size_t subtree, XmlElement* root) {
    const Subtree& source = subtrees_[subtree];
    tinyxml2::XMLDocument document;
    if (document.Parse(source.text.data(), source.text.size()) != tinyxml2::XML_SUCCESS) {
      const int line = source.line + std::max(document.ErrorLineNum(), 1) - 1;
      log_->Error({file_, line}, absl::StrCat("is not well-formed XML: ", Explain(document)));
      return false;
    }
    const tinyxml2::XMLElement* element = document.RootElement();
    if (element == nullptr) {
      log_->Error({file_, 0}, "has no element; expected <robot>, <sdf> or <mujoco>");
      return false;
    }
    return Copy(*element, source.line, root);
  }

 private:
  static std::string Explain(const tinyxml2::XMLDocument& document) {
    switch (document.ErrorID()) {
      case tinyxml2::XML_ERROR_EMPTY_DOCUMENT:
        return "the file is empty";
      case tinyxml2::XML_ERROR_MISMATCHED_ELEMENT:
        return "a closing tag has no opening one, or is missing";
      case tinyxml2::XML_ERROR_PARSING_ATTRIBUTE:
        return "an attribute is malformed or given twice; expected name=\"value\"";
      case tinyxml2::XML_ERROR_PARSING_COMMENT:
        return "a comment is not closed";
      case tinyxml2::XML_ERROR_PARSING_CDATA:
        return "a CDATA section is not closed";
      case tinyxml2::XML_ERROR_PARSING_DECLARATION:
        return "a <?…?> is not closed";
      default:
        return "an element is malformed; expected <name attribute=\"value\">…</name>";
    }
  }

  bool Copy(const tinyxml2::XMLElement& source, int first_line, XmlElement* element) {
    element->name = source.Name();
    element->place = {file_, first_line + source.GetLineNum() - 1};
    for (const tinyxml2::XMLAttribute* a = source.FirstAttribute(); a != nullptr; a = a->Next()) {
      if (element->attributes.size() == kMaxAttributes) {
        log_->Error(element->place, absl::StrCat(element->Label(), ": has more than ",
                                                 kMaxAttributes, " attributes; expected fewer"));
        return false;
      }
      element->attributes.push_back({a->Name(), a->Value()});
    }
    std::string text;
    for (const tinyxml2::XMLNode* node = source.FirstChild(); node != nullptr;
         node = node->NextSibling()) {
      if (const tinyxml2::XMLText* words = node->ToText()) absl::StrAppend(&text, words->Value());
      const tinyxml2::XMLElement* child = node->ToElement();
      if (child == nullptr) continue;
      element->children.emplace_back();
      if (std::string_view(child->Name()) == kPlaceholder) {
        const int number = child->IntAttribute("n");
        if (number <= 0 || number >= static_cast<int>(subtrees_.size())) {
          log_->Error({file_, first_line + child->GetLineNum() - 1},
                      absl::StrCat("<", kPlaceholder, "> is unknown. Remove it"));
          return false;
        }
        if (!Build(static_cast<std::size_t>(number), &element->children.back())) return false;
      } else if (!Copy(*child, first_line, &element->children.back())) {
        return false;
      }
    }
    element->text = Trimmed(text);
    return true;
  }

  const std::vector<Subtree>& subtrees_;
  std::shared_ptr<const std::string> file_;
  RobotLog* log_;
};

}  // namespace

const std::string* XmlElement::Find(std::string_view attribute) const {
  for (const XmlAttribute& a : attributes) {
    if (a.name != attribute) continue;
    a.read = true;
    return &a.value;
  }
  return nullptr;
}

std::string XmlElement::Get(std::string_view attribute) const {
  const std::string* value = Find(attribute);
  return value == nullptr ? std::string() : *value;
}

const XmlElement* XmlElement::Child(std::string_view child) const {
  for (const XmlElement& c : children) {
    if (c.name == child) return &c;
  }
  return nullptr;
}

std::string XmlElement::Label() const {
  const std::string* own = Find("name");
  return own == nullptr ? absl::StrCat("<", name, ">") : absl::StrCat(name, " \"", *own, "\"");
}

std::optional<XmlElement> ReadXml(std::string_view bytes, std::shared_ptr<const std::string> file,
                                  RobotLog* log) {
  if (bytes.size() > kMaxXmlBytes) {
    log->Error({file, 0},
               absl::StrCat("has ", bytes.size(), " bytes; expected at most ", kMaxXmlBytes));
    return std::nullopt;
  }
  const std::size_t end = bytes.find_last_not_of(std::string_view("\0 \t\r\n", 5)) + 1;
  if (bytes.find('\0', end) != std::string_view::npos) {
    log->Mended({file, 0}, "zero bytes after the end are ignored");
    bytes = bytes.substr(0, end);
  }
  if (bytes.find('\0') != std::string_view::npos) {
    log->Error({file, 0}, "contains a zero byte; expected XML in UTF-8");
    return std::nullopt;
  }
  if (bytes.find(kPlaceholder) != std::string_view::npos) {
    log->Error({file, 0},
               absl::StrCat("names \"", kPlaceholder, "\", which is reserved. Rename it"));
    return std::nullopt;
  }
  const auto subtrees = TagScanner(bytes, file, log).Cut();
  if (!subtrees.has_value()) return std::nullopt;
  XmlElement root;
  if (!TreeBuilder(*subtrees, file, log).Build(0, &root)) return std::nullopt;
  return root;
}

void ReportUnknownAttribute(const XmlElement& element, const std::string& name, RobotLog* log) {
  log->Mended(element.place,
              absl::StrCat("attribute ", name, " of <", element.name, "> is unknown and left out"));
}

void ReportUnreadAttributes(const XmlElement& element, RobotLog* log) {
  bool any_read = false;
  for (const XmlAttribute& a : element.attributes) any_read = any_read || a.read;
  for (const XmlAttribute& a : element.attributes) {
    if (any_read && !a.read && a.name.find(':') == std::string::npos && a.name != "xmlns")
      ReportUnknownAttribute(element, a.name, log);
  }
  for (const XmlElement& child : element.children) ReportUnreadAttributes(child, log);
}

std::size_t CountElements(const XmlElement& element) {
  std::size_t count = 1;
  for (const XmlElement& child : element.children) count += CountElements(child);
  return count;
}

}  // namespace pliant::physics
