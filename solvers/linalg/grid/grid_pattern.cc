#include "solvers/linalg/grid/grid_pattern.h"

#include <algorithm>

namespace pliant::solvers {
namespace {

// Index among the lines of a column that starts on line p of a cell, of the cell's line q ≥ p.
constexpr int LineBetween(int p, int q) {
  return 5 * (q / 3 - p / 3) + q % 3 - p % 3;
}

// Finds the points and their neighbours one and two steps further along an axis. A shift keeps the
// points in order, so this is a merge.
void Dilate(std::span<const GridPoint> points, int axis, std::vector<GridPoint>* dilated) {
  std::array<std::size_t, 3> at{};  // the next point to be shifted by 0, 1 and 2
  const auto shifted = [&](int k) {
    GridPoint point = points[at[k]];
    point[axis] += k;
    return point;
  };
  dilated->clear();
  // points that are shifted furthest come last
  while (at[2] < points.size()) {
    GridPoint next = shifted(2);
    for (int k = 0; k < 2; ++k)
      if (at[k] < points.size()) next = std::min(next, shifted(k));
    for (int k = 0; k < 3; ++k)
      if (at[k] < points.size() && shifted(k) == next) ++at[k];
    dilated->push_back(next);
  }
}

}  // namespace

bool GridPattern::Update(std::span<const GridPoint> cells) {
  if (std::ranges::equal(cells, cells_) && !pattern_.column_starts.empty()) return false;
  cells_.assign(cells.begin(), cells.end());
  FindNodes();
  FindCellLines();
  FindColumnLines();
  FillPattern();
  return true;
}

void GridPattern::FindNodes() {
  nodes_.assign(cells_.begin(), cells_.end());
  for (const int axis : {2, 1, 0}) {
    Dilate(nodes_, axis, &dilated_);
    nodes_.swap(dilated_);
  }
}

// The cells ascend, and so do the first nodes of their lines.
void GridPattern::FindCellLines() {
  cell_lines_.resize(cells_.size());
  for (int line = 0; line < kCellLines; ++line) {
    int node = 0;
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      const GridPoint first{cells_[c][0] + line / 3, cells_[c][1] + line % 3, cells_[c][2]};
      while (nodes_[node] != first) ++node;
      cell_lines_[c][line] = node;
    }
  }
}

void GridPattern::FindColumnLines() {
  std::array<ColumnLine, kColumnLines> none;
  none.fill({-1, 0, 0, 0});
  column_lines_.assign(nodes_.size(), none);
  for (const std::array<int, kCellLines>& lines : cell_lines_) {
    for (int p = 0; p < kCellLines; ++p) {
      for (int q = p; q < kCellLines; ++q) {
        for (int z = 0; z < 3; ++z) {
          ColumnLine& line = column_lines_[lines[p] + z][LineBetween(p, q)];
          line.node = lines[q] + z;
          line.last = std::max<std::int8_t>(line.last, static_cast<std::int8_t>(2 - z));
          // on its own line, a column begins with the diagonal
          if (p < q) line.first = std::min<std::int8_t>(line.first, static_cast<std::int8_t>(-z));
        }
      }
    }
  }
}

void GridPattern::FillPattern() {
  pattern_.num_nodes = static_cast<int>(nodes_.size());
  pattern_.column_starts.resize(nodes_.size() + 1);
  int count = 0;
  for (std::size_t j = 0; j < nodes_.size(); ++j) {
    pattern_.column_starts[j] = count;
    for (ColumnLine& line : column_lines_[j]) {
      if (line.node < 0) continue;
      line.block = count - line.first;
      count += line.last - line.first + 1;
    }
  }
  pattern_.column_starts.back() = count;
  pattern_.rows.resize(count);
  int* row = pattern_.rows.data();
  for (const auto& lines : column_lines_) {
    for (const ColumnLine& line : lines) {
      if (line.node < 0) continue;
      for (int z = line.first; z <= line.last; ++z) *row++ = line.node + z;
    }
  }
}

std::array<int, GridPattern::kCellNodes> GridPattern::FindNodesFrom(const GridPoint& base) const {
  std::array<int, kCellNodes> nodes;
  auto next = nodes_.begin();
  for (int a = 0; a < kCellNodes; ++a) {
    const GridPoint point{base[0] + a / 9, base[1] + a / 3 % 3, base[2] + a % 3};
    // the points of a line along z are neighbours in the list too
    if (a % 3 == 0) next = std::lower_bound(next, nodes_.end(), point);
    const bool is_found = next != nodes_.end() && *next == point;
    nodes[a] = is_found ? static_cast<int>(next - nodes_.begin()) : -1;
    if (is_found) ++next;
  }
  return nodes;
}

std::array<int, GridPattern::kCellNodes> GridPattern::NodesOf(int cell) const {
  std::array<int, kCellNodes> nodes;
  for (int a = 0; a < kCellNodes; ++a) nodes[a] = cell_lines_[cell][a / 3] + a % 3;
  return nodes;
}

void GridPattern::FindBlocks(int cell, std::span<int, kCellBlocks> blocks) const {
  const std::array<int, kCellLines>& lines = cell_lines_[cell];
  int* block = blocks.data();
  for (int p = 0; p < kCellLines; ++p) {
    for (int z = 0; z < 3; ++z) {
      const std::array<ColumnLine, kColumnLines>& column = column_lines_[lines[p] + z];
      for (int k = 0; k < 3 - z; ++k) *block++ = column[0].block + k;
      for (int q = p + 1; q < kCellLines; ++q) {
        const int first = column[LineBetween(p, q)].block - z;
        for (int k = 0; k < 3; ++k) *block++ = first + k;
      }
    }
  }
}

}  // namespace pliant::solvers
