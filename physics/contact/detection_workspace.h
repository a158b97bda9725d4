#pragma once

#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tbb/enumerable_thread_specific.h>

#include "physics/contact/broad_phase.h"
#include "physics/contact/contact_detection.h"
#include "physics/contact/geometries/collision_geometry.h"
#include "physics/contact/pairs/pair_table.h"
#include "physics/contact/speculation.h"

namespace pliant::physics {

// Coefficient of friction beyond which the gap of sliding contacts grows no further: at higher
// friction, bodies do not slide for long, and passing bodies must not be held.
inline constexpr double kMaxSlidingFriction = 2;

// State of contact detection between calls and while it runs: the geometry of all bodies where
// they are, the pairs that may meet, and their contacts.
struct ContactDetector::Workspace {
  double largest_friction = 0;
  int num_deforming = 0;  // bodies with a surface or points
  // largest gap beyond the margin at which contacts are kept, per sliding speed: divided by μ, and
  // for the largest μ
  double sliding_time = 0, sliding_reach = 0;  // [m / (m/s)]
  std::vector<GeometryKind> kinds;             // per body
  // shapes of all bodies; those of body i begin at shape_starts[i]
  std::vector<CollisionShape> shapes;
  std::vector<int> shape_starts{0};
  // Collision geometry at present positions, or at later ones on request.
  struct Places {
    std::vector<PlacedShape> shapes;
    // per body; null for other kinds
    std::vector<std::unique_ptr<TriangleSurface>> surfaces;
    std::vector<std::unique_ptr<PointSet>> points;
    std::vector<CollisionGeometry> geometries;
    std::vector<std::vector<double>> positions;  // of the nodes per body, unless the state's
  };
  Places now, ahead;
  std::vector<double> thickness;  // per body [m]
  std::vector<int> selves;        // bodies with self-contact
  // Nodes attached to a body of another block, ascending. A node does not touch its holder.
  struct HeldNode {
    int holder, block, node;
    auto operator<=>(const HeldNode&) const = default;
  };
  std::vector<HeldNode> held;
  bool IsHeld(int holder, const Attachment& side) const;
  std::vector<std::pair<int, int>> overlaps;
  std::vector<int> pair_starts;  // first pair of each body_a in the model's pairs
  std::vector<char> is_immovable, has_convex_shapes, is_ball;
  std::vector<int> group_starts;  // first body of each run of bodies in one block

  std::vector<AxisAlignedBox> extents;  // per body
  // Bounds on where bodies may be during the step, by their velocities at its start or by the
  // solved velocities.
  struct SweptBounds {
    std::vector<MotionBound> motions;   // per body
    std::vector<AxisAlignedBox> boxes;  // swept, grown by half the margin and the sliding reach
  };
  SweptBounds swept, new_swept;
  BroadPhase broad_phase;

  struct PairTask {
    int body_a, body_b;
    const ContactParameters::Pair* pair;
    double approach;  // bound on the approach speed [m/s]
    double reach;     // largest gap beyond the margin of a sliding contact [m]
  };
  std::vector<PairTask> tasks, last_tasks;
  // surface data that the tasks need
  enum class Needed { kNothing, kTriangles, kTree };
  std::vector<Needed> needed;  // per body
  std::vector<int> outdated;   // bodies that need an update
  struct PairContacts {
    std::vector<ContactPoint> points;
    // Features beyond the margin that do not close in the step by the motion at its start.
    std::vector<ContactPoint> apart;
    bool is_at_times = false;  // the bodies may tunnel: detect at several times
    double reach = 0;          // all features with smaller gaps are in `points` or `apart` [m]
    // Keys, ascending, of `points` whose features may pass each other before they touch.
    std::vector<std::uint64_t> doubtful;
    Counts counts;
  };
  std::vector<PairContacts> found, last_found;  // per task
  PairContacts changed;                         // of a pair whose motion has changed
  const std::vector<ContactPoint> nothing{};
  std::vector<char> is_known;  // per task: found before, and neither body has moved since

  // unmoved blocks: at rest at this and the last call, in the same position
  double last_h = 0;
  std::vector<double> last_q;
  std::vector<char> was_still, is_unmoved;
  bool has_moved = true;  // any block
  struct Scratch {
    NarrowScratch narrow;
    std::vector<Touch> touches;
    SpeculationScratch speculation;
    std::vector<ContactPoint> appended;
  };
  tbb::enumerable_thread_specific<Scratch> scratch;

  void FindUnmoved(const Model& model, const State& state, double h);
  bool is_body_unmoved(const Body& body) const {
    return body.block == kWorldBlock || is_unmoved[body.block];
  }
  void MakeGeometry(const Model& model, int body, Places* places) const;
  void Place(const Model& model, const State& state, const BodyMotions& motions, double h);
  // Places a body's surface or points.
  void PlaceNodes(const Body& body, std::span<const double> positions, int index,
                  Places* places) const;
  const AxisAlignedBox& BoundsOf(const CollisionGeometry& geometry) const {
    return geometry.kind == GeometryKind::kSurface ? geometry.surface->bounds()
                                                   : geometry.points->bounds();
  }
  // Surface data of the first body that a pair of these kinds needs: the tree only against another
  // surface or points.
  static Needed FindNeeded(GeometryKind kind, GeometryKind other) {
    if (kind != GeometryKind::kSurface) return Needed::kNothing;
    return other == GeometryKind::kShapes ? Needed::kTriangles : Needed::kTree;
  }
  // Bounds where a placed body may be during the step.
  void CalcSweptBounds(const Model& model, const State& state, const BodyMotions& motions, double h,
                       int body, double reach_of_speed, SweptBounds* bounds) const;
  template <typename F>
  void ForEachBody(const Model& model, const F& f) const;
  // Finds the pairs that may meet. RESOURCE_EXHAUSTED when there are too many.
  absl::Status FindTasks(const Model& model, double h);
  // Number of bodies whose initial velocity moves them farther in the step than their length.
  int CountFastBodies(const Model& model, double h) const;
  // Fills in the task of two bodies whose swept bounds overlap; false if there is nothing to do.
  bool MakeTask(const Model& model, double h, const SweptBounds& bounds, double reach_of_speed,
                int a, int b, PairTask* task) const;
  // True if two bodies may come within the margin plus `reach`, or pass each other, during the
  // step.
  bool MayMeet(const Model& model, double h, const SweptBounds& bounds, int a, int b,
               double reach) const;
  void Collide(const Model& model, const State& state, const BodyMotions& motions, double h,
               const PairTask& task, Scratch* buffers, PairContacts* contacts) const;
  // Appends the contacts of a pair with gap below `margin`, and counts those left out.
  void CollideAt(const Places& places, const Model& model, const State& state, double h,
                 const PairTask& task, double margin, Scratch* buffers,
                 std::vector<ContactPoint>* contacts, Counts* counts) const;
  void PlaceAhead(const Model& model, const State& state, const BodyMotions& motions, int body,
                  double t);
  // Updates the surface data that a pair needs.
  void UpdateSurfaces(const PairTask& task, Places* places) const;
  // Search range for the contacts of a pair, by the travel of its bodies in the step: the margin;
  // the margin and the travel; or detections at several times if the bodies may tunnel.
  enum class Search { kMargin, kAhead, kAtTimes };
  Search FindSearch(const Model& model, const SweptBounds& bounds, double h,
                    const PairTask& task) const;
  // True if a pair is of two bodies of convex shapes.
  bool AreConvex(const PairTask& task) const;
  // True if two such bodies may touch in the step, given their `points` within reach: if the
  // separating plane at one of them may be crossed.
  bool MayClose(const Model& model, const SweptBounds& bounds, double h,
                const std::vector<ContactPoint>& points) const;
  // Splits the features found into contacts and those that stay apart; marks doubtful contacts.
  void SelectClosing(const Model& model, const State& state, const BodyMotions& motions, double h,
                     double margin, PairContacts* contacts) const;
  // True if two features that approach each other must touch, because one of them stays over a face
  // of the other body. `v_AB`: velocity of B relative to A [m/s].
  bool MustTouch(const ContactPoint& point, const Eigen::Vector3d& v_AB) const;
  // CollideAt after a time t of steady motion, with ascending keys.
  void CollideLater(const Model& model, const State& state, const BodyMotions& motions, double h,
                    const PairTask& task, double t, double margin, Scratch* buffers,
                    std::vector<ContactPoint>* met, Counts* counts);
  // Appends the contacts that a pair makes within the step after its motion has changed; its new
  // bounds are new_swept. `last`: its contacts found before; null if none.
  void FindAhead(const Model& model, const State& state, const BodyMotions& motions, double h,
                 const PairTask& task, const PairContacts* last,
                 std::vector<ContactPoint>* contacts, Counts* counts);
  // Appends the contacts that a pair of bodies makes during the step besides the known ones, with
  // ascending keys.
  void FindSpeculative(const Model& model, const State& state, const BodyMotions& motions, double h,
                       const SweptBounds& bounds, const PairTask& task, bool is_at_times,
                       const std::vector<ContactPoint>& known, std::vector<std::uint64_t>* doubtful,
                       std::vector<ContactPoint>* contacts, Counts* counts);
};

// Sorts contacts by key. Where two features coincide, the deeper contact stays.
void SortContacts(std::vector<ContactPoint>* contacts);

}  // namespace pliant::physics
