#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pliant::physics {

// A value of a YAML text and its location. Aliases share the node they name.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  int line = 1, column = 1;            // from 1
  bool plain = true;                   // scalar without quotes
  bool flow = false;                   // [a, b] or {a: b}
  std::string text;                    // of a scalar
  std::vector<const YamlNode*> items;  // of a list
  std::vector<std::pair<const YamlNode*, const YamlNode*>>
      fields;  // of a map, in order, as written
};

// Reason why a text is not one YAML document.
struct YamlFault {
  int line = 1, column = 1;
  std::string message;
};

struct YamlLimits {
  int max_nodes = 1'000'000;
  int max_depth = 64;
};

// One YAML document. No node contains itself.
class YamlTree {
 public:
  // Reads `text`. A fault when it is not UTF-8 text, not YAML, holds several documents, or goes
  // beyond the limits.
  std::optional<YamlFault> Parse(std::string_view text, const YamlLimits& limits = {});

  // Null for an empty document.
  const YamlNode* root() const { return root_; }

 private:
  friend class YamlTreeBuilder;
  std::deque<YamlNode> nodes_;
  const YamlNode* root_ = nullptr;
};

}  // namespace pliant::physics
