#pragma once

#include <span>
#include <utility>
#include <vector>

#include "solvers/problem/island_view.h"

namespace pliant::solvers {

// Splits the large blocks of an island into parts whose velocities meet the same other blocks: a
// link of a chain into what touches the link above it and what touches the one below. The parts of
// a block are all coupled, but only some of them with those of others: a sparser Hessian than by
// whole blocks. A function of the island's entries alone; keeps its memory.
class CoupledParts {
 public:
  // Velocities that follow each other in the problem and in a part.
  struct Run {
    int first;  // in the island
    int size;
    int row;  // of the first, in the part
  };

  // Ascending by block.
  void Find(const IslandView& island);

  // Velocities of each part; pairs of parts that A or the entries of a contact or row couple.
  const std::vector<int>& sizes() const { return sizes_; }
  const std::vector<std::pair<int, int>>& couplings() const { return couplings_; }
  // Parts of a block: from first_part(b) to first_part(b + 1).
  int first_part(int block) const { return first_parts_[block]; }
  int block_of_part(int part) const { return blocks_[part]; }
  // Velocities of the same block's parts before it.
  int offset(int part) const { return offsets_[part]; }
  // In the order of their rows.
  std::span<const Run> runs(int part) const {
    return std::span(runs_).subspan(run_starts_[part], run_starts_[part + 1] - run_starts_[part]);
  }
  // Where a velocity is.
  int part_of(int velocity) const { return part_of_[velocity]; }
  int row_of(int velocity) const { return row_of_[velocity]; }

  // Between the island's order and that of the parts, one after another.
  void Gather(const double* of_island, double* of_parts) const;
  void Scatter(const double* of_parts, double* of_island) const;

 private:
  // Velocities that entries name together.
  struct Atom {
    int first, size;
    int first_met, num_met;  // in met_
  };
  void FindMeetings(const IslandView& island);
  void Split(int first, int size);  // a block
  void AddPart(std::span<const Atom> atoms);
  void Couple(const IslandView& island);

  std::vector<int> sizes_, blocks_, offsets_, first_parts_, run_starts_, part_of_, row_of_;
  std::vector<std::pair<int, int>> couplings_;
  std::vector<Run> runs_;
  std::vector<int> block_of_;                  // of velocities
  std::vector<char> is_joined_;                // a velocity with the one before it
  std::vector<int> last_met_;                  // block, by velocity
  std::vector<std::pair<int, int>> meetings_;  // first velocity of an entry, block that it meets
  std::vector<Atom> atoms_;
  std::vector<int> met_;  // blocks
};

}  // namespace pliant::solvers
