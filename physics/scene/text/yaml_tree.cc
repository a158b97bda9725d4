#include "physics/scene/text/yaml_tree.h"

#include <algorithm>
#include <exception>
#include <sstream>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/parser.h"

namespace pliant::physics {
namespace {

// Thrown through yaml-cpp, which offers no other way to stop it.
struct Stop {
  YamlFault fault;
};

// Offset of the first byte that is not part of well-formed UTF-8 text, or npos.
std::size_t FindNonText(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const unsigned char c = text[i];
    if (c < 0x80) {
      if (c == 0x7f || (c < 0x20 && c != '\n' && c != '\r' && c != '\t')) return i;
      ++i;
      continue;
    }
    const int more = c >= 0xc2 && c < 0xe0   ? 1
                     : (c & 0xf0) == 0xe0    ? 2
                     : c >= 0xf0 && c < 0xf5 ? 3
                                             : 0;
    if (more == 0 || i + more >= text.size()) return i;
    unsigned code = more == 1 ? c & 0x1f : more == 2 ? c & 0x0f : c & 0x07;
    for (int k = 1; k <= more; ++k) {
      const unsigned char next = text[i + k];
      if ((next & 0xc0) != 0x80) return i;
      code = code << 6 | (next & 0x3f);
    }
    const bool overlong = (more == 2 && code < 0x800) || (more == 3 && code < 0x10000);
    if (overlong || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return i;
    i += more + 1;
  }
  return std::string_view::npos;
}

YamlFault FaultAt(std::string_view text, std::size_t offset, std::string message) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const int line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  return {line, 1 + static_cast<int>(offset - line_start), std::move(message)};
}

}  // namespace

// Builds the tree from yaml-cpp's events.
class YamlTreeBuilder : public YAML::EventHandler {
 public:
  YamlTreeBuilder(YamlTree* tree, const YamlLimits& limits) : tree_(*tree), limits_(limits) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    Fail(mark, "a second document begins here; expected one scene per file. Remove the `---`");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Close(Open(YamlNode::Kind::kNull, mark, anchor), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode* node = Open(YamlNode::Kind::kScalar, mark, anchor);
    node->text = value;
    node->plain = tag == "?" || tag.empty();
    Close(node, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto named = anchors_.find(anchor);
    if (named == anchors_.end()) Fail(mark, "an alias names no earlier anchor");
    if (named->second.open) Fail(mark, "an alias names a value that contains it");
    Place(named->second.node);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Enter(YamlNode::Kind::kList, mark, anchor, style);
  }
  void OnSequenceEnd() override { Leave(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Enter(YamlNode::Kind::kMap, mark, anchor, style);
  }
  void OnMapEnd() override { Leave(); }

 private:
  struct Anchor {
    const YamlNode* node;
    bool open;
  };
  struct Level {
    YamlNode* node;
    YAML::anchor_t anchor;
    const YamlNode* key = nullptr;  // of a map, waiting for its value
  };

  [[noreturn]] static void Fail(const YAML::Mark& mark, std::string message) {
    throw Stop{{mark.line + 1, mark.column + 1, std::move(message)}};
  }

  YamlNode* Open(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (static_cast<int>(tree_.nodes_.size()) >= limits_.max_nodes) {
      Fail(mark, absl::StrCat("more than ", limits_.max_nodes,
                              " values; put meshes and tables into separate files"));
    }
    YamlNode& node = tree_.nodes_.emplace_back();
    node.kind = kind;
    node.line = std::max(mark.line, 0) + 1;
    node.column = std::max(mark.column, 0) + 1;
    if (anchor != YAML::NullAnchor) anchors_[anchor] = {&node, true};
    return &node;
  }

  void Close(const YamlNode* node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_[anchor].open = false;
    Place(node);
  }

  void Enter(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor,
             YAML::EmitterStyle::value style) {
    if (static_cast<int>(levels_.size()) >= limits_.max_depth) {
      Fail(mark, absl::StrCat("is nested more than ", limits_.max_depth, " levels deep"));
    }
    YamlNode* node = Open(kind, mark, anchor);
    node->flow = style == YAML::EmitterStyle::Flow;
    levels_.push_back({node, anchor});
  }

  void Leave() {
    const Level level = levels_.back();
    levels_.pop_back();
    Close(level.node, level.anchor);
  }

  // Adds a finished value to the enclosing list or map.
  void Place(const YamlNode* node) {
    if (levels_.empty()) {
      tree_.root_ = node;
      return;
    }
    Level& level = levels_.back();
    if (level.node->kind == YamlNode::Kind::kList) {
      level.node->items.push_back(node);
    } else if (level.key == nullptr) {
      level.key = node;
    } else {
      level.node->fields.emplace_back(level.key, node);
      level.key = nullptr;
    }
  }

  YamlTree& tree_;
  YamlLimits limits_;
  int documents_ = 0;
  std::vector<Level> levels_;
  absl::flat_hash_map<YAML::anchor_t, Anchor> anchors_;
};

std::optional<YamlFault> YamlTree::Parse(std::string_view text, const YamlLimits& limits) {
  nodes_.clear();
  root_ = nullptr;

  // skip a byte order mark
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (const std::size_t bad = FindNonText(text); bad != std::string_view::npos) {
    const unsigned char byte = text[bad];
    return FaultAt(text, bad,
                   absl::StrCat("byte 0x", absl::Hex(byte, absl::kZeroPad2),
                                " is not text; expected a scene in YAML, encoded as UTF-8"));
  }

  YamlTreeBuilder builder(this, limits);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop& stop) {
    return stop.fault;
  } catch (const YAML::Exception& error) {
    const int line = std::max(error.mark.line, 0) + 1, column = std::max(error.mark.column, 0) + 1;
    return YamlFault{line, column, absl::StrCat("not YAML: ", error.msg)};
  } catch (const std::exception& error) {
    return YamlFault{1, 1, absl::StrCat("not YAML: ", error.what())};
  }
  return std::nullopt;
}

}  // namespace pliant::physics
