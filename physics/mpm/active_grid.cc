#include "physics/mpm/active_grid.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

// Cells along each axis in either direction.
constexpr int kRange = 1 << 20;
constexpr int kBits = 21;

}  // namespace

ActiveGrid::Key ActiveGrid::Pack(const GridIndex& index) {
  Key key = 0;
  for (int r = 0; r < 3; ++r) key = key << kBits | static_cast<Key>(index[r] + kRange);
  return key;
}

GridIndex ActiveGrid::Unpack(Key key) {
  GridIndex index;
  for (int r = 2; r >= 0; --r, key >>= kBits)
    index[r] = static_cast<int>(key & ((Key{1} << kBits) - 1)) - kRange;
  return index;
}

absl::Status ActiveGrid::Build(std::span<const double> positions, std::span<const char> is_active,
                               double cell_size, int max_nodes) {
  placed_.clear();
  const double limit = cell_size * (kRange - 4);
  for (std::size_t i = 0; i < is_active.size(); ++i) {
    if (!is_active[i]) continue;
    const Eigen::Vector3d x(positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]);
    // also catches positions that are not finite
    if (!(x.cwiseAbs().maxCoeff() < limit)) {
      return absl::InternalError(absl::StrCat("particle ", i, " is at ", x[0], ", ", x[1], ", ",
                                              x[2], ", beyond the range of the grid of ", limit,
                                              " m"));
    }
    placed_.push_back({Pack(FindCell(x, cell_size)), static_cast<int>(i)});
  }
  std::sort(placed_.begin(), placed_.end());

  points_.clear();
  cells_.clear();
  last_cell_keys_.swap(cell_keys_);
  cell_keys_.clear();
  for (const Placed& placed : placed_) {
    if (cell_keys_.empty() || cell_keys_.back() != placed.key) {
      cell_keys_.push_back(placed.key);
      cells_.push_back({Unpack(placed.key), static_cast<int>(points_.size()), 0, {}});
    }
    points_.push_back(placed.point);
    ++cells_.back().count;
  }

  is_unchanged_ = cell_keys_ == last_cell_keys_ && !nodes_.empty();
  if (!is_unchanged_) {
    nodes_ = cell_keys_;
    for (const GridIndex& step : {GridIndex{0, 0, 1}, GridIndex{0, 1, 0}, GridIndex{1, 0, 0}})
      Dilate(Pack(step) - Pack({0, 0, 0}));
    if (nodes_.size() > static_cast<std::size_t>(max_nodes)) {
      const std::size_t need = nodes_.size();
      nodes_.clear();
      return absl::InternalError(
          absl::StrCat("its grid needs ", need, " nodes, max_nodes allows ", max_nodes));
    }
  }
  NumberNodesOfCells();
  return absl::OkStatus();
}

// Adds the nodes one and two steps further along an axis.
void ActiveGrid::Dilate(Key shift) {
  dilated_.clear();
  constexpr Key kEnd = std::numeric_limits<Key>::max();
  std::size_t at[3] = {};
  for (;;) {
    Key next = kEnd;
    for (int k = 0; k < 3; ++k)
      if (at[k] < nodes_.size()) next = std::min(next, nodes_[at[k]] + k * shift);
    if (next == kEnd) break;
    dilated_.push_back(next);
    for (int k = 0; k < 3; ++k) at[k] += at[k] < nodes_.size() && nodes_[at[k]] + k * shift == next;
  }
  nodes_.swap(dilated_);
}

void ActiveGrid::NumberNodesOfCells() {
  // The nodes of a row along the last axis are consecutive. Each of the nine rows of a cell moves
  // on as its cell does.
  std::size_t at[9] = {};
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    for (int row = 0; row < 9; ++row) {
      const Key first = cell_keys_[c] + (Pack({row / 3, row % 3, 0}) - Pack({0, 0, 0}));
      while (nodes_[at[row]] < first) ++at[row];
      for (int k = 0; k < 3; ++k) cells_[c].nodes[3 * row + k] = static_cast<int>(at[row]) + k;
    }
  }
}

int ActiveGrid::Find(const GridIndex& index) const {
  const Key key = Pack(index);
  const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), key);
  return found != nodes_.end() && *found == key ? static_cast<int>(found - nodes_.begin()) : -1;
}

}  // namespace pliant::physics
