#include "solvers/hessian/coupled_parts.h"

#include <algorithm>

namespace pliant::solvers {
namespace {

// Blocks up to this size gain nothing from splitting.
constexpr int kSmallBlock = 18;

}  // namespace

void CoupledParts::Find(const IslandView& island) {
  const std::size_t n = island.num_velocities;
  const int num_blocks = island.num_blocks();
  block_of_.assign(n, 0);
  part_of_.resize(n);
  row_of_.resize(n);
  bool any_large = false;
  for (int b = 0; b < num_blocks; ++b) {
    const int size = island.block(b).size;
    std::fill_n(block_of_.begin() + island.first_of_block(b), size, b);
    // a single block meets no others
    any_large = any_large || (size > kSmallBlock && num_blocks > 1);
  }
  if (any_large) FindMeetings(island);

  sizes_.clear();
  blocks_.clear();
  offsets_.clear();
  first_parts_.clear();
  runs_.clear();
  run_starts_.assign(1, 0);
  for (int b = 0; b < num_blocks; ++b) {
    const int first = island.first_of_block(b), size = island.block(b).size;
    first_parts_.push_back(static_cast<int>(sizes_.size()));
    if (any_large && size > kSmallBlock) {
      Split(first, size);
    } else {
      const Atom whole{first, size, 0, 0};
      AddPart({&whole, 1});
    }
  }
  first_parts_.push_back(static_cast<int>(sizes_.size()));
  Couple(island);
}

// Finds the velocities that must stay together, and the other blocks that they meet.
void CoupledParts::FindMeetings(const IslandView& island) {
  is_joined_.assign(island.num_velocities, 0);
  last_met_.assign(island.num_velocities, -1);
  meetings_.clear();
  island.ForEachConstraint([&](std::span<const IslandView::Entry> entries, int /*height*/) {
    for (const IslandView::Entry& entry : entries) {
      const int own = island.block_of(entry);
      if (island.block(own).size <= kSmallBlock) continue;
      island.ForEachRun(entry, [&](int first, int columns, const double* /*J*/) {
        std::fill_n(is_joined_.begin() + first + 1, columns - 1, 1);
        int last = own;
        for (const IslandView::Entry& other : entries) {
          const int block = island.block_of(other);
          // usually it is the same block again
          if (block != own && block != last && block != last_met_[first]) {
            meetings_.emplace_back(first, block);
            last_met_[first] = block;
          }
          last = block;
        }
      });
    }
  });
  std::sort(meetings_.begin(), meetings_.end());
  meetings_.erase(std::unique(meetings_.begin(), meetings_.end()), meetings_.end());
}

void CoupledParts::Split(int first, int size) {
  atoms_.clear();
  met_.clear();
  auto meeting = std::lower_bound(meetings_.begin(), meetings_.end(), std::pair(first, 0));
  for (int v = first; v < first + size;) {
    Atom atom{v, 1, static_cast<int>(met_.size()), 0};
    while (v + atom.size < first + size && is_joined_[v + atom.size]) ++atom.size;
    v += atom.size;
    for (; meeting != meetings_.end() && meeting->first < v; ++meeting)
      met_.push_back(meeting->second);
    // entries within an atom may meet the same block
    const auto begin = met_.begin() + atom.first_met;
    std::sort(begin, met_.end());
    met_.erase(std::unique(begin, met_.end()), met_.end());
    atom.num_met = static_cast<int>(met_.size()) - atom.first_met;
    atoms_.push_back(atom);
  }
  const auto met = [this](const Atom& atom) {
    return std::span(met_).subspan(atom.first_met, atom.num_met);
  };
  // sort by the blocks they meet, then by place, because std::stable_sort allocates
  std::sort(atoms_.begin(), atoms_.end(), [&](const Atom& a, const Atom& b) {
    const auto [at_a, at_b] = std::ranges::mismatch(met(a), met(b));
    if (at_b == met(b).end()) return at_a == met(a).end() && a.first < b.first;
    return at_a == met(a).end() || *at_a < *at_b;
  });
  for (std::size_t begin = 0; begin < atoms_.size();) {
    std::size_t end = begin + 1;
    while (end < atoms_.size() && std::ranges::equal(met(atoms_[begin]), met(atoms_[end]))) ++end;
    AddPart(std::span(atoms_).subspan(begin, end - begin));
    begin = end;
  }
}

void CoupledParts::AddPart(std::span<const Atom> atoms) {
  const int part = static_cast<int>(sizes_.size());
  int row = 0;
  for (const Atom& atom : atoms) {
    const bool goes_on =
        &atom != atoms.data() && runs_.back().first + runs_.back().size == atom.first;
    if (goes_on) {
      runs_.back().size += atom.size;
    } else {
      runs_.push_back({atom.first, atom.size, row});
    }
    for (int k = 0; k < atom.size; ++k) {
      part_of_[atom.first + k] = part;
      row_of_[atom.first + k] = row++;
    }
  }
  run_starts_.push_back(static_cast<int>(runs_.size()));
  const int block = block_of_[atoms[0].first];
  const bool is_first = blocks_.empty() || blocks_.back() != block;
  offsets_.push_back(is_first ? 0 : offsets_.back() + sizes_.back());
  blocks_.push_back(block);
  sizes_.push_back(row);
}

void CoupledParts::Couple(const IslandView& island) {
  couplings_.clear();
  for (int b = 0; b < island.num_blocks(); ++b) {
    for (int i = first_parts_[b]; i < first_parts_[b + 1]; ++i)
      for (int j = first_parts_[b]; j < i; ++j) couplings_.emplace_back(i, j);
  }
  const auto couple = [this](int velocity, int other) {
    const int i = part_of_[velocity], j = part_of_[other];
    const std::pair<int, int> pair(std::max(i, j), std::min(i, j));
    if (couplings_.empty() || couplings_.back() != pair) couplings_.push_back(pair);
  };
  island.ForEachConstraint([&](std::span<const IslandView::Entry> entries, int /*height*/) {
    for (std::size_t a = 1; a < entries.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (entries[a].block == entries[b].block) continue;
        island.ForEachRun(entries[a], [&](int first, int, const double*) {
          island.ForEachRun(entries[b],
                            [&](int other, int, const double*) { couple(first, other); });
        });
      }
    }
  });
}

void CoupledParts::Gather(const double* of_island, double* of_parts) const {
  for (const Run& run : runs_) of_parts = std::copy_n(of_island + run.first, run.size, of_parts);
}

void CoupledParts::Scatter(const double* of_parts, double* of_island) const {
  for (const Run& run : runs_) {
    std::copy_n(of_parts, run.size, of_island + run.first);
    of_parts += run.size;
  }
}

}  // namespace pliant::solvers
