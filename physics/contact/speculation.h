#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "physics/contact/geometries/collision_geometry.h"
#include "physics/dynamics/body_motions.h"
#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/model.h"

namespace pliant::physics {

// How a body moves: as a whole, and how much faster than that any of its points may be [m/s].
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

// Velocity at the start of the step of what a contact is attached to on one side [m/s]; `p_W` is a
// point of it.
Eigen::Vector3d CalcAttachedVelocity(const Model& model, const State& state,
                                     const BodyMotions& motions, const Attachment& side, int body,
                                     const Eigen::Vector3d& p_W);

// A pair of bodies during the coming step.
struct ApproachingPair {
  double approach;   // bound on the speed at which their points near each other [m/s]
  double thickness;  // of the thinner of the two [m]
  double margin;     // contacts nearer than this exist already [m]
  // Appends the pair's contacts with gap below `reach` after a time t of steady motion.
  std::function<void(double t, double reach, std::vector<ContactPoint>*)> collide;
};

// Buffers of the search; they change no result.
struct SpeculationScratch {
  std::vector<std::uint64_t> known;
  std::vector<ContactPoint> found;
};

// How far anything may travel and be found by ordinary contact before it is too deep in [m].
double CalcSafeTravel(double margin, double thickness);
// Whether what travels so far in a step [m] is found by ordinary contact before it is too deep in.
bool IsFoundInTime(double travel, double margin, double thickness);

// Speculative contacts: appends to `contacts` those that the bodies of a pair, moving on steadily,
// make in the course of a step of length h, so that nothing fast passes through what is thin. They
// are found where and when they come to pass, nearer than the margin; what passes by further off
// gets none, and what is `known` no other. Each has its gap as it is now along the normal that it
// will have, no friction and no relaxation: it lets the two touch at the end of the step and no
// more. ContactPoint::time_ahead and gap_rate say when it comes to pass and how fast.
//
// What gets in by less than the margin or a quarter of the thickness gets none either: ordinary
// contact, with friction, finds it in time and brings it out where it went in.
//
// Returns how many contacts were too deep already when they were found, and so left out.
int AppendSpeculativeContacts(const Model& model, const State& state, const BodyMotions& motions,
                              double h, const ApproachingPair& pair,
                              const std::vector<ContactPoint>& known, SpeculationScratch* scratch,
                              std::vector<ContactPoint>* contacts);

}  // namespace pliant::physics
