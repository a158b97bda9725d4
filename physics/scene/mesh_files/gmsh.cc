#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "physics/scene/mesh_files/mesh_cursor.h"
#include "physics/scene/mesh_files/volume_cells.h"
#include "physics/scene/mesh_files/volume_mesh_formats.h"

namespace pliant::physics {
namespace {

// nodes of each element type of the MSH format, 0 for unused types
constexpr int kNodes[] = {0, 2,  3,  4,  4, 8,  6,  5,  3,  6,  9, 10, 27, 18, 14, 1,
                          8, 20, 15, 13, 9, 10, 12, 15, 15, 21, 4, 5,  6,  20, 35, 56};

int CountNodes(std::int64_t type) {
  if (type == 92) return 64;
  if (type == 93) return 125;
  return type >= 0 && type < static_cast<std::int64_t>(std::size(kNodes)) ? kNodes[type] : 0;
}

CellShape ShapeOf(std::int64_t type) {
  switch (type) {
    case 4:
    case 11:
    case 29:
    case 30:
    case 31:
      return CellShape::kTetrahedron;
    case 5:
    case 12:
    case 17:
    case 92:
    case 93:
      return CellShape::kHexahedron;
    case 6:
    case 13:
    case 18:
      return CellShape::kPrism;
    case 7:
    case 14:
    case 19:
      return CellShape::kPyramid;
    default:
      return CellShape::kOther;
  }
}

class GmshReader {
 public:
  GmshReader(std::string_view bytes, const std::string& name) : cursor_(bytes, name), name_(name) {}

  absl::StatusOr<VolumeMeshFile> Read() {
    while (cursor_.ok() && !cursor_.PeekWord().empty()) ReadSection();
    if (cursor_.ok()) Assemble();
    if (!cursor_.ok()) return cursor_.status();
    return std::move(file_);
  }

 private:
  struct Node {
    std::int64_t tag;
    int number;
  };
  struct Element {
    CellShape shape;
    std::array<std::int64_t, 8> tags;
    bool straight;
    std::int64_t label;
    std::size_t place;
  };

  void ReadSection() {
    const std::string section(cursor_.Word());
    if (section.size() < 2 || section[0] != '$' || section.rfind("$End", 0) == 0) {
      return cursor_.FailExpected("a section such as $Nodes", section);
    }
    const bool known = section == "$Nodes" || section == "$Elements" || section == "$Entities";
    if (known && version_ == 0)
      return cursor_.Fail("expected $MeshFormat first, found " + Quote(section));
    if (section == "$MeshFormat") {
      ReadFormat();
    } else if (section == "$NOD" || section == "$ELM") {
      version_ = 1;
      section == "$NOD" ? ReadNodeList() : ReadElementList();
    } else if (section == "$Nodes") {
      NewLine();
      version_ == 4 ? ReadNodeBlocks() : ReadNodeList();
    } else if (section == "$Elements") {
      NewLine();
      version_ == 4      ? ReadElementBlocks()
      : cursor_.binary() ? ReadBinaryElements()
                         : ReadElementList();
    } else if (section == "$Entities" && version_ == 4) {
      NewLine();
      ReadEntities();
    } else {
      // physical names, periodicity, data and comments do not affect the tetrahedra
      return cursor_.SkipPast("$End" + section.substr(1));
    }
    cursor_.Expect(version_ == 1 ? "$END" + section.substr(1) : "$End" + section.substr(1));
  }

  void NewLine() {
    if (cursor_.ok()) cursor_.Line();
  }

  void ReadFormat() {
    const double version = cursor_.TextReal("the version of the format");
    const std::int64_t binary = cursor_.TextInteger("the file type, 0 or 1");
    const std::int64_t size = cursor_.TextInteger("the size of a number");
    if (!cursor_.ok()) return;
    if (version >= 2 && version < 3) {
      version_ = 2;
    } else if (version == 4.1) {
      version_ = 4;
    } else {
      return cursor_.Fail(absl::StrCat(
          "MSH format ", version,
          " is not read; expected 2.2 or 4.1. Save it again with `gmsh -save -format msh41`"));
    }
    if (binary != 0 && binary != 1)
      return cursor_.Fail(absl::StrCat("expected file type 0 or 1, found ", binary));
    if (size != 8) return cursor_.Fail(absl::StrCat("expected numbers of 8 bytes, found ", size));
    if (binary == 0) return;

    // the integer 1 shows the byte order
    NewLine();
    cursor_.SetBinary(false);
    const std::int64_t one = cursor_.Integer(4, "the number one");
    if (one == 1 << 24) {
      cursor_.SetBinary(true);
    } else if (cursor_.ok() && one != 1) {
      cursor_.Fail(absl::StrCat("expected the number one to show the byte order, found ", one));
    }
  }

  // Versions 1 and 2: "count", then "tag x y z".
  void ReadNodeList() {
    const std::int64_t count = cursor_.TextInteger("the number of nodes");
    if (cursor_.binary()) NewLine();
    cursor_.CheckCount(count, 28, "nodes");
    for (std::int64_t i = 0; i < count && cursor_.ok(); ++i) {
      const std::int64_t tag = cursor_.Integer(4, "a node number");
      AddNode(tag);
    }
  }

  void AddNode(std::int64_t tag) {
    const double x = cursor_.Coordinate(8);
    const double y = cursor_.Coordinate(8);
    const double z = cursor_.Coordinate(8);
    if (!cursor_.ok()) return;
    nodes_.push_back({tag, static_cast<int>(file_.mesh.vertices.size())});
    file_.mesh.vertices.emplace_back(x, y, z);
  }

  // Versions 1 and 2 as text: "number type …".
  void ReadElementList() {
    const std::int64_t count = cursor_.TextInteger("the number of elements");
    cursor_.CheckCount(count, 1, "elements");
    for (std::int64_t i = 0; i < count && cursor_.ok(); ++i) {
      cursor_.TextInteger("an element number");
      const std::int64_t type = cursor_.TextInteger("an element type");
      const int nodes = CheckType(type);
      std::int64_t label = 0;
      if (version_ == 1) {
        label = ReadLabel(2);
        const std::int64_t given = cursor_.TextInteger("the number of nodes");
        if (cursor_.ok() && given != nodes) {
          cursor_.Fail(absl::StrCat("expected ", nodes, " nodes of an element of type ", type,
                                    ", found ", given));
        }
      } else {
        const std::int64_t tags = cursor_.TextInteger("the number of tags");
        if (cursor_.ok() && tags < 0)
          cursor_.Fail(absl::StrCat("expected a number of tags, found ", tags));
        label = ReadLabel(tags);
      }
      AddElement(4, type, nodes, label);
    }
  }

  // Version 2 in binary: blocks of one type.
  void ReadBinaryElements() {
    const std::int64_t count = cursor_.TextInteger("the number of elements");
    NewLine();
    cursor_.CheckCount(count, 8, "elements");
    for (std::int64_t read = 0; read < count && cursor_.ok();) {
      const std::int64_t type = cursor_.Integer(4, "an element type");
      const std::int64_t block = cursor_.Integer(4, "the number of elements of a block");
      const std::int64_t tags = cursor_.Integer(4, "the number of tags");
      const int nodes = CheckType(type);
      if (cursor_.ok() && (block < 1 || block > count - read || tags < 0 || tags > 1024)) {
        cursor_.Fail(absl::StrCat("expected a block of 1 to ", count - read,
                                  " elements with few tags, found ", block, " elements with ", tags,
                                  " tags"));
      }
      for (std::int64_t i = 0; i < block && cursor_.ok(); ++i) {
        cursor_.Integer(4, "an element number");
        AddElement(4, type, nodes, ReadLabel(tags));
      }
      read += block;
    }
  }

  // Returns the physical group named by an element's first tag; if that is 0, the elementary entity
  // named by the second.
  std::int64_t ReadLabel(std::int64_t tags) {
    std::int64_t physical = 0, elementary = 0;
    for (std::int64_t j = 0; j < tags && cursor_.ok(); ++j) {
      const std::int64_t tag = cursor_.Integer(4, "a tag");
      if (j == 0) physical = tag;
      if (j == 1) elementary = tag;
    }
    return physical != 0 ? physical : elementary;
  }

  int CheckType(std::int64_t type) {
    const int nodes = CountNodes(type);
    if (cursor_.ok() && nodes == 0)
      cursor_.Fail(absl::StrCat("expected an element type, found ", type));
    return nodes;
  }

  // Reads the nodes of an element, integers of `size` bytes; the corners come first.
  void AddElement(int size, std::int64_t type, int nodes, std::int64_t label) {
    const CellShape shape = ShapeOf(type);
    const int corners = CountCorners(shape);
    Element element{shape, {}, nodes == corners, label, 0};
    for (int i = 0; i < nodes && cursor_.ok(); ++i) {
      const std::int64_t tag = cursor_.Integer(size, "a node of an element");
      if (i < corners) element.tags[i] = tag;
    }
    if (!cursor_.ok()) return;
    if (shape == CellShape::kOther) {
      cells_.AddOther(absl::StrCat(type));
      return;
    }
    element.place = cursor_.last_position();
    elements_.push_back(element);
  }

  // Version 4: nodes by entity, first their tags, then their coordinates.
  void ReadNodeBlocks() {
    const std::int64_t blocks = cursor_.Integer(8, "the number of node blocks");
    const std::int64_t count = cursor_.Integer(8, "the number of nodes");
    cursor_.Integer(8, "the smallest node tag");
    cursor_.Integer(8, "the largest node tag");
    cursor_.CheckCount(blocks, 20, "node blocks");
    cursor_.CheckCount(count, 32, "nodes");
    std::vector<std::int64_t> tags;
    for (std::int64_t block = 0; block < blocks && cursor_.ok(); ++block) {
      const std::int64_t dimension = cursor_.Integer(4, "the dimension of an entity");
      cursor_.Integer(4, "the tag of an entity");
      const std::int64_t parametric = cursor_.Integer(4, "0 or 1");
      const std::int64_t size = cursor_.Integer(8, "the number of nodes of a block");
      if (cursor_.ok() && (dimension < 0 || dimension > 3 || parametric < 0 || parametric > 1)) {
        cursor_.Fail(absl::StrCat("expected a dimension from 0 to 3 and a flag, found ", dimension,
                                  " and ", parametric));
      }
      const std::int64_t left = count - static_cast<std::int64_t>(nodes_.size());
      if (cursor_.ok() && (size < 0 || size > left)) {
        cursor_.Fail(absl::StrCat("expected a block of at most ", left, " nodes, found ", size));
      }
      tags.clear();
      for (std::int64_t i = 0; i < size && cursor_.ok(); ++i)
        tags.push_back(cursor_.Integer(8, "a node tag"));
      for (std::int64_t i = 0; i < size && cursor_.ok(); ++i) {
        AddNode(tags[i]);
        for (std::int64_t j = 0; j < parametric * dimension && cursor_.ok(); ++j)
          cursor_.Real(8, "a parameter of a node");
      }
    }
    if (cursor_.ok() && static_cast<std::int64_t>(nodes_.size()) != count) {
      cursor_.Fail(absl::StrCat("expected ", count, " nodes in the blocks, found ", nodes_.size()));
    }
  }

  void ReadElementBlocks() {
    const std::int64_t blocks = cursor_.Integer(8, "the number of element blocks");
    const std::int64_t count = cursor_.Integer(8, "the number of elements");
    cursor_.Integer(8, "the smallest element tag");
    cursor_.Integer(8, "the largest element tag");
    cursor_.CheckCount(blocks, 20, "element blocks");
    cursor_.CheckCount(count, 16, "elements");
    std::int64_t read = 0;
    for (std::int64_t block = 0; block < blocks && cursor_.ok(); ++block) {
      const std::int64_t dimension = cursor_.Integer(4, "the dimension of an entity");
      const std::int64_t entity = cursor_.Integer(4, "the tag of an entity");
      const std::int64_t type = cursor_.Integer(4, "an element type");
      const std::int64_t size = cursor_.Integer(8, "the number of elements of a block");
      const int nodes = CheckType(type);
      if (cursor_.ok() && (size < 0 || size > count - read)) {
        cursor_.Fail(
            absl::StrCat("expected a block of at most ", count - read, " elements, found ", size));
      }
      const auto physical = physical_of_volume_.find(entity);
      const bool named = dimension == 3 && physical != physical_of_volume_.end();
      for (std::int64_t i = 0; i < size && cursor_.ok(); ++i) {
        cursor_.Integer(8, "an element tag");
        AddElement(8, type, nodes, named ? physical->second : entity);
      }
      read += size;
    }
    if (cursor_.ok() && read != count) {
      cursor_.Fail(absl::StrCat("expected ", count, " elements in the blocks, found ", read));
    }
  }

  // Version 4: physical group of each volume.
  void ReadEntities() {
    std::int64_t counts[4];
    for (std::int64_t& count : counts) count = cursor_.Integer(8, "the number of entities");
    for (int dimension = 0; dimension < 4; ++dimension) {
      cursor_.CheckCount(counts[dimension], 36, "entities");
      for (std::int64_t i = 0; i < counts[dimension] && cursor_.ok(); ++i) {
        const std::int64_t tag = cursor_.Integer(4, "the tag of an entity");
        for (int j = 0; j < (dimension == 0 ? 3 : 6); ++j) cursor_.Real(8, "a bound of an entity");
        const std::int64_t groups = cursor_.Integer(8, "the number of physical tags");
        cursor_.CheckCount(groups, 4, "physical tags");
        for (std::int64_t j = 0; j < groups && cursor_.ok(); ++j) {
          const std::int64_t group = cursor_.Integer(4, "a physical tag");
          if (dimension == 3 && group != 0) physical_of_volume_.emplace(tag, group);
        }
        if (dimension > 0) {
          cursor_.Skip(cursor_.Integer(8, "the number of bounding entities"), 4,
                       "bounding entities");
        }
      }
    }
  }

  void Assemble() {
    if (elements_.empty()) {
      const std::string others = cells_.DescribeOthers();
      return cursor_.Fail(absl::StrCat(
          "expected tetrahedra (element type 4) or other solid elements, found ", others,
          others == "none" ? "" : ". Mesh the volume, not its surface alone (`gmsh -3`)"));
    }
    std::stable_sort(nodes_.begin(), nodes_.end(),
                     [](const Node& a, const Node& b) { return a.tag < b.tag; });
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      if (nodes_[i].tag == nodes_[i - 1].tag)
        return cursor_.Fail(absl::StrCat("node ", nodes_[i].tag, " is given twice"));
    }
    for (const Element& element : elements_) {
      std::array<int, 8> corners{};
      for (int i = 0; i < CountCorners(element.shape); ++i) {
        const std::int64_t tag = element.tags[i];
        const auto node = std::lower_bound(nodes_.begin(), nodes_.end(), tag,
                                           [](const Node& a, std::int64_t b) { return a.tag < b; });
        if (node == nodes_.end() || node->tag != tag) {
          return cursor_.FailAt(element.place, absl::StrCat("expected the number of a node, found ",
                                                            tag, ", which no node has"));
        }
        corners[i] = node->number;
      }
      const bool fits = element.label >= std::numeric_limits<int>::min() &&
                        element.label <= std::numeric_limits<int>::max();
      cells_.Add(element.shape, corners, fits ? static_cast<int>(element.label) : 0,
                 element.straight);
    }
    cells_.Assemble(name_, &file_);
  }

  MeshCursor cursor_;
  std::string name_;
  VolumeMeshFile file_;
  int version_ = 0;  // 0 until the format is known
  std::vector<Node> nodes_;
  std::vector<Element> elements_;
  std::map<std::int64_t, std::int64_t> physical_of_volume_;
  VolumeCells cells_;
};

}  // namespace

bool IsGmsh(std::string_view bytes) {
  const std::string_view word = MeshCursor(bytes, "").PeekWord();
  return word == "$MeshFormat" || word == "$NOD" || word == "$Comments" || word == "$PhysicalNames";
}

absl::StatusOr<VolumeMeshFile> ReadGmsh(std::string_view bytes, const std::string& name) {
  return GmshReader(bytes, name).Read();
}

}  // namespace pliant::physics
