#include "physics/scene/robot_files/parts/link_checks.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>

#include "physics/geometry/convex_hull.h"
#include "physics/scene/robot_files/parts/defects.h"
#include "physics/scene/robot_files/parts/moved_inertia.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kTriangleTolerance = 1e-6;  // relative to the largest moment, as files round
// a body measures a few radii of gyration; shapes a thousand times too large, hundreds of them
constexpr double kMillimetreRatio = 100;
constexpr double kNeighbourRatio = 1000;
constexpr double kSuspectSize = 1;       // [m]
constexpr double kImplausibleSize = 20;  // [m]

std::string LinkName(const RobotLink& link) {
  return absl::StrCat("link \"", link.name, "\"");
}

// Mass, centre of mass and inertia, in world axes.
struct Lump {
  double mass = 0;
  Vector3d center = Vector3d::Zero();
  Matrix3d inertia = Matrix3d::Zero();  // about the centre

  void Add(const Lump& other) {
    const double total = mass + other.mass;
    if (!(total > 0)) {
      inertia += other.inertia;
      return;
    }
    const Vector3d d = other.center - center;
    inertia += other.inertia + mass / total * other.mass *
                                   (d.squaredNorm() * Matrix3d::Identity() - d * d.transpose());
    center += other.mass / total * d;
    mass = total;
  }
};

bool IsEmpty(const Lump& lump) {
  return !(lump.mass > 0) && lump.inertia.isZero(0);
}

Lump Join(const Lump& a, const Lump& b) {
  if (IsEmpty(a)) return b;
  Lump both = a;
  if (!IsEmpty(b)) both.Add(b);
  return both;
}

Lump LumpOf(const RobotLink& link, const RigidTransform& X_WB) {
  return {link.mass, X_WB * link.p_BoBcm, X_WB.R * link.inertia * X_WB.R.transpose()};
}

std::vector<Lump> CalcSubtrees(const std::vector<RobotLink>& links,
                               const std::vector<RigidTransform>& X_WB) {
  std::vector<Lump> lumps(links.size());
  for (std::size_t i = links.size(); i-- > 0;) {
    lumps[i] = Join(LumpOf(links[i], X_WB[i]), lumps[i]);
    if (links[i].parent >= 0) {
      Lump& parent = lumps[links[i].parent];
      parent = Join(parent, lumps[i]);
    }
  }
  return lumps;
}

// Inertia that a joint of one velocity moves when all others are locked; `subtree` is what it
// carries.
double CalcJointInertia(const Joint& joint, const RigidTransform& X_WB, const Lump& subtree) {
  const RigidTransform X_WM = X_WB * joint.X_BM;
  // the axis is the same in F and M
  const Vector3d axis = X_WM.R * joint.axis;
  const Vector3d arm = subtree.center - X_WM.p;
  const double about =
      axis.dot(subtree.inertia * axis) + subtree.mass * axis.cross(arm).squaredNorm();
  const double lead = joint.pitch / (2 * kPi);
  double inertia = joint.type == JointType::kPrismatic ? subtree.mass : about;
  if (joint.type == JointType::kScrew) inertia += subtree.mass * lead * lead;
  return inertia + joint.rotor_inertia * joint.gear_ratio * joint.gear_ratio;
}

Vector3d CalcMoments(const Matrix3d& inertia) {
  return Eigen::SelfAdjointEigenSolver<Matrix3d>(inertia, Eigen::EigenvaluesOnly).eigenvalues();
}

// Mass properties at density 1; the hull stands in for a visual mesh, which may be open.
MassProperties CalcShapeMass(const RobotShape& shape) {
  MassProperties mass;
  if (shape.surface.has_value()) {
    mass = CalcMassProperties(*shape.surface);
  } else if (const auto* mesh = std::get_if<SurfaceMesh>(&shape.shape.geometry);
             mesh != nullptr && mesh->bvh == nullptr) {
    const auto hull = CalcConvexHull(mesh->mesh->vertices);
    if (hull.ok()) mass = CalcMassProperties(ConvexMesh{std::make_shared<TriangleMesh>(*hull)});
  } else {
    mass = CalcMassProperties(shape.shape.geometry);
  }
  const RigidTransform& X = shape.shape.X_BS;
  mass.center = X * mass.center;
  mass.inertia = X.R * mass.inertia * X.R.transpose();
  return mass;
}

// Describes the error in a link's inertia; empty if there is none.
std::string FindFault(const RobotLink& link) {
  const Vector3d moments = CalcMoments(link.inertia);
  const double scale = std::max(std::abs(moments[0]), std::abs(moments[2]));
  if (moments[0] < -kTriangleTolerance * scale) {
    return absl::StrCat("inertia is not physical: its smallest principal moment is ", moments[0],
                        " kg·m²");
  }
  const double excess = moments[2] - moments[1] - moments[0];
  if (excess > kTriangleTolerance * scale) {
    return absl::StrCat("inertia is not physical: of its principal moments ", moments[0], ", ",
                        moments[1], " and ", moments[2],
                        " kg·m² the largest exceeds the sum of the others by ", excess);
  }
  if (link.mass == 0 && scale > 0) return "has inertia but no mass";
  return "";
}

void CheckInertia(const RobotFileOptions& options, bool moves, const FilePlace& place,
                  RobotLink* link, RobotLog* log) {
  const std::string fault = FindFault(*link);
  const bool missing = !link->has_inertia;
  if (fault.empty() && !(missing && options.recompute_inertia)) return;
  if (options.recompute_inertia) {
    if (TakeInertiaFromShapes(options.default_density, link)) {
      log->Warning(place, absl::StrCat(LinkName(*link), ": ", missing ? "has no inertia" : fault,
                                       ". It is computed from the shapes: ", link->mass, " kg"));
      return;
    }
    if (missing) return;
  }
  if (link->mass == 0) {
    log->Mended(place, absl::StrCat(LinkName(*link), ": ", fault,
                                    ". Its inertia is left out. Give a mass above 0"));
    link->inertia = Matrix3d::Zero();
    return;
  }
  if (moves) {
    const Matrix3d nearest = NearestInertia(link->inertia);
    const Vector3d moments = CalcMoments(nearest);
    log->Mended(
        place,
        absl::StrCat(LinkName(*link), ": ", fault, ". The nearest that a body can have, ",
                     moments[0], ", ", moments[1], " and ", moments[2],
                     " kg·m², is used. Give a consistent tensor, or set `recompute_inertia: true` "
                     "to compute it from the collision shapes"));
    link->inertia = nearest;
    return;
  }
  log->Mended(place, absl::StrCat(LinkName(*link), ": ", fault,
                                  ". It does not matter where the link is fixed"));
  link->inertia = Matrix3d::Zero();
}

double CalcExtent(const Geometry& geometry) {
  const AxisAlignedBox box = CalcBounds(geometry, RigidTransform());
  return std::sqrt((box.upper - box.lower).squaredNorm());
}

bool IsMesh(const RobotShape& shape) {
  return !shape.mesh_file.empty();
}

void WarnOfMillimetres(const RobotDraft& draft, RobotLog* log) {
  const std::vector<RobotLink>& links = draft.robot.links;
  // size around each link: of its primitives, and distances between its joints
  std::vector<double> reach(links.size(), 0);
  std::vector<double> extents;
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (const auto* shapes : {&links[i].collisions, &links[i].visuals}) {
      for (const RobotShape& shape : *shapes) {
        if (std::holds_alternative<HalfSpace>(shape.shape.geometry)) continue;
        const double extent = CalcExtent(shape.shape.geometry);
        extents.push_back(extent);
        if (!IsMesh(shape)) reach[i] = std::max(reach[i], extent);
      }
    }
    if (links[i].parent < 0) continue;
    const double apart = std::sqrt(links[i].joint.X_PF.p.squaredNorm());
    reach[i] = std::max(reach[i], apart);
    reach[links[i].parent] = std::max(reach[links[i].parent], apart);
  }
  if (extents.empty()) return;
  std::sort(extents.begin(), extents.end());
  const double median = extents[extents.size() / 2];

  for (std::size_t i = 0; i < links.size(); ++i) {
    const RobotLink& link = links[i];
    double gyration = 0;
    if (link.has_inertia && link.mass > 0)
      gyration = std::sqrt(std::max(CalcMoments(link.inertia)[2], 0.0) / link.mass);
    double near = reach[i];
    if (link.parent >= 0) near = std::max(near, reach[link.parent]);
    for (const auto* shapes : {&link.collisions, &link.visuals}) {
      for (const RobotShape& shape : *shapes) {
        if (!IsMesh(shape) || shape.piece > 0) continue;
        const double extent =
            CalcExtent(shape.surface.has_value() ? Geometry(*shape.surface) : shape.shape.geometry);
        if (extent < kSuspectSize) continue;
        std::string beside;
        if (gyration > 0 && extent > kMillimetreRatio * gyration) {
          beside =
              absl::StrCat("the link's inertia is that of a body of about ", 3 * gyration, " m");
        } else if (near > 0 && extent > kMillimetreRatio * near &&
                   (extent > kImplausibleSize || extent > kNeighbourRatio * near)) {
          beside = absl::StrCat("what is around it is about ", near, " m large");
        } else if (extent > kNeighbourRatio * median) {
          beside = absl::StrCat("the robot's other shapes are about ", median, " m large");
        }
        if (beside.empty()) continue;
        log->Warning(draft.places[i],
                     absl::StrCat(LinkName(link), ": mesh ", shape.mesh_file, " is ", extent,
                                  " m across, while ", beside,
                                  ". Is it in millimetres? Then scale it by 0.001"));
      }
    }
  }
}

}  // namespace

std::vector<RigidTransform> CalcLinkPoses(const std::vector<RobotLink>& links) {
  std::vector<RigidTransform> X_WB(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    const RobotLink& link = links[i];
    const Joint& joint = link.joint;
    const double q = link.initial_position;
    RigidTransform X_FM;
    if (joint.type == JointType::kRevolute || joint.type == JointType::kScrew)
      X_FM.R = RotationFromVector(q * joint.axis).toRotationMatrix();
    if (joint.type == JointType::kPrismatic) X_FM.p = q * joint.axis;
    if (joint.type == JointType::kScrew) X_FM.p = q / (2 * kPi) * joint.pitch * joint.axis;
    X_WB[i] = joint.X_PF * X_FM * joint.X_BM.Inverse();
    if (link.parent >= 0) X_WB[i] = X_WB[link.parent] * X_WB[i];
  }
  return X_WB;
}

std::vector<double> CalcJointInertias(const std::vector<RobotLink>& links) {
  const std::vector<RigidTransform> X_WB = CalcLinkPoses(links);
  const std::vector<Lump> lumps = CalcSubtrees(links, X_WB);
  std::vector<double> inertias(links.size(), 0);
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (CountVelocities(links[i].joint.type) == 1)
      inertias[i] = CalcJointInertia(links[i].joint, X_WB[i], lumps[i]);
  }
  return inertias;
}

std::vector<bool> FindMovingLinks(const std::vector<RobotLink>& links, bool fixed_base) {
  std::vector<bool> moving(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    const RobotLink& link = links[i];
    const bool decided_fixed = fixed_base && link.parent < 0 && link.joint.name.empty();
    moving[i] = (link.joint.type != JointType::kFixed && !decided_fixed) ||
                (link.parent >= 0 && moving[link.parent]);
  }
  return moving;
}

bool TakeInertiaFromShapes(double density, RobotLink* link) {
  Lump whole;
  for (const RobotShape& shape : link->collisions.empty() ? link->visuals : link->collisions) {
    // pieces of a mesh overlap, so use its surface, which is on the first piece
    if (shape.piece > 0) continue;
    const MassProperties mass = CalcShapeMass(shape);
    if (mass.volume > 0) whole.Add({mass.volume, mass.center, mass.inertia});
  }
  if (!(whole.mass > 0)) return false;
  const bool given = link->has_inertia && link->mass > 0;
  if (!given) link->mass = density * whole.mass;
  link->p_BoBcm = whole.center;
  link->inertia = link->mass / whole.mass * whole.inertia;
  return true;
}

void CheckLinks(const RobotFileOptions& options, RobotDraft* draft, RobotLog* log) {
  std::vector<RobotLink>& links = draft->robot.links;
  const std::vector<bool> moving = FindMovingLinks(links, options.fixed_base);
  for (std::size_t i = 0; i < links.size(); ++i)
    CheckInertia(options, moving[i], draft->places[i], &links[i], log);
  // missing mass may only be a consequence of other errors
  if (log->ok()) CompleteMovedInertia(options.default_density, moving, draft, log);
  WarnOfMillimetres(*draft, log);
}

}  // namespace pliant::physics
