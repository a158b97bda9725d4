#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include <Eigen/Core>

namespace pliant::solvers {

// Mean compliance of a contact [1/kg], in the Frobenius norm, which rotations of its frame keep.
inline double CalcMeanCompliance(const Eigen::Matrix3d& W) {
  return std::sqrt(W.squaredNorm()) / 3;
}

// Near-rigid regularisation R of a stiff row on which an impulse of 1 N s changes the velocity by
// w [1/kg]: the fraction β² / 4π² of a velocity is left (han2023 §IV; methods of SAP).
inline double NearRigid(double w, double beta) {
  return beta * beta * w / (4 * std::numbers::pi * std::numbers::pi);
}
// The same of a contact with compliance W.
inline double NearRigid(const Eigen::Matrix3d& W, double beta) {
  return NearRigid(CalcMeanCompliance(W), beta);
}

// Bodies that are squeezed between others which give no way (those that a script moves, say) are
// kept apart by no impulse, so methods with rigid contacts find no solution. They then make
// contacts near-rigid, if that shows that bodies are squeezed: contacts that are ten times as stiff
// press about ten times as hard. Impulses that keep bodies apart hardly depend on the stiffness.
inline constexpr double kStiffer = 0.1;  // R relative to that of near-rigid contacts

// pressed, harder: normal impulses of an island's near-rigid contacts, and of the stiffer ones, as
// the speeds that each would cause alone [m/s]
inline bool IsSqueezed(std::span<const double> pressed, std::span<const double> harder) {
  if (pressed.empty()) return false;
  const double largest = std::ranges::max(pressed);
  for (std::size_t c = 0; c < pressed.size(); ++c)
    if (pressed[c] > 0.01 * largest && harder[c] > 5 * pressed[c]) return true;
  return false;
}

}  // namespace pliant::solvers
