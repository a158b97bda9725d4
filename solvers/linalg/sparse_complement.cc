#include "solvers/linalg/sparse_complement.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace pliant::solvers {
namespace {

// Numbers per strip: 128 kB.
constexpr int kStripNumbers = 16'384;

}  // namespace

void SparseComplement::LayOut(const BlockPattern& A, const SupernodeLayout& layout) {
  FindPattern(A, layout);
  FindOrder(layout);
  matrix_.values.resize(9 * pattern_.rows.size());
}

void SparseComplement::FindPattern(const BlockPattern& A, const SupernodeLayout& layout) {
  const std::vector<int>& participants = layout.participants();
  const int n = static_cast<int>(participants.size());
  const std::size_t words = static_cast<std::size_t>(n) / 64 + 1;
  index_.assign(A.num_nodes, -1);
  for (int i = 0; i < n; ++i) index_[participants[i]] = i;
  const auto bit = [](int i) { return std::uint64_t{1} << (i % 64); };

  // one row of bits per column
  bits_.assign(n * words, 0);
  for (int j = 0; j < n; ++j) {
    const int node = participants[j];
    for (int k = A.column_starts[node]; k < A.column_starts[node + 1]; ++k) {
      const int i = index_[A.rows[k]];
      if (i >= 0) bits_[j * words + i / 64] |= bit(i);
    }
  }
  for (int c = 0; c < layout.num_cliques(); ++c) {
    const std::span<const int> clique = layout.clique(c);
    if (clique.empty()) continue;
    const int first = clique.front() / 64, end = clique.back() / 64 + 1;
    clique_.assign(words, 0);
    for (const int i : clique) clique_[i / 64] |= bit(i);
    for (const int j : clique)
      for (int w = first; w < end; ++w) bits_[j * words + w] |= clique_[w];
  }

  pattern_.num_nodes = n;
  pattern_.column_starts.assign(1, 0);
  pattern_.rows.clear();
  for (int j = 0; j < n; ++j) {
    for (std::size_t w = j / 64; w < words; ++w) {
      std::uint64_t rest = bits_[j * words + w];
      // only the lower triangle is stored
      if (w == static_cast<std::size_t>(j) / 64) rest &= ~(bit(j) - 1);
      for (; rest != 0; rest &= rest - 1)
        pattern_.rows.push_back(static_cast<int>(64 * w) + std::countr_zero(rest));
    }
    pattern_.column_starts.push_back(static_cast<int>(pattern_.rows.size()));
  }

  source_.assign(pattern_.rows.size(), -1);
  for (int j = 0; j < n; ++j) {
    const int node = participants[j];
    int to = pattern_.column_starts[j];
    for (int k = A.column_starts[node]; k < A.column_starts[node + 1]; ++k) {
      const int i = index_[A.rows[k]];
      if (i < 0) continue;
      while (pattern_.rows[to] != i) ++to;
      source_[to] = k;
    }
  }
}

void SparseComplement::FindOrder(const SupernodeLayout& layout) {
  const int n = pattern_.num_nodes;
  is_last_.assign(n, 0);
  if (!layout.ends_before_participants()) {
    for (int c = 0; c < layout.num_cliques(); ++c)
      for (const int i : layout.clique(c)) is_last_[i] = 1;
  }
  order_.resize(n);
  for (int i = 0; i < n; ++i) order_[i] = i;
  std::sort(order_.begin(), order_.end(), [&](int i, int j) {
    if (is_last_[i] != is_last_[j]) return is_last_[i] < is_last_[j];
    return layout.rank(layout.participants()[i]) < layout.rank(layout.participants()[j]);
  });
}

void SparseComplement::Place(const SupernodeLayout& layout, const SupernodeLayout& factor) {
  factor_ = &factor;
  FindHome(layout);
  CutStrips();
  PlaceCliques(layout);
}

void SparseComplement::FindPositions(std::span<const int> clique) {
  positions_.clear();
  for (const int i : clique) positions_.push_back(factor_->position(i));
  std::ranges::sort(positions_);
}

// Finds the largest clique that covers the whole remainder of a panel.
void SparseComplement::FindHome(const SupernodeLayout& layout) {
  home_ = {};
  home_begin_ = pattern_.num_nodes;
  std::size_t most = 0;
  for (int c = 0; c < layout.num_cliques(); ++c) {
    if (layout.clique(c).size() <= most) continue;
    FindPositions(layout.clique(c));
    const int begin = positions_.front(), end = positions_.back() + 1;
    const auto panels = factor_->supernodes();
    const auto& node =
        *std::prev(std::ranges::upper_bound(panels, begin, {}, &SupernodeLayout::Supernode::first));
    const bool is_rest = end == node.first + node.columns && node.num_rows == 0 &&
                         end - begin == static_cast<int>(positions_.size());
    if (!is_rest) continue;
    most = positions_.size();
    home_begin_ = begin;
    home_ = {c, node.panel + 3 * std::size_t(begin - node.first) * (node.height() + 1),
             node.height()};
  }
}

void SparseComplement::CutStrips() {
  strips_.clear();
  first_strip_.clear();
  blocks_.clear();
  sources_.clear();
  strip_of_.resize(pattern_.num_nodes);
  const auto begin_strip = [this](int panel, int begin, int end, bool is_home) {
    strips_.push_back({panel, begin, end, is_home, static_cast<int>(blocks_.size()),
                       static_cast<int>(sources_.size()), 0});
  };
  const int count = static_cast<int>(factor_->supernodes().size());
  for (int k = 0; k < count; ++k) {
    const SupernodeLayout::Supernode& node = factor_->supernodes()[k];
    const int width = std::max(1, kStripNumbers / (3 * node.height()));
    first_strip_.push_back(static_cast<int>(strips_.size()));
    // blocks are sorted by column
    auto block = factor_->blocks(node).begin();
    const int home = home_begin_ - node.first;
    for (int begin = 0, end; begin < node.columns; begin = end) {
      end = std::min(begin + width, node.columns);
      if (begin < home) end = std::min(end, home);
      std::fill_n(strip_of_.begin() + node.first + begin, end - begin,
                  static_cast<int>(strips_.size()));
      begin_strip(k, begin, end, home >= 0 && begin >= home);
      const std::size_t beyond = node.panel + 3 * std::size_t(end) * node.height();
      for (; block != factor_->blocks(node).end() && block->offset < beyond; ++block) {
        blocks_.push_back(*block);
        if (source_[block->block] >= 0)
          sources_.push_back({source_[block->block], block->transposed, block->offset});
      }
    }
  }
  first_strip_.push_back(static_cast<int>(strips_.size()));
  begin_strip(count, 0, 0, false);
}

void SparseComplement::PlaceCliques(const SupernodeLayout& layout) {
  pieces_.clear();
  places_.clear();
  run_end_.clear();
  for (int c = 0; c < layout.num_cliques(); ++c) {
    if (c == home_.clique) continue;
    FindPositions(layout.clique(c));
    const int n = static_cast<int>(positions_.size());
    for (int begin = 0, end; begin < n; begin = end) {
      const int strip = strip_of_[positions_[begin]];
      end = begin + 1;
      while (end < n && strip_of_[positions_[end]] == strip) ++end;
      AddPiece(strip, c, begin, end);
    }
  }
  // keep the order within a strip; std::stable_sort would allocate
  std::ranges::sort(pieces_, {}, [](const Piece& piece) {
    return std::tuple(piece.strip, piece.clique, piece.begin);
  });
  std::size_t piece = 0;
  for (int k = 0; k <= num_strips(); ++k) {
    while (piece < pieces_.size() && pieces_[piece].strip < k) ++piece;
    strips_[k].first_piece = static_cast<int>(piece);
  }
}

// Adds a piece of the clique whose positions in the factor are positions_.
void SparseComplement::AddPiece(int strip, int clique, int begin, int end) {
  const SupernodeLayout::Supernode& node = factor_->supernodes()[strips_[strip].panel];
  const std::span<const int> rows = factor_->rows(node);
  const int n = static_cast<int>(positions_.size());
  const int first = static_cast<int>(places_.size());
  pieces_.push_back({strip, clique, begin, end, n, first});
  for (int a = begin, r = 0; a < n; ++a) {
    if (positions_[a] < node.first + node.columns) {
      places_.push_back(positions_[a] - node.first);
      continue;
    }
    while (rows[r] != positions_[a]) ++r;
    places_.push_back(node.columns + r);
  }
  run_end_.resize(places_.size());
  FindRuns(std::span(places_).subspan(first), std::span(run_end_).subspan(first));
}

double SparseComplement::CalcFill() const {
  const double n = pattern_.num_nodes;
  return 2 * static_cast<double>(pattern_.rows.size()) / (n * (n + 1));
}

void SparseComplement::Assemble(int k, const BlockMatrix& A, std::span<const UpdateMatrix> updates,
                                double* panels) {
  const Strip &strip = strips_[k], &next = strips_[k + 1];
  const SupernodeLayout::Supernode& node = factor_->supernodes()[strip.panel];
  const auto part = [](const auto& all, int begin, int end) {
    return std::span(all).subspan(begin, end - begin);
  };
  const auto sources = part(sources_, strip.first_source, next.first_source);
  if (strip.is_home) {
    AddBlocks(node, sources, A, panels);
  } else {
    FillColumns(node, strip.begin, strip.end, sources, A, panels);
  }
  for (const Piece& piece : part(pieces_, strip.first_piece, next.first_piece)) {
    const int m = piece.num_rows - piece.begin;
    const PanelRows rows{part(places_, piece.first_row, piece.first_row + m),
                         part(run_end_, piece.first_row, piece.first_row + m)};
    ExtendAdd(rows, updates[piece.clique].From(piece.begin), 0, piece.end - piece.begin, 0,
              {panels + node.panel, std::size_t(node.height())});
  }
  ReadBlocks(node, part(blocks_, strip.first_block, next.first_block), panels, &matrix_);
  // the sums are in the lower triangle: mirror it within the diagonal blocks
  for (int j = node.first + strip.begin; j < node.first + strip.end; ++j) {
    double* block = &matrix_.values[9 * std::size_t(pattern_.column_starts[factor_->node(j)])];
    for (int c = 0; c < 3; ++c)
      for (int r = c + 1; r < 3; ++r) block[3 * r + c] = block[3 * c + r];
  }
}

}  // namespace pliant::solvers
