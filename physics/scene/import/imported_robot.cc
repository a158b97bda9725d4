#include "physics/scene/import/imported_robot.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <variant>

#include "physics/scene/robot_files/parts/link_checks.h"

namespace pliant::physics {
namespace {

constexpr double kDriveRate = 30;     // natural frequency of a held joint [rad/s]
constexpr double kMinInertia = 1e-6;  // holds joints without mass, too [kg·m²] or [kg]
constexpr double kEffortAtTurn = 1;   // deflection at which the effort that replaces 0 is reached
constexpr double kShareOfDamping = 0.5;  // of the effort limit, at the velocity limit

std::set<int> FindFollowers(const RobotDescription& robot) {
  std::set<int> followers;
  for (const RobotCoupler& coupler : robot.couplers) {
    if (!coupler.terms.empty()) followers.insert(coupler.terms[0].first);
  }
  return followers;
}

// For each link, whether ChooseDrives drives its joint.
std::vector<char> FindDriven(const RobotDescription& robot) {
  const std::set<int> followers = FindFollowers(robot);
  std::vector<char> driven(robot.links.size(), 0);
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    driven[i] =
        CountVelocities(robot.links[i].joint.type) == 1 && !followers.contains(static_cast<int>(i));
  }
  return driven;
}

const std::vector<RobotShape>& ShapesOf(const RobotLink& link) {
  return link.collisions.empty() ? link.visuals : link.collisions;
}

}  // namespace

std::vector<ImportedDrive> ChooseDrives(const RobotDescription& robot) {
  const std::vector<double> inertias = CalcJointInertias(robot.links);
  const std::vector<char> driven = FindDriven(robot);
  std::vector<ImportedDrive> drives;
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    if (!driven[i]) continue;
    const Joint& joint = robot.links[i].joint;
    const double inertia = std::max(inertias[i], kMinInertia);
    ImportedDrive drive;
    drive.joint = joint.name;
    drive.stiffness = inertia * kDriveRate * kDriveRate;
    drive.damping = 2 * inertia * kDriveRate;
    if (joint.effort_limit == 0) drive.effort_limit = drive.stiffness * kEffortAtTurn;
    // with its effort used up by damping, a drive would lag behind its target
    const double most = kShareOfDamping * joint.effort_limit / joint.velocity_limit;
    if (joint.effort_limit > 0 && std::isfinite(most))
      drive.damping = std::min(drive.damping, most);
    if (!(drive.damping > 0)) drive.damping = 2 * inertia * kDriveRate;
    drives.push_back(drive);
  }
  return drives;
}

std::vector<std::string> FindTips(const RobotDescription& robot) {
  const std::vector<RobotLink>& links = robot.links;
  const std::vector<char> driven = FindDriven(robot);
  const int n = static_cast<int>(links.size());
  // groups of links that move together, named by their first link; followers move like others
  std::vector<int> group(n), outer(n, -1), joints(n, 0), last(n), fixed_depth(n, 0);
  for (int i = 0; i < n; ++i) {
    const int parent = links[i].parent;
    const bool rigid = links[i].joint.type == JointType::kFixed;
    group[i] = rigid && parent >= 0 ? group[parent] : i;
    last[i] = i;
    joints[i] = (parent < 0 ? 0 : joints[parent]) + (driven[i] ? 1 : 0);
    if (group[i] == i) {
      outer[i] = parent;
      continue;
    }
    fixed_depth[i] = fixed_depth[parent] + 1;
    if (fixed_depth[i] > fixed_depth[last[group[i]]]) last[group[i]] = i;
  }
  std::vector<int> inner(n, 0);  // number of groups attached to each group
  for (int i = 0; i < n; ++i) {
    if (outer[i] >= 0) ++inner[group[outer[i]]];
  }
  // groups to which only several ends are attached are hands
  std::vector<int> ends(n, 0);
  for (int i = 0; i < n; ++i) {
    if (group[i] == i && inner[i] == 0 && outer[i] >= 0) ++ends[group[outer[i]]];
  }
  std::vector<std::string> tips;
  std::set<int> hands;
  for (int i = 0; i < n; ++i) {
    if (group[i] != i || inner[i] > 0) continue;
    int tip = last[i];
    if (outer[i] >= 0) {
      const int hand = group[outer[i]];
      if (ends[hand] > 1 && ends[hand] == inner[hand]) {
        tip = outer[i];
        if (!hands.insert(hand).second) continue;
      }
    }
    if (joints[tip] >= 2) tips.push_back(links[tip].name);
  }
  return tips;
}

AxisAlignedBox CalcRestBounds(const RobotDescription& robot) {
  const std::vector<RigidTransform> X_WB = CalcLinkPoses(robot.links);
  AxisAlignedBox bounds;
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    bounds.Include(X_WB[i].p);
    for (const RobotShape& shape : ShapesOf(robot.links[i])) {
      if (std::holds_alternative<HalfSpace>(shape.shape.geometry)) continue;
      const AxisAlignedBox own = CalcBounds(shape.shape.geometry, X_WB[i] * shape.shape.X_BS);
      bounds.Include(own.lower);
      bounds.Include(own.upper);
    }
  }
  return bounds;
}

bool HasFloor(const RobotDescription& robot) {
  for (const RobotLink& link : robot.links) {
    for (const RobotShape& shape : link.collisions) {
      if (std::holds_alternative<HalfSpace>(shape.shape.geometry)) return true;
    }
  }
  return false;
}

bool HasLooseBase(const RobotDescription& robot) {
  return std::any_of(robot.links.begin(), robot.links.end(), [](const RobotLink& link) {
    return link.parent < 0 && link.joint.type == JointType::kFree && link.joint.name.empty();
  });
}

}  // namespace pliant::physics
