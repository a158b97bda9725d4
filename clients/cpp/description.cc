#include "pliant/description.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "clients/cpp/names.h"

namespace pliant {
namespace {

const std::string& NameOf(const std::string& name) {
  return name;
}
template <typename Message>
const std::string& NameOf(const Message& message) {
  return message.name();
}

template <typename List>
absl::StatusOr<int> Find(const List& list, std::string_view name, absl::string_view kind,
                         absl::string_view where) {
  std::vector<std::string> names;
  for (int i = 0; i < list.size(); ++i) {
    if (NameOf(list[i]) == name) return i;
    names.push_back(NameOf(list[i]));
  }
  return absl::NotFoundError(absl::StrCat(where, " has no ", kind, " \"", std::string(name),
                                          "\"; it has ", ListNearest(name, std::move(names))));
}

}  // namespace

Description::Description(v1::WorldDescription message) : message_(std::move(message)) {
  for (const v1::RobotDescription& robot : message_.robots()) {
    first_joints_.push_back(joint_count_);
    joint_count_ += robot.joints_size();
  }
}

absl::StatusOr<int> Description::FindRigid(std::string_view name) const {
  return Find(message_.rigid_bodies(), name, "rigid body", message_.name());
}

absl::StatusOr<int> Description::FindDeformable(std::string_view name) const {
  return Find(message_.deformables(), name, "deformable body", message_.name());
}

absl::StatusOr<int> Description::FindProbe(std::string_view name) const {
  return Find(message_.probes(), name, "probe", message_.name());
}

absl::StatusOr<int> Description::FindRobot(std::string_view name) const {
  return Find(message_.robots(), name, "robot", message_.name());
}

absl::StatusOr<int> Description::FindJoint(std::string_view robot, std::string_view joint) const {
  const absl::StatusOr<int> index = FindRobot(robot);
  if (!index.ok()) return index.status();
  const absl::StatusOr<int> found = Find(message_.robots(*index).joints(), joint, "joint",
                                         absl::StrCat("robot \"", std::string(robot), "\""));
  if (!found.ok()) return found.status();
  return first_joints_[*index] + *found;
}

absl::StatusOr<int> Description::FindSurfaceVertex(int deformable,
                                                   std::uint32_t volume_vertex) const {
  const v1::DeformableDescription& body = message_.deformables(deformable);
  if (body.has_points() && volume_vertex < body.points().count())
    return static_cast<int>(volume_vertex);
  const auto& vertices = body.surface_to_volume();
  const auto found = std::ranges::find(vertices, volume_vertex);
  if (found != vertices.end()) return static_cast<int>(found - vertices.begin());
  return absl::NotFoundError(absl::StrCat("vertex ", volume_vertex, " of \"", body.name(),
                                          "\" is not on its surface, and frames do not have it; a "
                                          "probe of the scene does"));
}

int Description::CountPositions(int deformable, v1::Tier tier) const {
  const v1::DeformableDescription& body = message_.deformables(deformable);
  if (tier == v1::TIER_DECIMATED && body.decimated_vertices_size() > 0)
    return body.decimated_vertices_size();
  return body.has_points() ? static_cast<int>(body.points().count())
                           : body.surface().vertices_size() / 3;
}

const std::string& Description::NameBody(std::uint32_t number) const {
  static const std::string* const kUnknown = new std::string("?");
  const auto rigid = static_cast<std::uint32_t>(message_.rigid_bodies_size());
  if (number < rigid) return message_.rigid_bodies(static_cast<int>(number)).name();
  number -= rigid;
  if (number < static_cast<std::uint32_t>(message_.deformables_size()))
    return message_.deformables(static_cast<int>(number)).name();
  return *kUnknown;
}

}  // namespace pliant
