#include "benchmarks/plain_newton.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/SparseCore>

namespace pliant::benchmarks {
namespace {

using Eigen::Vector2d;
using Eigen::VectorXd;
using physics::ContactProblem;

constexpr double kStepLength = 0.75;  // t of §8.1
constexpr double kShift = 1e-6;       // ε of §8.4, times the identity
// Compliance of a removed row (§6.1) relative to its scale r; the row's force then vanishes.
constexpr double kRemoved = 1e12;

double Infinity() {
  return std::numeric_limits<double>::infinity();
}

// Scalar row: gap + h u + compliance λ, complementary to the bounds on λ.
struct PlainRow {
  double gap = 0, compliance = 0, lower = -Infinity(), upper = Infinity();
};

class PlainNewton {
 public:
  using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;

  explicit PlainNewton(const ContactProblem& problem) : problem_(problem), h_(problem.h) {
    num_contacts_ = static_cast<int>(problem.contacts.size());
    size_ = 3 * num_contacts_ + static_cast<int>(problem.rows.size());
    J_.resize(size_, static_cast<int>(problem.v_star.size()));
    std::vector<Eigen::Triplet<double>> elements;
    for (const ContactProblem::Element& e : problem.J)
      elements.emplace_back(e.row, e.column, e.value);
    J_.setFromTriplets(elements.begin(), elements.end());
    for (const ContactProblem::Block& block : problem.blocks)
      factors_.emplace_back(
          Eigen::Map<const Eigen::MatrixXd>(block.A.data(), block.size, block.size));
    bias_ = W_ = VectorXd::Zero(size_);
    for (int c = 0; c < num_contacts_; ++c) {
      const ContactProblem::Contact& contact = problem.contacts[c];
      bias_.segment<3>(3 * c) = contact.bias;
      // the force of a compliant contact is −k (φ + τ φ̇)
      PlainRow normal{contact.gap, 0, 0, Infinity()};
      if (std::isfinite(contact.stiffness)) {
        const double share = h_ / (h_ + contact.relaxation_time);
        normal.gap *= share;
        normal.compliance = share / contact.stiffness;
      }
      normals_.push_back(normal);
    }
    for (std::size_t k = 0; k < problem.rows.size(); ++k) {
      const ContactProblem::Row& given = problem.rows[k];
      bias_[3 * num_contacts_ + static_cast<int>(k)] = given.bias;
      W_[3 * num_contacts_ + static_cast<int>(k)] = given.W;
      PlainRow row{0, 0, given.lower, given.upper};
      if (!given.dry_friction && std::isinf(given.stiffness)) {
        row.gap = given.error;
      } else if (!given.dry_friction) {
        // force = feedforward − k (g + h u) − d (u − target)
        const double rate = h_ * given.stiffness + given.damping;
        row.compliance = h_ / rate;
        row.gap = (given.stiffness * given.error - given.feedforward -
                   given.damping * given.target_rate) *
                  h_ / rate;
      }
      rows_.push_back(row);
    }
    MeasureContacts();
    FindParts();
  }

  VectorXd OurForces() const {
    VectorXd lambda(size_);
    for (int c = 0; c < num_contacts_; ++c)
      lambda.segment<3>(3 * c) = problem_.contacts[c].impulse / h_;
    for (std::size_t k = 0; k < rows_.size(); ++k)
      lambda[3 * num_contacts_ + static_cast<int>(k)] = problem_.rows[k].impulse / h_;
    return lambda;
  }

  // Natural map of each row [m].
  VectorXd CalcErrors(const VectorXd& lambda) const {
    const VectorXd u = CalcRates(lambda);
    VectorXd errors = VectorXd::Zero(size_);
    for (int c = 0; c < num_contacts_; ++c) {
      const int i = 3 * c;
      const double r_n = h_ * h_ * W_[i + 2], r_t = h_ * (W_[i] + W_[i + 1]) / 2;
      const double C = normals_[c].gap + h_ * u[i + 2] + normals_[c].compliance * lambda[i + 2];
      if (r_n > 0) errors[i + 2] = std::abs(std::min(C, r_n * lambda[i + 2]));
      if (!(r_t > 0)) continue;
      const Vector2d force = lambda.segment<2>(i);
      Vector2d pulled = force - u.segment<2>(i) / r_t;
      const double limit = problem_.contacts[c].friction * std::max(lambda[i + 2], 0.0);
      if (pulled.norm() > limit) pulled *= limit / pulled.norm();
      errors[i] = (force - pulled).norm() * r_t * h_;
    }
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      const int i = 3 * num_contacts_ + static_cast<int>(k);
      const PlainRow& row = rows_[k];
      const double r = h_ * h_ * W_[i] + row.compliance;
      if (!(r > 0)) continue;
      const double C = row.gap + h_ * u[i] + row.compliance * lambda[i];
      errors[i] = r * std::abs(lambda[i] - std::clamp(lambda[i] - C / r, row.lower, row.upper));
    }
    return errors;
  }

  VectorXd Solve(int newton, int linear) const {
    VectorXd lambda = VectorXd::Zero(size_);
    for (int c = 0; c < num_contacts_; ++c)
      lambda.segment<3>(3 * c) = problem_.contacts[c].remembered / h_;
    for (std::size_t k = 0; k < rows_.size(); ++k)
      lambda[3 * num_contacts_ + static_cast<int>(k)] = problem_.rows[k].remembered / h_;
    for (int k = 0; k < newton; ++k) {
      VectorXd D, b;
      Linearise(lambda, &D, &b);
      lambda += kStepLength * SolveConjugateResidual(D, b, linear);
    }
    return lambda;
  }

 private:
  // Adds the diagonal of J A⁻¹ Jᵀ in the contact rows.
  void MeasureContacts() {
    for (std::size_t b = 0; b < factors_.size(); ++b) {
      const ContactProblem::Block& block = problem_.blocks[b];
      const Eigen::MatrixXd inverse =
          factors_[b].solve(Eigen::MatrixXd::Identity(block.size, block.size));
      const auto within = [&](int column) {
        return column >= block.first && column < block.first + block.size;
      };
      for (int i = 0; i < 3 * num_contacts_; ++i) {
        for (Matrix::InnerIterator p(J_, i); p; ++p) {
          if (!within(static_cast<int>(p.col()))) continue;
          for (Matrix::InnerIterator q(J_, i); q; ++q) {
            if (within(static_cast<int>(q.col())))
              W_[i] +=
                  p.value() * inverse(p.col() - block.first, q.col() - block.first) * q.value();
          }
        }
      }
    }
  }

  // Groups rows that share blocks, directly or through others. The groups are independent.
  void FindParts() {
    std::vector<int> block_of(problem_.v_star.size()), root(problem_.blocks.size());
    for (std::size_t b = 0; b < problem_.blocks.size(); ++b)
      std::fill_n(block_of.begin() + problem_.blocks[b].first, problem_.blocks[b].size,
                  static_cast<int>(b));
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](int b) {
      while (root[b] != b) b = root[b];
      return b;
    };
    // the three rows of a contact belong together
    std::vector<int> first(num_contacts_ + rows_.size(), -1);
    const auto item_of = [this](int row) {
      return row < 3 * num_contacts_ ? row / 3 : row - 2 * num_contacts_;
    };
    for (const ContactProblem::Element& e : problem_.J) {
      int& own = first[item_of(e.row)];
      const int b = find(block_of[e.column]);
      if (own >= 0) root[b] = find(own);
      own = find(b);
    }
    std::vector<int> part(problem_.blocks.size(), -1);
    for (int i = 0; i < size_; ++i) {
      const int block = first[item_of(i)] < 0 ? 0 : find(first[item_of(i)]);
      if (part[block] < 0) part[block] = num_parts_++;
      part_of_row_.push_back(part[block]);
    }
  }

  VectorXd SumsOfParts(const VectorXd& products) const {
    VectorXd sums = VectorXd::Zero(num_parts_);
    for (int i = 0; i < size_; ++i) sums[part_of_row_[i]] += products[i];
    return sums;
  }

  // J A⁻¹ Jᵀ x
  VectorXd Multiply(const VectorXd& x) const {
    VectorXd z = J_.transpose() * x;
    for (std::size_t b = 0; b < factors_.size(); ++b) {
      const ContactProblem::Block& block = problem_.blocks[b];
      z.segment(block.first, block.size) =
          factors_[b].solve(z.segment(block.first, block.size)).eval();
    }
    return J_ * z;
  }
  VectorXd CalcRates(const VectorXd& lambda) const {
    const Eigen::Map<const VectorXd> v_star(problem_.v_star.data(),
                                            static_cast<int>(problem_.v_star.size()));
    return J_ * v_star + bias_ + h_ * Multiply(lambda);
  }

  // Linearises the Fischer–Burmeister function of C and r λ into a compliance D and right-hand side
  // b. Dividing the row by its α makes Newton's matrix symmetric.
  void LineariseBound(double C, double r, double lambda, double compliance, double* D,
                      double* b) const {
    const double root = std::hypot(C, r * lambda);
    const double phi = C + r * lambda - root;
    // derivatives (26), with the choice of (27) at the kink
    const double alpha = root > 0 ? 1 - C / root : 0;
    const double S = root > 0 ? r * (1 - r * lambda / root) : r;
    if (!(kRemoved * alpha > 1)) {
      *D = kRemoved * r / (h_ * h_);
      *b = -*D * lambda;
      return;
    }
    *D = (compliance + S / alpha) / (h_ * h_);
    *b = -phi / (alpha * h_ * h_);
  }

  // Friction compliance (35) with the Fischer–Burmeister function, which is undefined for forces
  // beyond twice the friction limit.
  static double CalcFrictionCompliance(double slip, double force, double limit, double r) {
    if (!(limit > 0)) return kRemoved * r;
    const double x = r * (limit - force);
    const double psi = slip + x - std::hypot(slip, x);
    const double above = slip - psi, below = r * force + psi;
    if (!(above > 0)) return 0;
    return below > 0 ? std::min(r * above / below, kRemoved * r) : kRemoved * r;
  }

  void Linearise(const VectorXd& lambda, VectorXd* D, VectorXd* b) const {
    const VectorXd u = CalcRates(lambda);
    D->resize(size_), b->resize(size_);
    for (int c = 0; c < num_contacts_; ++c) {
      const int i = 3 * c;
      const PlainRow& normal = normals_[c];
      LineariseBound(normal.gap + h_ * u[i + 2] + normal.compliance * lambda[i + 2],
                     h_ * h_ * W_[i + 2], lambda[i + 2], normal.compliance, &(*D)[i + 2],
                     &(*b)[i + 2]);
      const double r = h_ * (W_[i] + W_[i + 1]) / 2;
      const double W = CalcFrictionCompliance(u.segment<2>(i).norm(), lambda.segment<2>(i).norm(),
                                              problem_.contacts[c].friction * lambda[i + 2], r);
      for (int k = i; k < i + 2; ++k) {
        (*D)[k] = W / h_;
        (*b)[k] = -((W < kRemoved * r ? u[k] : 0) + W * lambda[k]) / h_;
      }
    }
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      const int i = 3 * num_contacts_ + static_cast<int>(k);
      const PlainRow& row = rows_[k];
      const double C = row.gap + h_ * u[i] + row.compliance * lambda[i];
      const double r = h_ * h_ * W_[i] + row.compliance;
      const bool is_below = std::isfinite(row.lower), is_above = std::isfinite(row.upper);
      if (is_below != is_above) {
        const double sign = is_below ? 1 : -1;
        LineariseBound(sign * C, r, sign * (lambda[i] - (is_below ? row.lower : row.upper)),
                       row.compliance, &(*D)[i], &(*b)[i]);
        (*b)[i] *= sign;
        continue;
      }
      // rows with two bounds or none use the minimum map: free, or at a bound
      const double unbounded = lambda[i] - C / r;
      (*D)[i] = row.compliance / (h_ * h_);
      (*b)[i] = -C / (h_ * h_);
      if (unbounded <= row.lower || unbounded >= row.upper) {
        (*D)[i] = kRemoved * W_[i];
        (*b)[i] = (*D)[i] * ((unbounded >= row.upper ? row.upper : row.lower) - lambda[i]);
      }
    }
    for (int i = 0; i < size_; ++i) {
      (*D)[i] += kShift;
      if (!(W_[i] > 0)) (*D)[i] = 1, (*b)[i] = 0;
    }
  }

  // Textbook conjugate residuals on each part separately: every scalar has one value per part.
  VectorXd SolveConjugateResidual(const VectorXd& D, const VectorXd& b, int iterations) const {
    const VectorXd inverse = (W_ + D).cwiseInverse();
    const auto apply = [&](const VectorXd& x) -> VectorXd {
      return Multiply(x) + D.cwiseProduct(x);
    };
    VectorXd x = VectorXd::Zero(size_), r = b, z = inverse.cwiseProduct(r), p = z;
    VectorXd Az = apply(z), Ap = Az;
    VectorXd zAz = SumsOfParts(z.cwiseProduct(Az));
    for (int k = 0; k < iterations; ++k) {
      const VectorXd curvature = SumsOfParts(Ap.cwiseProduct(inverse.cwiseProduct(Ap)));
      for (int i = 0; i < size_; ++i) {
        const int part = part_of_row_[i];
        if (!(zAz[part] > 0) || !(curvature[part] > 0)) continue;
        const double step = zAz[part] / curvature[part];
        x[i] += step * p[i];
        r[i] -= step * Ap[i];
      }
      z = inverse.cwiseProduct(r);
      Az = apply(z);
      const VectorXd next = SumsOfParts(z.cwiseProduct(Az));
      for (int i = 0; i < size_; ++i) {
        const int part = part_of_row_[i];
        const double turn = zAz[part] > 0 ? next[part] / zAz[part] : 0;
        p[i] = z[i] + turn * p[i];
        Ap[i] = Az[i] + turn * Ap[i];
      }
      zAz = next;
    }
    return x;
  }

  const ContactProblem& problem_;
  double h_;
  int num_contacts_ = 0, size_ = 0, num_parts_ = 0;
  Matrix J_;
  std::vector<Eigen::LLT<Eigen::MatrixXd>> factors_;
  VectorXd bias_, W_;
  std::vector<PlainRow> normals_, rows_;
  std::vector<int> part_of_row_;
};

}  // namespace

PlainComparison CompareWithPlainNewton(const ContactProblem& problem, int newton, int linear) {
  const PlainNewton plain(problem);
  return {plain.CalcErrors(plain.OurForces()).maxCoeff(),
          plain.CalcErrors(plain.Solve(newton, linear)).maxCoeff()};
}

}  // namespace pliant::benchmarks
