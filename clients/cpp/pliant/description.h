#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pliant/v1/world.pb.h"

namespace pliant {

// The constant part of a world: all pages are joined, and large bodies are fetched. Immutable, so
// any number of threads may read it.
//
// Searches fail with NOT_FOUND and list the existing names, the most similar first.
class Description {
 public:
  // `message` must be complete: without a next page, and without bodies that are objects.
  explicit Description(v1::WorldDescription message);

  const v1::WorldDescription& message() const { return message_; }
  const std::string& model_hash() const { return message_.model_hash(); }

  // Indices in WorldDescription.rigid_bodies, deformables and probes, as in frames.
  absl::StatusOr<int> FindRigid(std::string_view name) const;
  absl::StatusOr<int> FindDeformable(std::string_view name) const;
  absl::StatusOr<int> FindProbe(std::string_view name) const;
  absl::StatusOr<int> FindRobot(std::string_view name) const;

  // Index of a joint in JointFrame, which lists the joints of all robots, robot by robot.
  absl::StatusOr<int> FindJoint(std::string_view robot, std::string_view joint) const;
  // Index of the first joint of a robot.
  int FirstJoint(int robot) const { return first_joints_[robot]; }
  int joint_count() const { return joint_count_; }

  // Index of a vertex of a deformable body, numbered as in its volume mesh, among the positions of
  // a frame in TIER_UNSPECIFIED. NOT_FOUND for a vertex below the surface.
  absl::StatusOr<int> FindSurfaceVertex(int deformable, std::uint32_t volume_vertex) const;

  // Number of positions of a deformable body in frames: vertices of its surface, or points.
  int CountPositions(int deformable, v1::Tier tier) const;

  // The name of a body by its number in contacts and forces: the rigid bodies come first.
  const std::string& NameBody(std::uint32_t number) const;

 private:
  v1::WorldDescription message_;
  std::vector<int> first_joints_;  // by robot
  int joint_count_ = 0;
};

using DescriptionPtr = std::shared_ptr<const Description>;

}  // namespace pliant
