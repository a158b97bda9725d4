#include <algorithm>
#include <cholmod.h>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCholesky>

#include "benchmarks/measure.h"
#include "benchmarks/suite.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/grid/grid_dissection.h"
#include "solvers/linalg/grid/grid_pattern.h"
#include "solvers/linalg/lanes/lane_cholesky.h"
#include "solvers/linalg/partial_cholesky.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;
using physics::TetrahedralMesh;

// Weighted graph Laplacian with full off-diagonal blocks, which couple the axes. It is positive
// definite where `diagonal` exceeds 1.6 times the number of a node's neighbours.
struct Matrix {
  explicit Matrix(const TetrahedralMesh& mesh)
      : Matrix(solvers::MakeBlockPattern(static_cast<int>(mesh.vertices.size()), mesh.tetrahedra),
               60) {}
  Matrix(const solvers::BlockPattern& its_pattern, double diagonal)
      : pattern(its_pattern), blocks(&pattern) {
    std::vector<Eigen::Triplet<double>> triplets;
    for (int j = 0; j < pattern.num_nodes; ++j) {
      for (int k = pattern.column_starts[j]; k < pattern.column_starts[j + 1]; ++k) {
        const int i = pattern.rows[k];
        for (int e = 0; e < 9; ++e) {
          const double value = i == j ? (e % 4 == 0 ? diagonal : 0) : (e % 4 == 0 ? -1 : 0.3);
          blocks.values[9 * std::size_t(k) + e] = value;
          // lower triangle only
          if (3 * i + e % 3 >= 3 * j + e / 3)
            triplets.emplace_back(3 * i + e % 3, 3 * j + e / 3, value);
        }
      }
    }
    sparse.resize(3 * pattern.num_nodes, 3 * pattern.num_nodes);
    sparse.setFromTriplets(triplets.begin(), triplets.end());
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;

  solvers::BlockPattern pattern;
  solvers::BlockMatrix blocks;
  Eigen::SparseMatrix<double> sparse;
};

// CHOLMOD's supernodal factorisation with its default ordering, on the system's BLAS.
class Cholmod {
 public:
  explicit Cholmod(Eigen::SparseMatrix<double>* matrix) {
    cholmod_start(&common_);
    common_.supernodal = CHOLMOD_SUPERNODAL;
    sparse_.nrow = sparse_.ncol = static_cast<std::size_t>(matrix->rows());
    sparse_.nzmax = static_cast<std::size_t>(matrix->nonZeros());
    sparse_.p = matrix->outerIndexPtr();
    sparse_.i = matrix->innerIndexPtr();
    sparse_.x = matrix->valuePtr();
    sparse_.stype = -1;
    sparse_.itype = CHOLMOD_INT;
    sparse_.xtype = CHOLMOD_REAL;
    sparse_.dtype = CHOLMOD_DOUBLE;
    sparse_.sorted = sparse_.packed = 1;
    factor_ = cholmod_analyze(&sparse_, &common_);
  }
  ~Cholmod() {
    cholmod_free_factor(&factor_, &common_);
    cholmod_finish(&common_);
  }
  Cholmod(const Cholmod&) = delete;
  Cholmod& operator=(const Cholmod&) = delete;

  void Factor() { cholmod_factorize(&sparse_, factor_, &common_); }

 private:
  cholmod_common common_{};
  cholmod_sparse sparse_{};
  cholmod_factor* factor_ = nullptr;
};

// Median time of each function [s]. The functions take turns, so that changes in machine load
// affect all alike. Each timed call follows an untimed one: the data is in the cache as far as it
// fits, like a body's matrix that has just been assembled.
std::vector<double> TakeTurns(const std::vector<std::function<void()>>& all) {
  std::vector<std::vector<double>> seconds(all.size());
  double spent = 0;
  // at least 3 rounds; then until 15 rounds and 0.5 s, or 5 s, have passed
  for (int k = 0; k < 3 || (spent < 5 && (k < 15 || spent < 0.5)); ++k) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i]();
      const double start = Now();
      all[i]();
      seconds[i].push_back(Now() - start);
      spent += seconds[i].back();
    }
  }
  std::vector<double> medians;
  for (const auto& x : seconds) medians.push_back(Quantile(x, 0.5));
  return medians;
}

ordered_json RunFactor(const std::string& name, const TetrahedralMesh& mesh) {
  Matrix matrix(mesh);
  solvers::PartialCholesky ours(&matrix.pattern);
  Cholmod cholmod(&matrix.sparse);
  Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>, Eigen::Lower, Eigen::AMDOrdering<int>> eigen;
  eigen.analyzePattern(matrix.sparse);
  const auto by_eigen = [&] { eigen.factorize(matrix.sparse); };
  std::vector<std::function<void()>> all = {[&] { ours.Factor(matrix.blocks, {}); },
                                            [&] { cholmod.Factor(); }};
  // Eigen takes seconds for large matrices, so it runs only once
  const bool is_large = matrix.pattern.num_nodes > 5000;
  if (!is_large) all.push_back(by_eigen);
  std::vector<double> t = TakeTurns(all);
  if (is_large) {
    const double start = Now();
    by_eigen();
    t.push_back(Now() - start);
  }
  return {{"case", "factor_" + name},
          {"dofs", 3 * matrix.pattern.num_nodes},
          {"ms", 1e3 * t[0]},
          {"gflops", 1e-9 * ours.flops() / t[0]},
          {"cholmod_ms", 1e3 * t[1]},
          {"cholmod_ratio", t[1] / t[0]},
          {"eigen_ms", 1e3 * t[2]},
          {"eigen_ratio", t[2] / t[0]},
          {"blas", std::filesystem::weakly_canonical("/usr/lib/x86_64-linux-gnu/libblas.so.3")}};
}

// Cells of a box of nodes, each of 3×3×3 nodes.
std::vector<solvers::GridPoint> MakeCells(const solvers::GridPoint& nodes) {
  std::vector<solvers::GridPoint> cells;
  for (int i = 0; i + 2 < nodes[0]; ++i)
    for (int j = 0; j + 2 < nodes[1]; ++j)
      for (int k = 0; k + 2 < nodes[2]; ++k) cells.push_back({i, j, k});
  return cells;
}

// Times the stages of a factorisation on a grid whose active nodes have changed: pattern, ordering,
// symbolic analysis and factors. CHOLMOD and our general ordering serve as baselines.
ordered_json RunGrid(const std::string& name, const solvers::GridPoint& nodes) {
  const std::vector<solvers::GridPoint> cells = MakeCells(nodes);
  solvers::GridPattern grid;
  solvers::GridDissection dissection;
  grid.Update(cells);
  Matrix matrix(grid.pattern(), 240);
  Cholmod cholmod(&matrix.sparse);
  solvers::PartialCholesky ours;
  std::vector<int> order;
  // an even number of updates ends with all cells
  std::size_t count = cells.size();
  const std::vector<double> t =
      TakeTurns({[&] {
                   count = count == cells.size() ? count - 1 : cells.size();
                   grid.Update(std::span(cells).first(count));
                 },
                 [&] {
                   const std::span<const int> found =
                       dissection.FindOrder(grid.nodes(), grid.pattern());
                   order.assign(found.begin(), found.end());
                 },
                 [&] {
                   ours.SetPattern(&matrix.pattern, order);
                   ours.Analyze({}, solvers::ComplementForm::kDense);
                 },
                 [&] { ours.Factor(matrix.blocks, {}); }, [&] { cholmod.Factor(); }});
  const double start = Now();
  solvers::PartialCholesky general(&matrix.pattern);
  const double general_time = Now() - start;
  general.Analyze({}, solvers::ComplementForm::kDense);
  return {{"case", "grid_" + name},
          {"dofs", 3 * matrix.pattern.num_nodes},
          {"pattern_ms", 1e3 * t[0]},
          {"order_ms", 1e3 * t[1]},
          {"symbolic_ms", 1e3 * t[2]},
          {"ms", 1e3 * t[3]},
          {"order_share", t[1] / t[3]},
          {"gflops", 1e-9 * ours.flops() / t[3]},
          {"cholmod_ms", 1e3 * t[4]},
          {"cholmod_ratio", t[4] / t[3]},
          {"general_order_ms", 1e3 * general_time},
          {"general_operations_ratio", ours.flops() / general.flops()}};
}

// Factors many matrices of one pattern eight at a time in SIMD lanes, and one after another with
// the other solvers.
ordered_json RunTogether(const std::string& name, int count, const TetrahedralMesh& mesh) {
  std::vector<std::unique_ptr<Matrix>> matrices;
  std::vector<std::unique_ptr<solvers::PartialCholesky>> alone;
  std::vector<std::unique_ptr<Cholmod>> cholmod;
  using Ldlt =
      Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>, Eigen::Lower, Eigen::AMDOrdering<int>>;
  std::vector<std::unique_ptr<Ldlt>> eigen;
  for (int k = 0; k < count; ++k) {
    matrices.push_back(std::make_unique<Matrix>(mesh));
    Matrix& matrix = *matrices.back();
    alone.push_back(std::make_unique<solvers::PartialCholesky>(&matrix.pattern));
    cholmod.push_back(std::make_unique<Cholmod>(&matrix.sparse));
    eigen.push_back(std::make_unique<Ldlt>());
    eigen.back()->analyzePattern(matrix.sparse);
  }
  const solvers::BlockPattern& pattern = matrices[0]->pattern;
  const auto layout = std::make_shared<solvers::LaneLayout>(
      pattern, solvers::ReduceOperations(pattern, solvers::FindEliminationOrder(pattern)));
  constexpr int kLanes = solvers::LaneCholesky::kLanes;
  std::vector<solvers::LaneCholesky> lanes;
  std::vector<std::vector<const solvers::BlockMatrix*>> teams;
  for (int k = 0; k < count; ++k) {
    if (k % kLanes == 0) {
      lanes.emplace_back(layout);
      teams.emplace_back();
    }
    teams.back().push_back(&matrices[k]->blocks);
  }
  const std::vector<double> t = TakeTurns({[&] {
                                             for (std::size_t g = 0; g < teams.size(); ++g)
                                               lanes[g].Factor(teams[g]);
                                           },
                                           [&] {
                                             for (int k = 0; k < count; ++k)
                                               alone[k]->Factor(matrices[k]->blocks, {});
                                           },
                                           [&] {
                                             for (auto& one : cholmod) one->Factor();
                                           },
                                           [&] {
                                             for (int k = 0; k < count; ++k)
                                               eigen[k]->factorize(matrices[k]->sparse);
                                           }});
  const double flops = 54.0 * static_cast<double>(layout->terms().size()) * count;
  return {{"case", "factor_" + std::to_string(count) + "_" + name},
          {"dofs", 3 * pattern.num_nodes},
          {"bodies", count},
          {"ms", 1e3 * t[0]},
          {"gflops", 1e-9 * flops / t[0]},
          {"alone_ms", 1e3 * t[1]},
          {"alone_ratio", t[1] / t[0]},
          {"cholmod_ms", 1e3 * t[2]},
          {"cholmod_ratio", t[2] / t[0]},
          {"eigen_ms", 1e3 * t[3]},
          {"eigen_ratio", t[3] / t[0]}};
}

// Cost of a Schur complement on two patches of a link: in addition to a factor in SIMD lanes, and
// by eliminating the patches last.
ordered_json RunLaneSchur(const std::string& name, const TetrahedralMesh& mesh, int count) {
  Matrix matrix(mesh);
  const int n = matrix.pattern.num_nodes;
  // half of the participants at either end of the link along x
  std::vector<int> by_height(n);
  for (int i = 0; i < n; ++i) by_height[i] = i;
  std::sort(by_height.begin(), by_height.end(), [&](int a, int b) {
    return std::pair(mesh.vertices[a].x(), a) < std::pair(mesh.vertices[b].x(), b);
  });
  std::vector<int> participants(by_height.begin(), by_height.begin() + count / 2);
  participants.insert(participants.end(), by_height.end() - (count - count / 2), by_height.end());
  std::sort(participants.begin(), participants.end());
  const auto layout = std::make_shared<solvers::LaneLayout>(
      matrix.pattern,
      solvers::ReduceOperations(matrix.pattern, solvers::FindEliminationOrder(matrix.pattern)));
  solvers::LaneCholesky lanes(layout);
  constexpr int kLanes = solvers::LaneCholesky::kLanes;
  const std::vector<const solvers::BlockMatrix*> team(kLanes, &matrix.blocks);
  solvers::PartialCholesky alone(&matrix.pattern);
  std::vector<double> schur;
  const std::vector<double> t = TakeTurns({[&] { lanes.Factor(team); },
                                           [&] {
                                             for (int l = 0; l < kLanes; ++l)
                                               lanes.CalcSchurComplement(l, participants, &schur);
                                           },
                                           [&] {
                                             for (int l = 0; l < kLanes; ++l)
                                               alone.Factor(matrix.blocks, participants);
                                           }});
  return {{"case", "schur_lanes_" + name + "_" + std::to_string(count)},
          {"dofs", 3 * n},
          {"participants", 3 * count},
          {"factor_ms_a_body", 1e3 * t[0] / kLanes},
          {"schur_ms_a_body", 1e3 * t[1] / kLanes},
          {"alone_ms", 1e3 * t[2] / kLanes},
          {"alone_ratio", t[2] / (t[0] + t[1])}};
}

// Cost of recording the Schur complement on the lowest nodes, relative to the same factorisation
// without it (han2023 §VI-B).
ordered_json RunSchur(const std::string& name, const TetrahedralMesh& mesh, double share) {
  Matrix matrix(mesh);
  const int n = matrix.pattern.num_nodes;
  std::vector<int> by_height(n);
  for (int i = 0; i < n; ++i) by_height[i] = i;
  std::sort(by_height.begin(), by_height.end(), [&](int a, int b) {
    return std::pair(mesh.vertices[a].z(), a) < std::pair(mesh.vertices[b].z(), b);
  });
  std::vector<int> participants(by_height.begin(), by_height.begin() + std::max(1, int(share * n)));
  std::sort(participants.begin(), participants.end());
  // the plain factorisation uses the same order, with little fill-in among the participants
  const auto may_be_sparse = solvers::ComplementForm::kSparseWherePays;
  const std::vector<int> free_order = solvers::FindEliminationOrder(matrix.pattern);
  solvers::PartialCholesky recording(&matrix.pattern, free_order);
  recording.Analyze(participants, may_be_sparse);
  std::vector<int> order, last;
  for (const int node : free_order) {
    const bool is_last = std::binary_search(participants.begin(), participants.end(), node);
    (is_last ? last : order).push_back(node);
  }
  if (const auto complement = recording.schur_complement(); complement.sparse != nullptr) {
    for (std::size_t k = 0; k < last.size(); ++k) last[k] = participants[complement.order[k]];
  }
  order.insert(order.end(), last.begin(), last.end());
  solvers::PartialCholesky plain(&matrix.pattern, order);
  const std::vector<double> t =
      TakeTurns({[&] { recording.Factor(matrix.blocks, participants, may_be_sparse); },
                 [&] { plain.Factor(matrix.blocks, {}); }});
  return {{"case", "schur_" + name + "_" + std::to_string(std::lround(100 * share)) + "_percent"},
          {"dofs", 3 * n},
          {"participants", 3 * participants.size()},
          {"ms", 1e3 * t[0]},
          {"plain_ms", 1e3 * t[1]},
          {"cost_of_recording", t[0] / t[1]}};
}

}  // namespace

ordered_json RunLinalg(const std::string& only) {
  ordered_json rows = ordered_json::array();
  const auto add = [&](const std::string& name, const std::function<ordered_json()>& run) {
    if (name.find(only) == std::string::npos) return;
    std::fprintf(stderr, "running %s …\n", name.c_str());
    rows.push_back(run());
  };
  const auto factor = [&](const std::string& name, const TetrahedralMesh& mesh) {
    add("factor_" + name, [&] { return RunFactor(name, mesh); });
  };
  factor("link_882", *physics::MeshTorus(0.4, 0.1, 0.1, 42));
  // 32 fit into a cache of 16 MB, 100 do not
  for (const int count : {32, 100}) {
    add("factor_" + std::to_string(count) + "_links",
        [&] { return RunTogether("links", count, *physics::MeshTorus(0.4, 0.1, 0.1, 42)); });
  }
  for (const int count : {4, 8, 16, 32, 48, 64, 96}) {
    add("schur_lanes",
        [&] { return RunLaneSchur("link", *physics::MeshTorus(0.4, 0.1, 0.1, 42), count); });
  }
  add("factor_16_cubes", [&] {
    return RunTogether("cubes", 16, *physics::MeshBox({0.6, 0.6, 0.6}, 0.1));
  });
  add("factor_16_balls",
      [&] { return RunTogether("balls", 16, *physics::MeshSphere(0.05, 0.01)); });
  factor("cube_1029", *physics::MeshBox({0.6, 0.6, 0.6}, 0.1));
  factor("ball_1683", *physics::MeshSphere(0.05, 0.01));
  factor("torus_28860", *physics::MeshTorus(0.4, 0.1, 0.0333, 260));
  factor("cube_27783", *physics::MeshBox({2, 2, 2}, 0.1));
  const auto grid = [&](const std::string& name, const solvers::GridPoint& nodes) {
    add("grid_" + name, [&] { return RunGrid(name, nodes); });
  };
  grid("375", {5, 5, 5});
  grid("3000", {10, 10, 10});
  grid("sheet_10800", {30, 30, 4});
  for (const double share : {0.01, 0.1, 0.5}) {
    add("schur", [&] {
      return RunSchur("cube_6591", *physics::MeshBox({1.2, 1.2, 1.2}, 0.1), share);
    });
    add("schur",
        [&] { return RunSchur("torus_2394", *physics::MeshTorus(0.1, 0.03, 0.015, 42), share); });
  }
  return rows;
}

}  // namespace pliant::benchmarks
