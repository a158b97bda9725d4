#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "solvers/linalg/schur_complement.h"

namespace pliant::solvers {

// The contact problem of one step of length h, as every method and the exporter read it:
//   A (v − v*) − p = Jᵀγ,   v_c = J v + b,
// together with the law of each contact and row, which relates the impulses γ to the velocities
// v_c. A is block-diagonal; contacts and rows couple blocks. v holds the velocities that take part
// in the step, numbered block by block.
//
// Plain arrays, filled once for a step. Methods keep their additional data (regularisation,
// stabilisation, compliances) in separate arrays of the same order.
struct ConstraintSystem {
  // A group of velocities with its own mass matrix.
  struct GroupMass {
    int first;  // within its block
    int size;
    const double* A;  // size × size, column-major, both triangles; positive definite. Not owned.
  };
  // A is one matrix. A block in compliance form leaves A empty and has one mass matrix per group
  // instead.
  struct Block {
    int first;  // its first velocity
    int size;
    SchurComplement A;  // size × size, dense or sparse
    int first_mass = 0, num_masses = 0;
    bool are_particles = false;  // the groups; geometric stiffness may be added to them

    bool is_in_compliance_form() const { return num_masses > 0; }
  };
  // Jacobian of one contact or scalar constraint with respect to velocities of one block. Usually
  // they are consecutive: 3 × columns (contact) or 1 × columns (constraint), column-major.
  //
  // An entry of a contact that moves many nodes by weights w, such as those of a grid cell, is
  // stored by weights instead: it is w Q on each node, with one 3 × 3 matrix Q.
  struct Entry {
    int block;
    int first;  // velocity within the block; not by weights
    int columns;
    std::size_t values;  // offset in `values`; by weights: of Q, which the weights follow
    int first_node = 0;  // in `nodes`
    int num_nodes = 0;   // zero unless by weights

    bool is_by_weights() const { return num_nodes > 0; }
  };
  // Axes: two tangents, then the normal from A into B.
  struct Contact {
    int first_entry = 0, num_entries = 0;
    Eigen::Vector3d bias = Eigen::Vector3d::Zero();  // b: the prescribed part of v_c [m/s]
    // Σ J_g A_gg⁻¹ J_gᵀ over the groups that the contact touches [1/kg]: an estimate of its
    // diagonal block of J A⁻¹ Jᵀ
    Eigen::Matrix3d W = Eigen::Matrix3d::Zero();
    double gap = 0;  // at the start of the step, as the contact law uses it [m]
    // Overlap that the step may keep [m]; the contact law reads gap + allowed_overlap.
    double allowed_overlap = 0;
    double gap_shift = 0;  // part of `gap` due to collisions in the step [m]
    double friction = 0;
    double stiffness = std::numeric_limits<double>::infinity();  // [N/m]
    double relaxation_time = 0;                                  // [s]
  };
  // A spring, damper or stop on the rate r = J v + b:
  //   force = feedforward − k (g + h r) − d (r − r_target), within [lower, upper].
  struct Row {
    int first_entry = 0, num_entries = 0;
    double bias = 0;   // b [m/s], [rad/s]
    double W = 0;      // see Contact::W
    double error = 0;  // g, as far as the step removes it [m], [rad]
    double stiffness = std::numeric_limits<double>::infinity();  // k [N/m], [N·m/rad]
    double damping = 0;                                          // d [N·s/m], [N·m·s/rad]
    double target_rate = 0;                                      // r_target
    double feedforward = 0;                                      // [N], [N·m]
    double lower = -std::numeric_limits<double>::infinity();     // [N], [N·m]
    double upper = std::numeric_limits<double>::infinity();
    bool dry_friction = false;  // holds r at zero within the bounds; k and d are not read

    // The force at the end of a step, offset − slope · r, of a row of finite stiffness that is
    // within its bounds.
    struct LinearForce {
      double offset, slope;  // [N], [N·s/m]
    };
    LinearForce CalcForce(double h) const {
      return {feedforward + damping * target_rate - stiffness * error, h * stiffness + damping};
    }
  };

  double h = 0;            // [s]
  int num_velocities = 0;  // of all blocks
  std::vector<Block> blocks;
  std::vector<GroupMass> masses;  // of all blocks in compliance form, block by block
  std::vector<Contact> contacts;
  std::vector<Row> rows;
  std::vector<Entry> entries;  // of contacts and rows, each one's own consecutive
  std::vector<double> values;  // of all entries, in no particular order
  // First velocities within their blocks, multiples of three, of the nodes of entries by weights.
  // Entries on the same nodes may share them.
  std::vector<int> nodes;
  std::vector<double> v_star;       // num_velocities; the free motion where p is zero
  std::vector<double> linear_term;  // p [N·s], num_velocities

  std::span<const Entry> entries_of(const Contact& contact) const {
    return {entries.data() + contact.first_entry, static_cast<std::size_t>(contact.num_entries)};
  }
  std::span<const Entry> entries_of(const Row& row) const {
    return {entries.data() + row.first_entry, static_cast<std::size_t>(row.num_entries)};
  }
  // These give the nodes of an entry by weights, their weights, and Q, which is column-major.
  std::span<const int> nodes_of(const Entry& entry) const {
    return {nodes.data() + entry.first_node, static_cast<std::size_t>(entry.num_nodes)};
  }
  const double* weights(const Entry& entry) const { return Q(entry) + 9; }
  const double* Q(const Entry& entry) const { return values.data() + entry.values; }
  // These give the column-major values of any other entry, and its first velocity among all.
  const double* J(const Entry& entry) const { return values.data() + entry.values; }
  int first_of(const Entry& entry) const { return blocks[entry.block].first + entry.first; }

  // Calls f(first, columns, J) for each run of consecutive velocities of an entry. `first` is the
  // first of them, where the block's velocities are numbered from `first_of_block`. J is
  // column-major, and by weights valid only during the call.
  template <typename F>
  void ForEachRun(const Entry& entry, int first_of_block, const F& f) const {
    if (!entry.is_by_weights()) {
      f(first_of_block + entry.first, entry.columns, J(entry));
      return;
    }
    const double *of_all = Q(entry), *w = weights(entry);
    for (const int node : nodes_of(entry)) {
      double of_node[9];
      for (int i = 0; i < 9; ++i) of_node[i] = *w * of_all[i];
      ++w;
      f(first_of_block + node, 3, static_cast<const double*>(of_node));
    }
  }
  // With all velocities numbered as in the system.
  template <typename F>
  void ForEachRun(const Entry& entry, const F& f) const {
    ForEachRun(entry, blocks[entry.block].first, f);
  }
};

// Impulses of contacts and scalar constraints over a step.
struct Impulses {
  std::vector<Eigen::Vector3d> contacts;  // in contact frames [N·s]
  std::vector<double> rows;               // [N·s], [N·m·s]
};

// v_c = J v + b of a contact, in its frame, and r = J v + b of a row.
Eigen::Vector3d CalcContactVelocity(const ConstraintSystem& system, int contact,
                                    std::span<const double> v);
double CalcRowRate(const ConstraintSystem& system, int row, std::span<const double> v);

// Jᵀγ [N·s], on all velocities of the system.
void CalcExertedImpulse(const ConstraintSystem& system, const Impulses& impulses,
                        std::vector<double>* exerted);

}  // namespace pliant::solvers
