// Table 1 of Zeng et al. 2022: cost of recursive corrective motion when the compliance of the
// mapped degrees of freedom is built once per step (Algorithm 3), and when that of the contacts is
// rebuilt in each Newton iteration (Algorithm 2). Everything runs on one thread; times are CPU
// times.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include <Eigen/Dense>

#include "benchmarks/measure.h"
#include "benchmarks/suite.h"
#include "physics/geometry/meshing/grid_mesh.h"
#include "physics/spatial/rigid_transform.h"
#include "solvers/corrective/recursive_correction.h"
#include "solvers/linalg/dense.h"
#include "solvers/linalg/partial_cholesky.h"

namespace pliant::benchmarks {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using nlohmann::ordered_json;
using physics::TetrahedralMesh;
using solvers::CorrectionOptions;
using solvers::CorrectiveContact;
using solvers::CorrectiveProblem;

constexpr double kStep = 0.01;          // [s]
constexpr double kDensity = 1000;       // [kg/m³]
constexpr double kYoungsModulus = 1e6;  // [Pa]
constexpr double kPoissonsRatio = 0.4;
constexpr double kFriction = 0.5;
constexpr double kGroundRadius = 1;  // of the ball under the box [m]
constexpr Eigen::Index kAxes = 3;

// A line of Table 1; times in ms.
struct Line {
  std::array<int, 3> cells;
  int nodes, contacts;
  double standard_iteration, standard_total, fast_iteration, fast_total;
};
constexpr Line kTable[] = {
    {{14, 19, 19}, 6001, 103, 24.47, 122.39, 4.43, 41.45},
    {{19, 19, 19}, 8022, 122, 38.24, 191.21, 5.69, 59.72},
    {{19, 19, 24}, 10011, 137, 52.81, 264.07, 6.91, 79.73},
    {{19, 23, 24}, 12023, 161, 74.10, 370.52, 9.27, 110.10},
};

// Box of 1 cm cubic cells. A few extra tetrahedra on its top make up the paper's number of nodes.
TetrahedralMesh MakeBox(const Line& line) {
  const Vector3d size = 0.01 * Vector3d(line.cells[0], line.cells[1], line.cells[2]);
  TetrahedralMesh mesh = *physics::MeshGrid(size, line.cells);
  const int grid = static_cast<int>(mesh.tetrahedra.size());
  for (int t = grid - 1; static_cast<int>(mesh.vertices.size()) < line.nodes; --t) {
    // add a tetrahedron on each face that lies in the top plane
    std::array<int, 3> top{};
    int count = 0;
    for (const int v : mesh.tetrahedra[t])
      if (mesh.vertices[v].z() > 0.5 * size.z() - 1e-9 && count++ < 3) top[count - 1] = v;
    if (count != 3) continue;
    const Vector3d a = mesh.vertices[top[0]], b = mesh.vertices[top[1]], c = mesh.vertices[top[2]];
    const bool is_up = (b - a).cross(c - a).z() > 0;
    mesh.vertices.push_back((a + b + c) / 3 + Vector3d(0, 0, 0.008));
    const int apex = static_cast<int>(mesh.vertices.size()) - 1;
    mesh.tetrahedra.push_back({top[0], top[is_up ? 1 : 2], top[is_up ? 2 : 1], apex});
  }
  return mesh;
}

// Assembles A = M + h² K for linear elements at rest with lumped masses.
void Assemble(const TetrahedralMesh& mesh, const solvers::BlockPattern& pattern,
              solvers::BlockMatrix* A) {
  const double lambda =
      kYoungsModulus * kPoissonsRatio / ((1 + kPoissonsRatio) * (1 - 2 * kPoissonsRatio));
  const double mu = kYoungsModulus / (2 * (1 + kPoissonsRatio));
  for (const auto& t : mesh.tetrahedra) {
    Matrix3d edges;
    for (int k = 0; k < 3; ++k) edges.col(k) = mesh.vertices[t[k + 1]] - mesh.vertices[t[0]];
    const double volume = std::abs(edges.determinant()) / 6;
    const Matrix3d inverse = edges.inverse();
    Vector3d gradient[4];
    gradient[0].setZero();
    for (int k = 0; k < 3; ++k) {
      gradient[k + 1] = inverse.row(k);
      gradient[0] -= gradient[k + 1];
    }
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < 4; ++b) {
        if (t[a] < t[b]) continue;
        Matrix3d K = volume * (lambda * gradient[a] * gradient[b].transpose() +
                               mu * gradient[b] * gradient[a].transpose());
        K.diagonal().array() += volume * mu * gradient[a].dot(gradient[b]);
        Matrix3d block = kStep * kStep * K;
        if (a == b) block.diagonal().array() += 0.25 * kDensity * volume;
        Eigen::Map<Matrix3d>(&A->values[9 * std::size_t(pattern.Find(t[a], t[b]))]) += block;
      }
    }
  }
}

// A box on a ball that supports it at the bottom vertices nearest to the centre, under gravity and
// a sideways push.
struct Problem {
  explicit Problem(const Line& line)
      : mesh(MakeBox(line)),
        pattern(solvers::MakeBlockPattern(static_cast<int>(mesh.vertices.size()), mesh.tetrahedra)),
        A(&pattern) {
    Assemble(mesh, pattern, &A);
    double bottom = 0;
    for (const Vector3d& x : mesh.vertices) bottom = std::min(bottom, x.z());
    std::vector<std::pair<double, int>> by_distance;
    for (std::size_t v = 0; v < mesh.vertices.size(); ++v) {
      const Vector3d& x = mesh.vertices[v];
      if (x.z() < bottom + 1e-9)
        by_distance.emplace_back(x.x() * x.x() + x.y() * x.y(), static_cast<int>(v));
    }
    std::sort(by_distance.begin(), by_distance.end());
    for (int k = 0; k < line.contacts; ++k) nodes.push_back(by_distance[k].second);
    std::sort(nodes.begin(), nodes.end());
    center = Vector3d(0, 0, bottom - kGroundRadius);
  }
  // Velocity of every node in free motion [m/s].
  static Vector3d v_free() { return {0.05, 0.02, -9.81 * kStep - 0.01}; }

  // One contact per node, in its initial frame. Every contact starts with zero gap, whatever the
  // ball's shape.
  CorrectiveProblem Pose() const {
    CorrectiveProblem problem;
    const int rows = 3 * static_cast<int>(nodes.size());
    for (const int node : nodes) {
      CorrectiveContact& contact = problem.contacts.emplace_back();
      contact.first_part = static_cast<int>(problem.parts.size());
      contact.num_parts = 1;
      contact.friction = kFriction;
      contact.R_WC = FrameAt(mesh.vertices[node]);
      solvers::MappedPart& part = problem.parts.emplace_back();
      part.block = 0;
      part.row = 3 * contact.first_part;
      part.height = 3;
      part.J[0] = part.J[4] = part.J[8] = 1;
      problem.entries.push_back({0, part.row, 3, part.row, 3, 0});
      for (int r = 0; r < 3; ++r) problem.y_free.push_back(v_free()[r]);
    }
    problem.values = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    problem.blocks.push_back({rows, nullptr, 0, rows, 0});
    return problem;
  }
  Matrix3d FrameAt(const Vector3d& p) const {
    const Vector3d radial = p - center;
    return physics::FrameFromNormal(radial / std::sqrt(radial.squaredNorm()));
  }

  TetrahedralMesh mesh;
  solvers::BlockPattern pattern;
  solvers::BlockMatrix A;
  std::vector<int> nodes;
  Vector3d center;
};

// Contact frames with normals from the centre of the ball to the moved nodes.
class BallContact final : public solvers::Relinearisation {
 public:
  explicit BallContact(const Problem& given) : given_(given) {}
  void Update(std::span<const double> y, std::span<const double>, int first, int last,
              CorrectiveProblem* problem) override {
    for (int i = first; i < last; ++i) {
      const Vector3d start = given_.mesh.vertices[given_.nodes[i]];
      const Vector3d moved = kStep * Vector3d(y[3 * i], y[3 * i + 1], y[3 * i + 2]);
      CorrectiveContact& contact = problem->contacts[i];
      contact.R_WC = given_.FrameAt(start + moved);
      contact.slip_W = moved;
      contact.gap = contact.R_WC.col(2).dot(moved);
    }
  }

 private:
  const Problem& given_;
};

CorrectionOptions MakeOptions(CorrectionOptions::Scheme scheme) {
  CorrectionOptions options;
  options.scheme = scheme;
  options.h = kStep;
  options.tolerance = 0;  // take all sweeps of all recursions
  return options;
}

// Algorithm 2 without refactoring A: W comes from solving with the whole factor for each row of J.
class WholeFactor {
 public:
  explicit WholeFactor(const Problem& given) : given_(given), factor_(&given.pattern) {
    const double start = ThreadNow();
    factor_.Factor(given.A, {});
    factor_seconds = ThreadNow() - start;
  }

  // Returns the impulses on the nodes [N·s].
  std::vector<double> Solve(const CorrectionOptions& options) {
    CorrectiveProblem problem = given_.Pose();
    BallContact geometry(given_);
    const int count = static_cast<int>(given_.nodes.size()), rows = 3 * count;
    std::vector<double> y = problem.y_free, F(rows), W(std::size_t(rows) * rows), u(rows);
    std::vector<double> x(3 * given_.mesh.vertices.size());
    std::vector<Vector3d> impulse_W(count, Vector3d::Zero()), impulse(count);
    for (int k = 0; k < options.recursions; ++k) {
      geometry.Update(y, F, 0, count, &problem);
      // project the last impulses onto the cones of the new frames, and find their motion
      for (int i = 0; i < count; ++i) {
        Vector3d& local = impulse[i] = problem.contacts[i].R_WC.transpose() * impulse_W[i];
        local.z() = std::max(local.z(), 0.0);
        const double length = std::sqrt(local.x() * local.x() + local.y() * local.y());
        if (length > kFriction * local.z()) local.head<2>() *= kFriction * local.z() / length;
        Vector3d::Map(&F[kAxes * i]) = problem.contacts[i].R_WC * local;
      }
      const std::vector<double> reference = y;
      Move(F, &x, &y);

      // W = J A⁻¹ Jᵀ, one row of J at a time
      for (int j = 0; j < rows; ++j) {
        std::fill(x.begin(), x.end(), 0.0);
        const Vector3d direction = problem.contacts[j / 3].R_WC.col(j % 3);
        Vector3d::Map(&x[kAxes * given_.nodes[j / 3]]) = direction;
        factor_.Solve(x);
        for (int i = 0; i < count; ++i) {
          Vector3d::Map(&W[std::size_t(j) * rows + 3 * i]) =
              problem.contacts[i].R_WC.transpose() * Vector3d::Map(&x[kAxes * given_.nodes[i]]);
        }
      }

      for (int i = 0; i < count; ++i) {
        Vector3d::Map(&u[kAxes * i]) =
            problem.contacts[i].R_WC.transpose() *
            (Vector3d::Map(&y[kAxes * i]) - Vector3d::Map(&reference[kAxes * i]));
      }
      for (int s = 0; s < options.sweeps; ++s) {
        for (int i = 0; i < count; ++i) {
          const CorrectiveContact& contact = problem.contacts[i];
          Vector3d delta = contact.R_WC.transpose() * contact.slip_W;
          delta.z() = contact.gap;
          delta += kStep * Vector3d::Map(&u[kAxes * i]);
          Matrix3d W_ii;
          for (int c = 0; c < 3; ++c)
            W_ii.col(c) = Vector3d::Map(&W[std::size_t(3 * i + c) * rows + 3 * i]);
          const Vector3d after = solvers::RelaxContact(contact, W_ii, delta, impulse[i], kStep);
          const Vector3d less = impulse[i] - after;
          if (less.isZero(0)) continue;
          impulse[i] = after;
          solvers::SubtractMatrixVector(rows, 3, &W[std::size_t(3 * i) * rows], rows, less.data(),
                                        u.data());
        }
      }

      for (int i = 0; i < count; ++i) {
        impulse_W[i] = problem.contacts[i].R_WC * impulse[i];
        Vector3d::Map(&F[kAxes * i]) = impulse_W[i];
      }
      Move(F, &x, &y);
    }
    return F;
  }

  double factor_seconds = 0;

 private:
  // y = y_free + A⁻¹ F on the nodes
  void Move(const std::vector<double>& F, std::vector<double>* x, std::vector<double>* y) {
    std::fill(x->begin(), x->end(), 0.0);
    const int count = static_cast<int>(given_.nodes.size());
    for (int i = 0; i < count; ++i) std::copy_n(&F[kAxes * i], 3, &(*x)[kAxes * given_.nodes[i]]);
    factor_.Solve(*x);
    for (int i = 0; i < count; ++i) {
      Vector3d::Map(&(*y)[kAxes * i]) =
          Problem::v_free() + Vector3d::Map(&(*x)[kAxes * given_.nodes[i]]);
    }
  }

  const Problem& given_;
  solvers::PartialCholesky factor_;
};

// Largest difference between two sets of impulses, relative to the largest impulse.
double Compare(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(a[i]));
  }
  return difference / largest;
}

ordered_json RunLine(const Line& line) {
  using Scheme = CorrectionOptions::Scheme;
  const Problem given(line);
  ordered_json row{{"case", absl::StrCat("dofs_", 3 * given.mesh.vertices.size())},
                   {"dofs", 3 * given.mesh.vertices.size()},
                   {"contacts", given.nodes.size()},
                   {"rows", 3 * given.nodes.size()}};
  BallContact geometry(given);

  solvers::PartialCholesky factor(&given.pattern);
  factor.Factor(given.A, given.nodes);  // symbolic analysis, not timed
  double start = ThreadNow();
  factor.Factor(given.A, given.nodes);
  const double factor_ms = 1e3 * (ThreadNow() - start);
  std::vector<double> b(3 * given.mesh.vertices.size(), 1e-3), x_p(3 * given.nodes.size());
  start = ThreadNow();
  factor.Reduce(b);
  factor.SolveForParticipants(x_p);
  const double free_ms = 1e3 * (ThreadNow() - start);

  // Algorithm 3: build once, then five iterations; then Algorithm 2 on the Schur complement
  std::vector<double> build, fast, schur, fast_total, schur_total, forces;
  double schur_difference = 0;
  for (int k = 0; k < 9; ++k) {
    CorrectiveProblem problem = given.Pose();
    problem.blocks[0].A = factor.schur_complement().dense.data();
    solvers::MappingCompliance compliance;
    solvers::RecursiveCorrection correction;
    start = ThreadNow();
    compliance.Build(problem.blocks, problem.entries, problem.values);
    const double built = ThreadNow();
    correction.Solve(compliance, {}, MakeOptions(Scheme::kFast), &problem, &geometry);
    const double end = ThreadNow();
    build.push_back(1e3 * (built - start));
    fast.push_back(1e3 * (end - built) / 5);
    fast_total.push_back(1e3 * (end - start));
    forces = correction.F();

    CorrectiveProblem again = given.Pose();
    again.blocks[0].A = problem.blocks[0].A;
    start = ThreadNow();
    correction.Solve(compliance, {}, MakeOptions(Scheme::kStandard), &again, &geometry);
    schur.push_back(1e3 * (ThreadNow() - start) / 5);
    schur_total.push_back(5 * schur.back());
    schur_difference = Compare(forces, correction.F());
  }

  WholeFactor whole(given);
  start = ThreadNow();
  const std::vector<double> by_whole = whole.Solve(MakeOptions(Scheme::kStandard));
  const double standard_total = 1e3 * (ThreadNow() - start), standard = standard_total / 5;

  const double iteration = Quantile(fast, 0.5), total = Quantile(fast_total, 0.5);
  row["factor_ms"] = factor_ms;
  row["whole_factor_ms"] = 1e3 * whole.factor_seconds;
  row["free_motion_ms"] = free_ms;
  row["build_ms"] = Quantile(build, 0.5);
  row["fast_iteration_ms"] = iteration;
  row["fast_total_ms"] = total;
  row["standard_iteration_ms"] = standard;
  row["standard_total_ms"] = standard_total;
  row["schur_iteration_ms"] = Quantile(schur, 0.5);
  row["schur_total_ms"] = Quantile(schur_total, 0.5);
  row["iteration_ratio"] = standard / iteration;
  row["total_ratio"] = standard_total / total;
  row["schur_iteration_ratio"] = Quantile(schur, 0.5) / iteration;
  row["schur_total_ratio"] = Quantile(schur_total, 0.5) / total;
  row["difference"] = Compare(forces, by_whole);
  row["schur_difference"] = schur_difference;
  row["paper"] = {{"standard_iteration_ms", line.standard_iteration},
                  {"standard_total_ms", line.standard_total},
                  {"fast_iteration_ms", line.fast_iteration},
                  {"fast_total_ms", line.fast_total},
                  {"iteration_ratio", line.standard_iteration / line.fast_iteration},
                  {"total_ratio", line.standard_total / line.fast_total}};
  row["limit_ms"] = line.fast_total;
  return row;
}

}  // namespace

ordered_json RunZeng2022(const std::string& only) {
  ordered_json rows = ordered_json::array();
  ordered_json mean{{"case", "mean"}};
  for (const Line& line : kTable) {
    const std::string name = absl::StrCat("dofs_", 3 * line.nodes);
    if (!only.empty() && name.find(only) == std::string::npos) continue;
    std::fprintf(stderr, "%s\n", name.c_str());
    rows.push_back(RunLine(line));
  }
  for (const char* key :
       {"iteration_ratio", "total_ratio", "schur_iteration_ratio", "schur_total_ratio"}) {
    double sum = 0;
    for (const ordered_json& row : rows) sum += row[key].get<double>();
    if (!rows.empty()) mean[key] = sum / static_cast<double>(rows.size());
  }
  if (rows.size() > 1) rows.push_back(mean);
  return rows;
}

}  // namespace pliant::benchmarks
