#pragma once

#include <span>
#include <utility>
#include <vector>

#include "solvers/problem/island_view.h"

namespace pliant::solvers {

// Splits the large blocks of an island into parts whose velocities are coupled with the same other
// blocks: a link of a chain into a part that touches the link above and a part that touches the
// link below. All parts of a block are coupled with each other, but only some of them with parts of
// other blocks, so the Hessian is sparser than by whole blocks. Depends on the island's entries
// alone. Keeps its memory.
class CoupledParts {
 public:
  // Velocities that are consecutive both in the problem and in a part.
  struct Run {
    int first;  // in the island
    int size;
    int row;  // of the first velocity, in the part
  };

  // Finds the parts, ascending by block.
  void Find(const IslandView& island);

  // Number of velocities of each part; pairs of parts coupled by A, a contact or a row.
  const std::vector<int>& sizes() const { return sizes_; }
  const std::vector<std::pair<int, int>>& couplings() const { return couplings_; }
  // Parts of a block: from first_part(b) to first_part(b + 1).
  int first_part(int block) const { return first_parts_[block]; }
  int block_of_part(int part) const { return blocks_[part]; }
  // Number of velocities in the preceding parts of the same block.
  int offset(int part) const { return offsets_[part]; }
  // In the order of their rows.
  std::span<const Run> runs(int part) const {
    return std::span(runs_).subspan(run_starts_[part], run_starts_[part + 1] - run_starts_[part]);
  }
  // Part of a velocity, and its row there.
  int part_of(int velocity) const { return part_of_[velocity]; }
  int row_of(int velocity) const { return row_of_[velocity]; }

  // Permute between the island's order and the order of the parts, one after another.
  void Gather(const double* of_island, double* of_parts) const;
  void Scatter(const double* of_parts, double* of_island) const;

 private:
  // Consecutive velocities that entries join; never split.
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
  std::vector<int> last_met_;                  // last block found, by velocity
  std::vector<std::pair<int, int>> meetings_;  // first velocity of an entry, block coupled with it
  std::vector<Atom> atoms_;
  std::vector<int> met_;  // blocks
};

}  // namespace pliant::solvers
