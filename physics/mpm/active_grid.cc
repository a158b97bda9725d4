#include "physics/mpm/active_grid.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

// Maximum cell index along each axis, in either direction.
constexpr int kRange = 1 << 20;
constexpr int kBits = 21;

std::uint64_t Pack(const GridIndex& index) {
  std::uint64_t key = 0;
  for (int r = 0; r < 3; ++r) key = key << kBits | static_cast<std::uint64_t>(index[r] + kRange);
  return key;
}

GridIndex Unpack(std::uint64_t key) {
  GridIndex index;
  for (int r = 2; r >= 0; --r, key >>= kBits)
    index[r] = static_cast<int>(key & ((std::uint64_t{1} << kBits) - 1)) - kRange;
  return index;
}

}  // namespace

absl::Status ActiveGrid::Build(std::span<const double> positions, std::span<const char> is_active,
                               double cell_size, int max_nodes) {
  placed_.clear();
  const double limit = cell_size * (kRange - 4);
  for (std::size_t i = 0; i < is_active.size(); ++i) {
    if (!is_active[i]) continue;
    const Eigen::Vector3d x(positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]);
    // also catches positions that are not finite
    if (!(x.cwiseAbs().maxCoeff() < limit)) {
      return absl::InternalError(absl::StrCat("its point ", i, " is at ", x[0], ", ", x[1], ", ",
                                              x[2], ", beyond the grid, which reaches ", limit,
                                              " m from the origin"));
    }
    placed_.push_back({Pack(FindCell(x, cell_size)), static_cast<int>(i)});
  }
  std::sort(placed_.begin(), placed_.end());

  points_.clear();
  cells_.clear();
  cell_indices_.clear();
  std::uint64_t last = 0;
  for (const Placed& placed : placed_) {
    if (cells_.empty() || placed.key != last) {
      last = placed.key;
      cell_indices_.push_back(Unpack(placed.key));
      cells_.push_back({cell_indices_.back(), static_cast<int>(points_.size()), 0, {}});
    }
    points_.push_back(placed.point);
    ++cells_.back().count;
  }

  // the lowest nodes of the cells differ, so there are at least as many nodes as cells
  if (cells_.size() <= static_cast<std::size_t>(max_nodes))
    is_unchanged_ = !pattern_.Update(cell_indices_);
  const std::size_t need = std::max<std::size_t>(cells_.size(), pattern_.nodes().size());
  if (need > static_cast<std::size_t>(max_nodes)) {
    return absl::InternalError(absl::StrCat("its grid needs ", need,
                                            " nodes or more; max_nodes is ", max_nodes,
                                            "; raise it, or `cell_size`, or set `bounds`"));
  }
  for (std::size_t c = 0; c < cells_.size(); ++c)
    cells_[c].nodes = pattern_.NodesOf(static_cast<int>(c));
  return absl::OkStatus();
}

}  // namespace pliant::physics
