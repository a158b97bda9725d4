#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "physics/contact/geometries/collision_geometry.h"
#include "physics/dynamics/body_motions.h"
#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/model.h"

namespace pliant::physics {

// Bound on a body's motion: a common velocity, and the largest deviation of any point from it
// [m/s].
struct MotionBound {
  Eigen::Vector3d velocity = Eigen::Vector3d::Zero();
  double deviation = 0;

  double speed() const;
};
// `kind` and `bounds` are of the body's collision geometry.
MotionBound BoundMotion(const Model& model, const State& state, const BodyMotions& motions,
                        int body, GeometryKind kind, const AxisAlignedBox& bounds);

// A bound on the speed at which points of two bodies may near each other [m/s].
double BoundApproach(const MotionBound& a, const MotionBound& b);

// The pose of a frame after a time t of steady motion [s].
RigidTransform Advance(const FrameMotion& motion, double t);

// Velocity of one side of a contact at the start of the step [m/s]; `p_W` is the contact point.
Eigen::Vector3d CalcAttachedVelocity(const Model& model, const State& state,
                                     const BodyMotions& motions, const Attachment& side, int body,
                                     const Eigen::Vector3d& p_W);

// A bound on the speed at which two bodies may approach each other along n, from A into B [m/s];
// negative if they separate.
double BoundApproachAlong(const Eigen::Vector3d& n, const MotionBound& a, const MotionBound& b);

// A pair of bodies in the coming step.
struct ApproachingPair {
  const MotionBound &a, &b;
  bool are_convex;   // whether a plane between the nearest points of two shapes separates them
  double approach;   // bound on the approach speed of their points [m/s]
  double thickness;  // of the thinner body [m]
  double margin;     // contacts with smaller gaps exist already [m]
  bool all_known;    // whether `known` has all features that may meet
  double spacing;    // minimum travel between detections [m]
  // Appends the pair's contacts with gap below `reach` after a time t of steady motion.
  std::function<void(double t, double reach, std::vector<ContactPoint>*)> collide;
};

// Scratch of the search.
struct SpeculationScratch {
  std::vector<std::uint64_t> known;
  std::vector<ContactPoint> found;
};

// Features that turn may meet elsewhere than where they are nearest now. They then get up to this
// many further contacts, posed where they meet, each with the key that follows that of the last.
inline constexpr int kMaxPoses = 3;
std::uint64_t NextPoseKey(std::uint64_t key);

// Relative travel of two bodies in a step up to which contacts within the margin suffice [m]: half
// of the margin. The other half allows for changes of velocity in the step.
double CalcSafeTravel(double margin);
// Relative travel up to which bodies cannot tunnel if the thinner one has this thickness [m].
double CalcSafeDepth(double thickness);

// Speculative contacts: appends to `contacts` those that the bodies of a pair, in steady motion,
// make during a step of length h and that are not `known`. Features meet where they overlap at some
// time of the step; features that pass each other get no contact, however close. Times are spaced
// such that features are found before they overlap by more than a quarter of the thickness, so that
// the normal is that of the side on which they entered.
//
// Each contact has its present gap along the normal that it will have, and no relaxation: the two
// may touch at the end of the step, but not overlap. ContactPoint::time_ahead and gap_rate give its
// time and rate.
//
// `doubtful` holds the ascending keys of known contacts whose gaps close in the step at their
// present rates, but whose features may pass each other, as at a corner or a seam. The keys of
// those that do meet are removed.
//
// Returns the number of contacts left out because they were already too deep when found; 0 if the
// pair has other contacts.
int AppendSpeculativeContacts(const Model& model, const State& state, const BodyMotions& motions,
                              double h, const ApproachingPair& pair,
                              const std::vector<ContactPoint>& known, SpeculationScratch* scratch,
                              std::vector<ContactPoint>* contacts,
                              std::vector<std::uint64_t>* doubtful);

}  // namespace pliant::physics
