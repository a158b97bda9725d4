#include "physics/contact/contact_detection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include "physics/contact/broad_phase.h"
#include "physics/dynamics/faults/fault.h"
#include "tests/physics/contact/contact_world.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Returns a heap of all kinds of bodies over a floor.
ContactWorld MakeHeap(int rigid_count) {
  ContactWorld world;
  world.AddRigid(HalfSpace{}, {}, Motion::kFixed);
  world.AddRigid(Box{{1, 1, 0.05}}, Posed({0, 0, 0.02}, {0.1, 0.05, 0}), Motion::kKinematic);
  const TriangleMesh ball = MakeBallSurface(0.05, 2);
  for (int i = 0; i < 4; ++i) world.AddSoft(ball, At(0.095 * i, 0.01 * i, 0.13));
  const std::vector<Geometry> kinds = {
      Box{{0.03, 0.04, 0.05}},
      Sphere{0.04},
      Cylinder{0.03, 0.08},
      Capsule{0.03, 0.05},
      Ellipsoid{{0.05, 0.04, 0.03}},
      ConvexMesh{std::make_shared<TriangleMesh>(MakeBoxSurface({0.07, 0.06, 0.05}, 2))}};
  for (int i = 0; i < rigid_count; ++i) {
    const Vector3d p(0.06 * (i % 7), 0.06 * (i / 7 % 7), 0.1 + 0.06 * (i / 49));
    world.AddRigid(kinds[i % kinds.size()], Posed(p, {0.3 * i, 0.7 * i, 0.1 * i}));
  }
  world.model.Finish();
  return world;
}

bool IsSame(const ContactPoint& x, const ContactPoint& y) {
  return x.key == y.key && x.body_a == y.body_a && x.body_b == y.body_b && x.gap == y.gap &&
         x.p_W == y.p_W && x.R_WC == y.R_WC && x.area == y.area && x.a.nodes == y.a.nodes &&
         x.b.nodes == y.b.nodes;
}

bool AreSame(const std::vector<ContactPoint>& x, const std::vector<ContactPoint>& y) {
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), IsSame);
}

TEST(ContactDetector, BitsAreTheSameForOneAndTwoThreadsAndFromCallToCall) {
  const ContactWorld world = MakeHeap(150);
  std::vector<ContactPoint> first;
  for (int threads : {1, 2, 4}) {
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    ContactDetector detector(world.model);
    for (int call = 0; call < 5; ++call) {
      const std::vector<ContactPoint> contacts = detector.Detect(world.state, 0.01);
      if (first.empty()) first = contacts;
      EXPECT_GT(contacts.size(), 300u);
      EXPECT_TRUE(AreSame(contacts, first)) << threads << " " << call;
    }
  }
}

TEST(ContactDetector, WhatWasDetectedBeforeChangesNothing) {
  ContactWorld world = MakeHeap(60);
  const std::vector<ContactPoint> fresh = ContactDetector(world.model).Detect(world.state, 0.01);
  ContactDetector detector(world.model);
  State elsewhere = world.state;
  for (double& q : elsewhere.q) q *= 1.01;
  detector.Detect(elsewhere, 0.01);
  EXPECT_TRUE(AreSame(detector.Detect(world.state, 0.01), fresh));
}

// A body without shapes is, for example, a tool frame or an inner axis of a shoulder.
TEST(ContactDetector, BodiesWithoutShapesHideNothing) {
  ContactWorld world = MakeHeap(20);
  const std::vector<ContactPoint> contacts = world.Detect();
  for (const ContactPoint& contact : contacts)
    world.state.contacts.push_back({contact.key, Vector3d::Zero()});
  std::sort(world.state.contacts.begin(), world.state.contacts.end(),
            [](const ContactMemory& x, const ContactMemory& y) { return x.key < y.key; });
  const std::size_t count = ContactDetector(world.model).Detect(world.state, 0.01).size();
  world.AddRigid(std::vector<Shape>(), At(0.1, 0.1, 0.2));
  world.model.Finish();
  EXPECT_EQ(ContactDetector(world.model).Detect(world.state, 0.01).size(), count);
}

TEST(ContactDetector, PairsAscendKeysAscendWithinThemAndNoneIsTwice) {
  const std::vector<ContactPoint> contacts = MakeHeap(200).Detect();
  std::set<std::uint64_t> keys;
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const ContactPoint& here = contacts[i];
    EXPECT_LT(here.body_a, here.body_b);
    EXPECT_TRUE(keys.insert(here.key).second);
    EXPECT_NEAR((here.R_WC * here.R_WC.transpose() - Eigen::Matrix3d::Identity()).norm(), 0, 1e-14);
    EXPECT_NEAR(here.R_WC.determinant(), 1, 1e-14);
    EXPECT_LT(here.gap, 0.002);
    if (i == 0) continue;
    const ContactPoint& last = contacts[i - 1];
    EXPECT_LT(std::tuple(last.body_a, last.body_b, last.key),
              std::tuple(here.body_a, here.body_b, here.key));
  }
}

TEST(ContactDetector, KeysStayWhileTheSameFeaturesTouch) {
  const auto keys_of = [](double x, double tilt) {
    ContactWorld world;
    world.AddRigid(Box{{1, 1, 0.1}}, At(0, 0, -0.1), Motion::kFixed);
    world.AddRigid(Box{{0.05, 0.05, 0.05}},
                   Posed({x, 0.3 * x, 0.05 - 1e-4}, {tilt, -0.5 * tilt, 10 * tilt}));
    world.AddRigid(Cylinder{0.03, 0.1}, Posed({0.3 + x, 0, 0.05 - 1e-4}, {tilt, 0, 0}));
    world.AddRigid(Capsule{0.03, 0.1}, Posed({0.5 + x, 0, 0.03 - 1e-4}, {kPi / 2 + tilt, 0, 0}));
    world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 3), At(-0.3 + x, 0, 0.05 - 1e-4));
    std::set<std::uint64_t> keys;
    for (const ContactPoint& point : world.Detect()) keys.insert(point.key);
    return keys;
  };
  const auto keys = keys_of(0, 0);
  EXPECT_EQ(keys.size(), 4u + 8u + 2u + 16u);
  for (double x : {1e-6, 1e-3, 0.02}) EXPECT_EQ(keys_of(x, 0), keys) << x;
  // tilts small enough that everything stays within the margin
  for (double tilt : {1e-9, 1e-6, 5e-5, -5e-5}) EXPECT_EQ(keys_of(0, tilt), keys) << tilt;
}

TEST(ContactDetector, KeysOfATippingBoxStayOnItsEdge) {
  // once the box stands on an edge, its two contacts keep the keys of that edge's corners
  std::set<std::uint64_t> last;
  for (double tilt : {0.1, 0.3, 0.7, 0.8, 1.2}) {
    ContactWorld world;
    world.AddRigid(Box{{1, 1, 0.1}}, At(0, 0, -0.1), Motion::kFixed);
    const double height = 0.05 * (std::sin(tilt) + std::cos(tilt));
    world.AddRigid(Box{{0.05, 0.05, 0.05}}, Posed({0, 0, height}, {0, tilt, 0}));
    std::set<std::uint64_t> keys;
    for (const ContactPoint& point : world.Detect()) keys.insert(point.key);
    EXPECT_EQ(keys.size(), 2u);
    if (!last.empty()) {
      EXPECT_EQ(keys, last) << tilt;
    }
    last = keys;
  }
}

TEST(ContactDetector, MarginBoundsEveryGap) {
  for (double margin : {0.0, 1e-3, 5e-3}) {
    for (double gap : {-1e-3, 5e-4, 4e-3, 6e-3}) {
      ContactWorld world;
      world.model.contact.margin = margin;
      world.AddRigid(HalfSpace{}, {}, Motion::kFixed);
      world.AddRigid(Sphere{0.05}, At(0, 0, 0.05 + gap));
      world.AddRigid(Box{{0.05, 0.05, 0.05}}, At(1, 0, 0.05 + gap));
      world.AddSoft(MakeBoxSurface({0.1, 0.1, 0.1}, 1), At(-1, 0, 0.05 + gap));
      EXPECT_EQ(world.Detect().size(), gap < margin ? 9u : 0u) << margin << " " << gap;
    }
  }
}

TEST(ContactDetector, ParametersComeFromWorldThenShapesThenPairs) {
  const auto detect = [](double friction_a, double friction_b, double stiffness_a,
                         double stiffness_b, const std::vector<ContactParameters::Pair>& pairs) {
    ContactWorld world;
    world.model.contact.friction = 0.4;
    world.model.contact.stiffness = 1e6;
    world.model.contact.pairs = pairs;
    world.AddRigid({Shape{{}, HalfSpace{}, friction_a, stiffness_a}}, {}, Motion::kFixed);
    world.AddRigid({Shape{{}, Sphere{0.05}, friction_b, stiffness_b}}, At(0, 0, 0.05));
    return world.Detect(0.02);
  };
  const auto plain = detect(-1, -1, -1, -1, {});
  ASSERT_EQ(plain.size(), 1u);
  EXPECT_EQ(plain[0].friction, 0.4);
  EXPECT_EQ(plain[0].stiffness, 1e6);
  EXPECT_EQ(plain[0].relaxation_time, 0.02);
  EXPECT_EQ(detect(0.8, -1, -1, 500, {})[0].friction, 0.8);
  EXPECT_EQ(detect(0.8, -1, -1, 500, {})[0].stiffness, 500);
  EXPECT_EQ(detect(0.8, 0.2, 300, 600, {})[0].friction, 0.5);
  EXPECT_EQ(detect(0.8, 0.2, 300, 600, {})[0].stiffness, 200);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(detect(0.8, 0.2, 300, infinity, {})[0].stiffness, 300);
  EXPECT_EQ(detect(0.8, 0.2, 300, 600, {{0, 1, 0, -1, true}})[0].friction, 0);
  EXPECT_EQ(detect(0.8, 0.2, 300, 600, {{0, 1, 0, -1, true}})[0].stiffness, 200);
  EXPECT_EQ(detect(0.8, 0.2, 300, 600, {{0, 1, 0.1, 7, true}})[0].stiffness, 7);
  EXPECT_TRUE(detect(0.8, 0.2, 300, 600, {{0, 1, -1, -1, false}}).empty());
}

TEST(ContactDetector, WhatCannotMoveMakesNoContactWithWhatCannotEither) {
  for (Motion a : {Motion::kFixed, Motion::kKinematic, Motion::kFree}) {
    for (Motion b : {Motion::kFixed, Motion::kKinematic, Motion::kFree}) {
      ContactWorld world;
      world.AddRigid(Sphere{0.05}, At(0, 0, 0), a);
      world.AddRigid(Sphere{0.05}, At(0, 0, 0.09), b);
      EXPECT_EQ(world.Detect().size(), a == Motion::kFree || b == Motion::kFree ? 1u : 0u);
    }
  }
}

TEST(BroadPhase, FindsThePairsThatBruteForceFinds) {
  std::uint64_t seed = 1;
  const auto uniform = [&] {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(seed >> 11) / (1ull << 53);
  };
  // from none to enough boxes for the sweep to use strips
  for (int count : {0, 1, 2, 10, 49, 300, 2000}) {
    std::vector<AxisAlignedBox> boxes;
    for (int i = 0; i < count; ++i) {
      const Vector3d p(uniform(), 3 * uniform(), uniform());
      AxisAlignedBox box{p, p};
      box.Grow(0.1 * uniform());
      if (i % 50 == 7) box = AxisAlignedBox{};
      if (i % 50 == 9) box.Grow(1e6);
      if (i % 50 == 11) box.upper.y() += 2;
      boxes.push_back(box);
    }
    // boxes at their places, moved slightly, and scattered along another axis
    BroadPhase broad_phase;
    for (const double distance : {0.0, 0.02, 5.0}) {
      for (AxisAlignedBox& box : boxes) {
        const double x = distance * uniform();
        box.lower.x() += x;
        box.upper.x() += x;
      }
      std::vector<std::pair<int, int>> expected;
      for (int i = 0; i < count; ++i)
        for (int j = i + 1; j < count; ++j)
          if (boxes[i].Overlaps(boxes[j])) expected.emplace_back(i, j);
      EXPECT_EQ(broad_phase.FindOverlaps(boxes), expected) << count;
      // the same in groups of one to three boxes
      std::vector<int> starts;
      for (int i = 0, k = 0; i < count; i += 1 + k++ % 3) starts.push_back(i);
      starts.push_back(count);
      EXPECT_EQ(broad_phase.FindOverlaps(boxes, starts), expected) << count;
      // the same without state from earlier calls
      EXPECT_EQ(BroadPhase().FindOverlaps(boxes), expected) << count;
      // only pairs of chosen boxes: none, a few and many
      for (const int every : {count + 1, 1 + count / 8, 3}) {
        std::vector<char> is_chosen(count, 0);
        for (int i = every - 1; i < count; i += every) is_chosen[i] = 1;
        std::vector<std::pair<int, int>> of_chosen;
        for (const auto& [i, j] : expected)
          if (is_chosen[i] || is_chosen[j]) of_chosen.emplace_back(i, j);
        EXPECT_EQ(broad_phase.FindOverlapsOf(is_chosen, boxes, starts), of_chosen) << count;
      }
    }
  }
}

// n boxes that all overlap form n (n − 1) / 2 pairs; the search ends soon after the limit, on every
// path: few boxes, strips, groups and chosen boxes.
TEST(BroadPhase, GivesUpWhereEverythingOverlaps) {
  for (const int count : {40, 1000}) {
    const std::vector<AxisAlignedBox> boxes(count,
                                            AxisAlignedBox{Vector3d::Zero(), Vector3d::Ones()});
    const std::size_t all = count * (count - 1) / 2, most = 500;
    std::vector<int> starts;
    for (int i = 0; i < count; i += 2) starts.push_back(i);
    starts.push_back(count);
    std::vector<char> few(count, 0);
    few[0] = few[1] = few[2] = 1;
    for (const std::vector<char>& chosen : {few, std::vector<char>(count, 1)}) {
      BroadPhase broad_phase(most), unbounded(all);
      const bool is_chosen_few = chosen == few && 3 * count < static_cast<int>(most);
      EXPECT_LE(broad_phase.FindOverlaps(boxes).size(), most + count);
      EXPECT_TRUE(broad_phase.gave_up());
      EXPECT_LE(broad_phase.FindOverlaps(boxes, starts).size(), most + 2 * count);
      EXPECT_TRUE(broad_phase.gave_up());
      EXPECT_LE(broad_phase.FindOverlapsOf(chosen, boxes, starts).size(), most + 2 * count);
      EXPECT_EQ(broad_phase.gave_up(), !is_chosen_few);
      EXPECT_EQ(unbounded.FindOverlaps(boxes).size(), all);
      EXPECT_EQ(unbounded.FindOverlaps(boxes, starts).size(), all);
      EXPECT_FALSE(unbounded.gave_up());
      // later it still finds all pairs, where they are fewer
      EXPECT_EQ(broad_phase.FindOverlaps(std::span(boxes).first(20)).size(), 190u);
      EXPECT_FALSE(broad_phase.gave_up());
    }
  }
}

// A contact that carried an impulse and slides is kept beyond the margin, up to a gap of
// sliding_time μ ‖v_t‖ = 10 mm.
TEST(ContactDetector, KeepsSlidingContactsUpToTheGapThatAMethodAsksFor) {
  ContactWorld world;
  world.model.contact.margin = 0.002;
  world.model.contact.friction = 0.5;
  world.AddRigid(HalfSpace{}, {}, Motion::kFixed);
  world.AddRigid(Sphere{0.05}, At(0, 0, 0.05));
  auto moving = std::make_shared<PlacedBlock>(0);
  moving->v_W = {1, 0, 0};
  world.model.blocks[0] = moving;
  const std::vector<ContactPoint> touching = world.Detect();
  ASSERT_EQ(touching.size(), 1u);
  const auto count = [&](double gap, double sliding_time) {
    world.Place(1, At(0, 0, 0.05 + gap));
    ContactDetector detector(world.model);
    detector.set_sliding_time(sliding_time);
    return detector.Detect(world.state, 0.01).size();
  };
  EXPECT_EQ(count(0.011, 0.02), 0u);
  world.state.contacts = {{touching[0].key, {0, 0, 1}}};
  EXPECT_EQ(count(0.011, 0), 0u);
  EXPECT_EQ(count(0.011, 0.02), 1u);
  EXPECT_EQ(count(0.013, 0.02), 0u);
}

// Points dropped from a manifold are counted: of the plate's 21 × 21 lower vertices, sixteen are
// kept.
TEST(ContactDetector, CountsThePointsThatAManifoldLeavesOut) {
  ContactWorld world;
  world.AddRigid(HalfSpace{}, {}, Motion::kFixed);
  const auto plate = std::make_shared<TriangleMesh>(MakeBoxSurface({1, 1, 0.1}, 20));
  world.AddRigid(SurfaceMesh{plate, std::make_shared<TriangleBvh>(*plate)}, At(0, 0, 0.05));
  world.model.Finish();
  ContactDetector detector(world.model);
  const std::size_t kept = detector.Detect(world.state, 0.01).size();
  EXPECT_EQ(kept, 16u);
  EXPECT_EQ(detector.counts().manifold_points_dropped, 21 * 21 - 16);
  // pairs that have not moved are not detected again, but still count
  detector.Detect(world.state, 0.01);
  EXPECT_EQ(detector.counts().manifold_points_dropped, 21 * 21 - 16);
  world.Place(1, At(0, 0, 1));
  detector.Detect(world.state, 0.01);
  EXPECT_EQ(detector.counts().manifold_points_dropped, 0);
}

TEST(ContactDetector, ContactThatIsNotFiniteIsAFaultThatNamesBothBodies) {
  ContactWorld world;
  world.AddRigid(Sphere{std::numeric_limits<double>::infinity()}, {}, Motion::kFixed);
  world.AddRigid(Sphere{1}, At(3, 0, 0));
  world.model.bodies[0].name = "egg";
  world.model.bodies[1].name = "pea";
  world.model.Finish();
  ContactDetector detector(world.model);
  BodyMotions motions(world.model);
  motions.Update(world.state);
  std::vector<ContactPoint> contacts;
  const absl::Status status = detector.Detect(world.state, motions, 0.01, &contacts);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "bodies \"egg\" and \"pea\": their contact is not finite");
  EXPECT_EQ(PlaceOf(status).body, 0);
  EXPECT_EQ(PlaceOf(status).other, 1);
  EXPECT_EQ(detector.counts().nonfinite, 1);
  EXPECT_TRUE(contacts.empty());
}

}  // namespace
}  // namespace pliant::physics
