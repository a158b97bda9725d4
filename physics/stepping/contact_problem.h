#pragma once

#include <vector>

#include <Eigen/Core>

namespace pliant::physics {

// The contact and constraint problem of one step, and its solution, for study and for other
// solvers:
//   A (v − v*) = Jᵀγ,   v_c = J v + b,   and between γ and v_c the law of each contact and row.
// Velocities are the participating ones. A is block-diagonal, positive definite.
struct ContactProblem {
  struct Block {
    int first = 0, size = 0;  // velocities
    std::vector<double> A;    // size × size, column-major [kg], [kg·m], [kg·m²]
  };
  struct Element {  // of J
    int row, column;
    double value;
  };
  // Rows 3 i to 3 i + 2 of J: two tangents, then the normal from A into B.
  struct Contact {
    int body_a = -1, body_b = -1;
    double gap = 0;  // at the start of the step, as the contact law uses it [m]
    double friction = 0;
    double stiffness = 0;        // [N/m]; may be infinite
    double relaxation_time = 0;  // [s]
    Eigen::Vector3d bias;        // b [m/s]
    Eigen::Vector3d impulse;     // γ [N·s]
    Eigen::Vector3d remembered;  // last step's impulse, in this frame; zero for a new contact
  };
  // A spring, damper or stop (see ConstraintRow): row 3 · contacts.size() + i of J.
  struct Row {
    double error = 0, stiffness = 0, damping = 0, target_rate = 0, feedforward = 0;
    double lower = 0, upper = 0;  // of the force
    bool dry_friction = false;
    double bias = 0, impulse = 0;
    double remembered = 0;  // last step's impulse, if kept
    double W = 0;           // estimate of its entry of J A⁻¹ Jᵀ
  };

  double h = 0;  // [s]
  std::vector<double> v_star, v;
  std::vector<Block> blocks;
  std::vector<Contact> contacts;
  std::vector<Row> rows;
  std::vector<Element> J;  // by row
};

struct StepStages;
struct StepSolution;

// Exports the problem of a step with its solution.
void DescribeStep(const StepStages& stages, const StepSolution& solution, ContactProblem* problem);

}  // namespace pliant::physics
