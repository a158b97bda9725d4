#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "physics/scene/mesh_files/mesh_cursor.h"
#include "physics/scene/mesh_files/volume_cells.h"
#include "physics/scene/mesh_files/volume_mesh_formats.h"

namespace pliant::physics {
namespace {

constexpr std::size_t kMaxSetsNamed = 12;

// Shape and nodes of an element type: "C3D10M" has 10.
std::pair<CellShape, int> FindAbaqusCell(const std::string& type) {
  if (!type.starts_with("C3D")) return {CellShape::kOther, 0};
  std::size_t end = 3;
  while (end < type.size() && absl::ascii_isdigit(type[end])) ++end;
  int nodes = 0;
  if (!absl::SimpleAtoi(type.substr(3, end - 3), &nodes)) return {CellShape::kOther, 0};
  switch (nodes) {
    case 4:
    case 10:
      return {CellShape::kTetrahedron, nodes};
    case 5:
    case 13:
      return {CellShape::kPyramid, nodes};
    case 6:
    case 15:
      return {CellShape::kPrism, nodes};
    case 8:
    case 20:
    case 27:
      return {CellShape::kHexahedron, nodes};
    default:
      return {CellShape::kOther, 0};
  }
}

// A keyword line: "*Element, type=C3D4, elset=PART" has the word ELEMENT and two parameters.
struct Keyword {
  std::string word;
  std::map<std::string, std::string> parameters;  // names in capitals
};

std::string_view Strip(std::string_view text) {
  while (!text.empty() && absl::ascii_isspace(text.front())) text.remove_prefix(1);
  while (!text.empty() && absl::ascii_isspace(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> SplitFields(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(Strip(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = absl::ascii_toupper(c);
  return upper;
}

bool ParseWhole(std::string_view text, std::int64_t* value) {
  return absl::SimpleAtoi(absl::string_view(text.data(), text.size()), value);
}

bool ParseReal(std::string_view text, double* value) {
  return absl::SimpleAtod(absl::string_view(text.data(), text.size()), value) &&
         std::isfinite(*value);
}

Keyword ParseKeyword(std::string_view line) {
  const std::vector<std::string_view> fields = SplitFields(line.substr(1));
  Keyword keyword;
  keyword.word = Upper(fields[0]);
  for (std::size_t i = 1; i < fields.size(); ++i) {
    const std::size_t equals = fields[i].find('=');
    keyword.parameters[Upper(Strip(fields[i].substr(0, equals)))] =
        equals == std::string_view::npos ? std::string()
                                         : std::string(Strip(fields[i].substr(equals + 1)));
  }
  return keyword;
}

class AbaqusReader {
 public:
  AbaqusReader(std::string_view bytes, const std::string& name)
      : cursor_(bytes, name), name_(name), size_(bytes.size()) {}

  absl::StatusOr<VolumeMeshFile> Read() {
    while (cursor_.ok() && cursor_.remaining() > 0) ReadLine();
    FinishElement();
    if (cursor_.ok() && cells_.empty()) {
      cursor_.Fail(absl::StrCat("expected *ELEMENT of type C3D4 or another solid type, found ",
                                cells_.DescribeOthers()));
    }
    if (!cursor_.ok()) return cursor_.status();
    cells_.Assemble(name_, &file_);
    if (sets_.size() > 1) {
      std::vector<std::string> names(std::min(sets_.size(), kMaxSetsNamed));
      for (const auto& [set, label] : sets_) {
        if (static_cast<std::size_t>(label) <= names.size())
          names[label - 1] = absl::StrCat(label, " is ", set);
      }
      file_.warnings.push_back(
          absl::StrCat(name_, ": labels number the element sets: ", absl::StrJoin(names, ", "),
                       sets_.size() > names.size() ? ", …" : ""));
    }
    if (file_.mesh.labels.size() == file_.mesh.tetrahedra.size() && sets_.size() == 1)
      file_.mesh.labels.clear();
    return std::move(file_);
  }

 private:
  enum class Section { kNone, kNodes, kElements, kInstance };

  void ReadLine() {
    const std::size_t place = size_ - cursor_.remaining();
    const std::string_view line = Strip(cursor_.Line());
    if (line.empty() || line.starts_with("**")) return;
    if (line[0] == '*') {
      FinishElement();
      StartSection(ParseKeyword(line), place);
    } else if (section_ == Section::kNodes) {
      ReadNode(line, place);
    } else if (section_ == Section::kElements) {
      ReadElement(line, place);
    } else if (section_ == Section::kInstance) {
      cursor_.FailAt(place,
                     "an *INSTANCE that is moved or turned is not read. Export the mesh of "
                     "the assembly, or one part");
    }
  }

  void StartSection(const Keyword& keyword, std::size_t place) {
    section_ = Section::kNone;
    const auto parameter = [&](const char* name) {
      const auto found = keyword.parameters.find(name);
      return found == keyword.parameters.end() ? std::string() : found->second;
    };
    if (keyword.word == "NODE") {
      section_ = Section::kNodes;
    } else if (keyword.word == "ELEMENT") {
      section_ = Section::kElements;
      type_ = Upper(parameter("TYPE"));
      std::tie(shape_, nodes_) = FindAbaqusCell(type_);
      std::string set = parameter("ELSET");
      if (set.empty()) set = part_;
      label_ = set.empty()
                   ? 0
                   : sets_.try_emplace(set, static_cast<int>(sets_.size()) + 1).first->second;
    } else if (keyword.word == "PART") {
      // each part has its own node numbers
      part_ = parameter("NAME");
      numbers_.clear();
    } else if (keyword.word == "INSTANCE") {
      section_ = Section::kInstance;
    } else if (keyword.word == "INCLUDE") {
      cursor_.FailAt(place, absl::StrCat("*INCLUDE of ", Quote(parameter("INPUT")),
                                         " is not followed. Put everything into one file"));
    }
  }

  void ReadNode(std::string_view line, std::size_t place) {
    const std::vector<std::string_view> words = SplitFields(line);
    std::int64_t number = 0;
    Eigen::Vector3d p = Eigen::Vector3d::Zero();
    bool good = words.size() >= 4 && ParseWhole(words[0], &number);
    for (int i = 0; i < 3 && good; ++i) good = ParseReal(words[i + 1], &p[i]);
    if (!good) {
      return cursor_.FailAt(place,
                            absl::StrCat("expected a node: number, x, y, z; found ", Quote(line)));
    }
    if (!numbers_.emplace(number, static_cast<int>(file_.mesh.vertices.size())).second)
      return cursor_.FailAt(place, absl::StrCat("node ", number, " is given twice"));
    file_.mesh.vertices.push_back(p);
  }

  // An element continues on the next line until it has all its nodes.
  void ReadElement(std::string_view line, std::size_t place) {
    if (shape_ == CellShape::kOther) {
      cells_.AddOther(type_.empty() ? "none" : type_);
      return;
    }
    if (element_.empty()) element_place_ = place;
    for (const std::string_view word : SplitFields(line)) {
      if (word.empty()) continue;
      std::int64_t number = 0;
      if (!ParseWhole(word, &number)) {
        return cursor_.FailAt(place, absl::StrCat("expected the numbers of an element and of its "
                                                  "nodes, found ",
                                                  Quote(word)));
      }
      element_.push_back(number);
    }
    if (element_.size() > static_cast<std::size_t>(nodes_)) FinishElement();
  }

  void FinishElement() {
    if (element_.empty() || !cursor_.ok()) return;
    if (element_.size() != static_cast<std::size_t>(nodes_) + 1) {
      return cursor_.FailAt(
          element_place_, absl::StrCat("expected ", nodes_, " nodes of an element of type ", type_,
                                       ", found ", element_.size() - 1));
    }
    std::array<int, 8> corners{};
    const int count = CountCorners(shape_);
    for (int i = 0; i < count; ++i) {
      const auto node = numbers_.find(element_[i + 1]);
      if (node == numbers_.end()) {
        return cursor_.FailAt(element_place_,
                              absl::StrCat("expected the number of a node, found ", element_[i + 1],
                                           ", which no node before it has"));
      }
      corners[i] = node->second;
    }
    cells_.Add(shape_, corners, label_, nodes_ == count);
    element_.clear();
  }

  MeshCursor cursor_;
  std::string name_;
  std::size_t size_;
  VolumeMeshFile file_;
  VolumeCells cells_;
  Section section_ = Section::kNone;
  std::string part_;
  std::string type_;  // of the elements
  CellShape shape_ = CellShape::kOther;
  int nodes_ = 0;
  int label_ = 0;
  std::map<std::string, int> sets_;  // labels by name
  std::unordered_map<std::int64_t, int> numbers_;
  std::vector<std::int64_t> element_;
  std::size_t element_place_ = 0;
};

}  // namespace

bool IsAbaqus(std::string_view bytes) {
  // comments before the first keyword
  MeshCursor cursor(bytes.substr(0, 4096), "");
  while (cursor.PeekWord().starts_with("**")) cursor.Line();
  const std::string_view word = cursor.PeekWord();
  return word.size() > 1 && word[0] == '*' && absl::ascii_isalpha(word[1]);
}

absl::StatusOr<VolumeMeshFile> ReadAbaqus(std::string_view bytes, const std::string& name) {
  return AbaqusReader(bytes, name).Read();
}

}  // namespace pliant::physics
