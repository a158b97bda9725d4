#include "solvers/convex/coupled_parts.h"

#include <algorithm>

namespace pliant::solvers {
namespace {

// blocks up to this size gain nothing
constexpr int kSmallBlock = 18;

}  // namespace

template <typename Visit>
void CoupledParts::ForEachConstraint(const ConvexProblem& problem, const Visit& visit) {
  const auto entries = [&](const auto& of) {
    return std::span(problem.entries)
        .subspan(of.first_entry, static_cast<std::size_t>(of.num_entries));
  };
  for (const ConvexProblem::Contact& contact : problem.contacts) visit(entries(contact));
  for (const ConvexProblem::Row& row : problem.rows) visit(entries(row));
}

void CoupledParts::Find(const ConvexProblem& problem) {
  const std::size_t n = problem.size;
  block_of_.assign(n, 0);
  part_of_.resize(n);
  row_of_.resize(n);
  bool any_large = false;
  for (std::size_t b = 0; b < problem.blocks.size(); ++b) {
    const ConvexProblem::Block& block = problem.blocks[b];
    std::fill_n(block_of_.begin() + block.first, block.size, static_cast<int>(b));
    // one block alone meets none
    any_large = any_large || (block.size > kSmallBlock && problem.blocks.size() > 1);
  }
  if (any_large) FindMeetings(problem);

  sizes_.clear();
  blocks_.clear();
  offsets_.clear();
  first_parts_.clear();
  runs_.clear();
  run_starts_.assign(1, 0);
  for (const ConvexProblem::Block& block : problem.blocks) {
    first_parts_.push_back(static_cast<int>(sizes_.size()));
    if (any_large && block.size > kSmallBlock) {
      Split(block);
    } else {
      const Atom whole{block.first, block.size, 0, 0};
      AddPart({&whole, 1});
    }
  }
  first_parts_.push_back(static_cast<int>(sizes_.size()));
  Couple(problem);
}

// Which velocities cannot be parted, and which other blocks they meet
void CoupledParts::FindMeetings(const ConvexProblem& problem) {
  is_joined_.assign(problem.size, 0);
  last_met_.assign(problem.size, -1);
  meetings_.clear();
  ForEachConstraint(problem, [&](std::span<const ConvexProblem::Entry> entries) {
    for (const ConvexProblem::Entry& entry : entries) {
      const int own = block_of_[entry.first];
      if (problem.blocks[own].size <= kSmallBlock) continue;
      std::fill_n(is_joined_.begin() + entry.first + 1, entry.columns - 1, 1);
      int last = own;
      for (const ConvexProblem::Entry& other : entries) {
        const int block = block_of_[other.first];
        // mostly it is the same block again
        if (block != own && block != last && block != last_met_[entry.first]) {
          meetings_.emplace_back(entry.first, block);
          last_met_[entry.first] = block;
        }
        last = block;
      }
    }
  });
  std::sort(meetings_.begin(), meetings_.end());
  meetings_.erase(std::unique(meetings_.begin(), meetings_.end()), meetings_.end());
}

void CoupledParts::Split(const ConvexProblem::Block& block) {
  atoms_.clear();
  met_.clear();
  auto meeting = std::lower_bound(meetings_.begin(), meetings_.end(), std::pair(block.first, 0));
  for (int v = block.first; v < block.first + block.size;) {
    Atom atom{v, 1, static_cast<int>(met_.size()), 0};
    while (v + atom.size < block.first + block.size && is_joined_[v + atom.size]) ++atom.size;
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
  // by what they meet, then by where they are: std::stable_sort allocates
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

void CoupledParts::Couple(const ConvexProblem& problem) {
  couplings_.clear();
  for (std::size_t b = 0; b < problem.blocks.size(); ++b) {
    for (int i = first_parts_[b]; i < first_parts_[b + 1]; ++i)
      for (int j = first_parts_[b]; j < i; ++j) couplings_.emplace_back(i, j);
  }
  ForEachConstraint(problem, [&](std::span<const ConvexProblem::Entry> entries) {
    for (std::size_t a = 1; a < entries.size(); ++a) {
      const int i = part_of_[entries[a].first];
      for (std::size_t b = 0; b < a; ++b) {
        const int j = part_of_[entries[b].first];
        const std::pair<int, int> pair(std::max(i, j), std::min(i, j));
        if (block_of_[entries[a].first] == block_of_[entries[b].first]) continue;
        if (couplings_.empty() || couplings_.back() != pair) couplings_.push_back(pair);
      }
    }
  });
}

void CoupledParts::Gather(const double* of_problem, double* of_parts) const {
  for (const Run& run : runs_) of_parts = std::copy_n(of_problem + run.first, run.size, of_parts);
}

void CoupledParts::Scatter(const double* of_parts, double* of_problem) const {
  for (const Run& run : runs_) {
    std::copy_n(of_parts, run.size, of_problem + run.first);
    of_parts += run.size;
  }
}

}  // namespace pliant::solvers
