#include "physics/contact/kinematics.h"

#include <functional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/physics/contact/contact_world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A state of a world as a trial configuration, with velocities that the test sets.
struct Trial {
  explicit Trial(const ContactWorld& world) : model(&world.model), positions(world.state.q) {
    for (const auto& block : world.model.blocks) {
      first_frame.push_back(static_cast<int>(frames.size()));
      const FrameSet* of_block = block->abilities().frames;
      frames.resize(frames.size() + (of_block ? of_block->num_frames() : 0));
    }
    for (std::size_t b = 0; b < world.model.blocks.size(); ++b) {
      const FrameSet* of_block = world.model.blocks[b]->abilities().frames;
      if (of_block == nullptr) continue;
      of_block->CalcFrames({world.model.Positions(world.state, static_cast<int>(b)), {}},
                           {frames.data() + first_frame[b], std::size_t(of_block->num_frames())});
    }
    velocities.assign(positions.size(), 0.0);
  }
  TrialConfiguration at() const {
    return {first_frame, frames, model->position_offsets, positions, velocities};
  }

  const Model* model;
  std::vector<int> first_frame;
  std::vector<FrameMotion> frames;
  std::vector<double> positions, velocities;
};

// Moves all frames and nodes along random velocities, which are those of the trials it returns.
class RandomMotion {
 public:
  RandomMotion(const ContactWorld& world, unsigned seed) : random_(seed), start_(world) {
    for (FrameMotion& frame : start_.frames) {
      frame.omega_W = 10 * Draw();
      frame.v_W = Draw();
    }
    for (double& v : start_.velocities) v = uniform_(random_);
  }
  const Trial& start() const { return start_; }

  // The trial after a time t.
  Trial At(double t) const {
    Trial moved = start_;
    for (FrameMotion& frame : moved.frames) {
      frame.X_WB.R = RotationFromVector(t * frame.omega_W).toRotationMatrix() * frame.X_WB.R;
      frame.X_WB.p += t * frame.v_W;
    }
    for (std::size_t i = 0; i < moved.positions.size(); ++i)
      moved.positions[i] += t * moved.velocities[i];
    return moved;
  }
  // The state of `world` after a time t.
  ContactWorld WorldAt(const ContactWorld& world, double t) const {
    const Trial moved = At(t);
    ContactWorld other = world;
    for (std::size_t b = 0; b < world.model.blocks.size(); ++b) {
      const int first = world.model.position_offsets[b];
      const int end = world.model.position_offsets[b + 1];
      if (world.model.blocks[b]->abilities().nodes != nullptr) {
        std::copy(moved.positions.begin() + first, moved.positions.begin() + end,
                  other.state.q.begin() + first);
        continue;
      }
      const RigidTransform& X_WB = moved.frames[moved.first_frame[b]].X_WB;
      for (int i = 0; i < 9; ++i) other.state.q[first + i] = X_WB.R(i % 3, i / 3);
      for (int i = 0; i < 3; ++i) other.state.q[first + 9 + i] = X_WB.p[i];
    }
    return other;
  }

 private:
  Vector3d Draw() { return {uniform_(random_), uniform_(random_), uniform_(random_)}; }

  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_{-1, 1};
  Trial start_;
};

struct Case {
  std::string name;
  std::function<ContactWorld()> make;
};

constexpr double kGap = 1e-7;  // [m]

std::vector<Case> MakeCases() {
  return {
      {"sphere on the face of a box",
       [] {
         ContactWorld world;
         world.AddRigid(Box{{0.1, 0.1, 0.1}}, At(0, 0, -0.1));
         world.AddRigid(Sphere{0.05}, At(0.01, 0.02, 0.05 + kGap));
         return world;
       }},
      {"sphere on a sphere",
       [] {
         ContactWorld world;
         world.AddRigid(Sphere{0.03}, At(0, 0, -0.03));
         world.AddRigid(Sphere{0.05}, At(0, 0, 0.05 + kGap));
         return world;
       }},
      {"box on a half-space",
       [] {
         ContactWorld world;
         world.AddRigid(HalfSpace{}, {});
         world.AddRigid(Box{{0.1, 0.1, 0.1}}, At(0, 0, 0.1 + kGap));
         return world;
       }},
      {"edge of a box across one of another",
       [] {
         ContactWorld world;
         const double half = 0.01 * std::sqrt(2);
         world.AddRigid(Box{{0.1, 0.01, 0.01}}, Posed({0.013, 0, 0}, {kPi / 4, 0, 0}));
         world.AddRigid(Box{{0.01, 0.1, 0.01}},
                        Posed({0, 0.017, 2 * half + kGap}, {0, kPi / 4, 0}));
         return world;
       }},
      {"vertices of a soft body on a sphere",
       [] {
         ContactWorld world;
         world.AddRigid(Sphere{0.05}, At(0, 0, -0.05));
         world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 2), At(0, 0, 0.05 + kGap));
         return world;
       }},
      {"vertices of a soft body on triangles of another",
       [] {
         ContactWorld world;
         world.AddSoft(MakeBoxSurface({0.4, 0.4, 0.2}, 1), At(0, 0, -0.1));
         world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 1), At(0.033, -0.021, 0.05 + kGap));
         return world;
       }},
      {"edge of a soft body across one of another",
       [] {
         ContactWorld world;
         const double half = 0.01 * std::sqrt(2);
         world.AddSoft(MakeBoxSurface({0.2, 0.02, 0.02}, 1), Posed({0.013, 0, 0}, {kPi / 4, 0, 0}));
         world.AddSoft(MakeBoxSurface({0.02, 0.2, 0.02}, 1),
                       Posed({0, 0.017, 2 * half + kGap}, {0, kPi / 4, 0}));
         return world;
       }},
  };
}

// Height of the lowest point of a round shape over a plane P.
double CalcLowest(const Geometry& shape, const RigidTransform& X_PB) {
  const Vector3d down = -X_PB.R.row(2).transpose();
  if (const auto* sphere = std::get_if<Sphere>(&shape)) return X_PB.p.z() - sphere->radius;
  if (const auto* ellipsoid = std::get_if<Ellipsoid>(&shape))
    return X_PB.p.z() - ellipsoid->radii.cwiseProduct(down).norm();
  const auto& cylinder = std::get<Cylinder>(shape);
  return X_PB.p.z() - cylinder.radius * down.head<2>().norm() -
         0.5 * cylinder.length * std::abs(down.z());
}

// For these pairs the kinematics are exact except for the gap at the start, which shifts the centre
// of a ball by half of it: when moved by 1e-3 of its radius, the direction is off by
// 1e-3 kGap / radius.
TEST(ContactKinematics, GapAndFrameAreThoseThatDetectionFindsAnew) {
  constexpr double kTime = 2e-5;  // [s]: up to 2e-5 m and 2e-4 rad per axis
  for (const Case& tested : MakeCases()) {
    int compared = 0;
    for (unsigned seed = 1; seed <= 5; ++seed) {
      ContactWorld world = tested.make();
      world.model.Finish();
      const std::vector<ContactPoint> contacts = world.Detect();
      ASSERT_FALSE(contacts.empty()) << tested.name;
      const RandomMotion motion(world, seed);
      const Trial trial = motion.At(kTime);
      const std::vector<ContactPoint> anew = motion.WorldAt(world, kTime).Detect();
      for (const ContactPoint& contact : contacts) {
        const ContactKinematics kinematics(world.model, contact, motion.start().at());
        const PlacedContact placed = kinematics.Place(trial.at());
        for (const ContactPoint& other : anew) {
          const bool is_same = other.key == contact.key &&
                               std::ranges::equal(other.a.nodes.nodes(), contact.a.nodes.nodes()) &&
                               std::ranges::equal(other.b.nodes.nodes(), contact.b.nodes.nodes());
          if (!is_same || contact.gap > 1e-4) continue;
          ++compared;
          EXPECT_GT(std::abs(other.gap - contact.gap), 1e-8) << tested.name;
          EXPECT_NEAR(placed.gap, other.gap, 2e-9) << tested.name;
          EXPECT_NEAR((placed.R_WC.col(2) - Normal(other)).norm(), 0, 2e-8) << tested.name;
        }
      }
    }
    EXPECT_GE(compared, 5) << tested.name;
  }
}

// The lowest point of a round shape on a plane moves over its surface as it rolls. Exact after a
// turn by up to 0.2 rad, but for rounding and for the gap at the start, kGap (1 − cos 0.2).
TEST(ContactKinematics, RoundShapesTouchAPlaneWhereTheyAreLowest) {
  constexpr double kTime = 1e-2;  // [s]
  const std::pair<Geometry, RigidTransform> shapes[] = {
      {Cylinder{0.05, 0.08},
       Posed({0, 0, 0.04 * std::sin(0.4) + 0.05 * std::cos(0.4) + kGap}, {kPi / 2 + 0.4, 0, 0})},
      {Cylinder{0.05, 0.08}, Posed({0, 0, 0.05 + kGap}, {kPi / 2, 0, 0})},
      {Ellipsoid{{0.03, 0.05, 0.04}}, At(0, 0, 0.04 + kGap)},
      {Sphere{0.05}, At(0, 0, 0.05 + kGap)}};
  for (const auto& [shape, pose] : shapes) {
    ContactWorld world;
    world.AddRigid(HalfSpace{}, {});
    world.AddRigid(shape, pose);
    world.model.Finish();
    const std::vector<ContactPoint> contacts = world.Detect();
    ASSERT_FALSE(contacts.empty());
    for (unsigned seed = 1; seed <= 5; ++seed) {
      const RandomMotion motion(world, seed);
      const Trial trial = motion.At(kTime);
      double lowest = 1;
      for (const ContactPoint& contact : contacts) {
        const ContactKinematics kinematics(world.model, contact, motion.start().at());
        lowest = std::min(lowest, kinematics.Place(trial.at()).gap);
      }
      const RigidTransform X_PB = trial.frames[0].X_WB.Inverse() * trial.frames[1].X_WB;
      const double exact = CalcLowest(shape, X_PB);
      EXPECT_NEAR(lowest, exact, 2e-9) << shape.index() << ", seed " << seed;
    }
  }
}

// The error of central differences comes from the gap's third derivative: (10/s · 1e-6 s)² of the
// rate.
TEST(ContactKinematics, RateOfTheGapIsTheRelativeVelocityAlongTheNormal) {
  constexpr double kStep = 1e-6;  // [s]
  for (const Case& tested : MakeCases()) {
    ContactWorld world = tested.make();
    world.model.Finish();
    const RandomMotion motion(world, 7);
    for (const ContactPoint& contact : world.Detect()) {
      const ContactKinematics kinematics(world.model, contact, motion.start().at());
      // at the start and away from it
      for (const double t : {0.0, 1e-3}) {
        const Trial here = motion.At(t);
        const PlacedContact placed = kinematics.Place(here.at());
        const double ahead = kinematics.Place(motion.At(t + kStep).at()).gap,
                     behind = kinematics.Place(motion.At(t - kStep).at()).gap;
        const Vector3d velocity = kinematics.CalcRelativeVelocity(here.at(), placed);
        // away from the start the points are up to 1 mm apart, so the normal's rotation at about 10
        // rad/s adds to the rate
        const double slid = t == 0 ? 0 : (placed.p_B - placed.p_A).norm();
        EXPECT_NEAR(placed.R_WC.col(2).dot(velocity), (ahead - behind) / (2 * kStep),
                    1e-6 + 30 * slid)
            << tested.name << " at " << t;
      }
    }
  }
}

TEST(ContactKinematics, RelativeVelocityIsTheProductOfRowsAndVelocities) {
  for (const Case& tested : MakeCases()) {
    ContactWorld world = tested.make();
    world.model.Finish();
    const RandomMotion motion(world, 3);
    const TrialConfiguration at = motion.start().at();
    for (const ContactPoint& contact : world.Detect()) {
      const ContactKinematics kinematics(world.model, contact, at);
      const PlacedContact placed = kinematics.Place(at);
      EXPECT_NEAR((placed.R_WC - contact.R_WC).norm(), 0, 1e-12) << tested.name;
      EXPECT_NEAR(placed.gap, contact.gap, 1e-12) << tested.name;
      const auto velocity_of = [&](const Attachment& side, const Vector3d& p_W) {
        Vector3d v = Vector3d::Zero();
        if (side.nodes.empty()) {
          const FrameMotion& frame = at.frame(side.block, side.frame);
          Eigen::Matrix<double, 6, 1> twist;
          twist << frame.omega_W, frame.v_W;
          return Vector3d(CalcPointJacobian(frame.X_WB, p_W) * twist);
        }
        for (int k = 0; k < side.nodes.size(); ++k)
          v += side.nodes.weight(k) * at.velocity(side.block, side.nodes.node(k));
        return v;
      };
      const Vector3d expected = velocity_of(kinematics.attachment_b(), placed.p_B) -
                                velocity_of(kinematics.attachment_a(), placed.p_A);
      EXPECT_NEAR((kinematics.CalcRelativeVelocity(at, placed) - expected).norm(), 0, 1e-13)
          << tested.name;
    }
  }
}

}  // namespace
}  // namespace pliant::physics
