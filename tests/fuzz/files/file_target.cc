// Reads files of other programs: surfaces, volume meshes, robots and images. The first byte of an
// input chooses among these; the content determines the format.
//
// With libFuzzer: build/libfuzzer/bin/file_fuzz tests/fuzz/files/corpus. Otherwise
// tests/fuzz/mutations.cc calls it.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"

#include "physics/geometry/meshing/mesh_checks.h"
#include "physics/rigid/joint_tree.h"
#include "physics/rigid/tree_kinematics.h"
#include "physics/scene/mesh_files/surface_mesh_files.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/robot_files/robot_description.h"
#include "physics/scene/textures/image_file.h"
#include "tests/fuzz/mutator.h"

namespace pliant::fuzz {
namespace {

void Demand(bool condition) {
  if (!condition) std::abort();
}

// A refusal has a message that names the file.
void DemandMessage(const absl::Status& status, const char* name) {
  Demand(absl::StrContains(status.message(), name));
}

// These formats are read in a separate process, which is much slower, so only some are tried.
bool IsReadElsewhere(std::string_view bytes) {
  const std::string kind = physics::GuessFileKind(bytes);
  return kind == "a PLY surface" || kind == "a glTF surface" || kind == "a COLLADA surface";
}

void ReadSurface(std::string_view bytes) {
  if (IsReadElsewhere(bytes) && HashInput(bytes) % 8 != 0) return;
  const auto open = physics::ReadOpenSurfaceMesh(bytes, "fuzz.file");
  if (!open.ok()) return DemandMessage(open.status(), "fuzz.file");
  ++num_accepted;
  const int count = static_cast<int>(open->mesh.vertices.size());
  for (const Eigen::Vector3d& p : open->mesh.vertices) Demand(p.allFinite());
  for (const auto& triangle : open->mesh.triangles)
    for (const int v : triangle) Demand(v >= 0 && v < count);
  const auto visual = physics::ReadVisualSurface(
      bytes, "fuzz.file", [](const std::string&) { return absl::NotFoundError("no such file"); });
  if (!visual.ok()) DemandMessage(visual.status(), "fuzz.file");
  const auto closed = physics::CloseSurfaceMesh(*open, "fuzz.file");
  if (!closed.ok()) DemandMessage(closed.status(), "fuzz.file");
}

void ReadVolume(std::string_view bytes) {
  const auto file = physics::ReadVolumeMesh(bytes, "fuzz.file");
  if (!file.ok()) return DemandMessage(file.status(), "fuzz.file");
  ++num_accepted;
  const physics::MeshRepair repair = physics::RepairMesh(file->mesh);
  for (const physics::MeshDefect& defect : physics::FindDefects(repair.mesh))
    Demand(!defect.repairable());
}

// An accepted robot can be built: parents come first, and all numbers are finite.
void BuildTree(const physics::RobotDescription& robot) {
  std::vector<physics::Link> links;
  for (const physics::RobotLink& link : robot.links) {
    Demand(link.parent < static_cast<int>(links.size()));
    Demand(std::abs(link.joint.axis.norm() - 1) < 1e-9);
    Demand(link.joint.lower <= link.joint.upper);
    physics::Link own;
    own.parent = link.parent;
    own.joint = link.joint;
    own.mass = link.mass;
    own.p_BoBcm = link.p_BoBcm;
    own.inertia = link.inertia;
    links.push_back(own);
  }
  const physics::JointTree tree(std::move(links));
  if (tree.num_velocities() > 200) return;
  physics::TreeKinematics kinematics(tree);
  std::vector<double> q(tree.num_positions()), M(tree.num_velocities() * tree.num_velocities());
  tree.SetZero(q);
  tree.CalcPositions(q, &kinematics);
  tree.CalcMassMatrix(kinematics, M);
  for (const double x : M) Demand(std::isfinite(x));
}

void ReadRobot(std::string_view bytes) {
  Random random(HashInput(bytes));
  physics::RobotFileOptions options;
  options.allow_files = false;
  options.fixed_base = random.OneIn(2);
  options.free_base = !options.fixed_base;
  options.strict = random.OneIn(8);
  options.recompute_inertia = random.OneIn(2);
  const physics::RobotFileResult result =
      physics::ReadRobotText(std::string(bytes), "fuzz.file", options);
  bool is_refused = false;
  for (const physics::RobotFileMessage& message : result.messages) {
    is_refused |= message.error;
    Demand(!message.text.empty() && !message.file.empty());
  }
  Demand(is_refused != result.robot.has_value());
  if (is_refused) return;
  ++num_accepted;
  BuildTree(*result.robot);
  for (const physics::RobotDeformable& body : result.robot->deformables)
    Demand(body.density > 0 && body.youngs_modulus > 0);
}

void ReadImageFile(std::string_view bytes) {
  const auto image = physics::ReadImage(std::string(bytes));
  if (!image.ok()) return Demand(!image.status().message().empty());
  for (const int side : {image->width, image->height})
    Demand(side > 0 && side <= physics::kMaxImageSide);
  ++num_accepted;
}

}  // namespace
}  // namespace pliant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      pliant::fuzz::ReadSurface(bytes);
      break;
    case 1:
      pliant::fuzz::ReadVolume(bytes);
      break;
    case 2:
      pliant::fuzz::ReadRobot(bytes);
      break;
    default:
      pliant::fuzz::ReadImageFile(bytes);
      break;
  }
  return 0;
}
