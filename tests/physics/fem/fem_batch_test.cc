#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "physics/geometry/cavities.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

const void* KindOf(const DynamicsBlock& block) {
  const Batchable* batch = block.abilities().batch;
  return batch == nullptr ? nullptr : batch->batch_kind();
}

// Rings of one shape, each deformed and moved differently, stepped alone or in batches.
class FemBatchTest : public ::testing::Test {
 protected:
  struct Ring {
    std::unique_ptr<BlockStep> step;
    BlockInputs inputs;
    std::vector<double> q, v, v_end, schur;
    std::vector<int> participants;
    absl::Status status;
  };

  static constexpr int kRings = 9;

  FemBatchTest() {
    for (int k = 0; k < kRings; ++k) {
      FemParameters p;
      p.mesh = *MeshTorus(0.4, 0.1, 0.1, 16);
      p.materials = {{FindMaterial("LINEAR_COROTATIONAL"), {1e6, 0.4}, 500}};
      p.rayleigh_beta = 0.02;
      p.X_WB.p = {0.7 * k, 0, 1};
      // one ring is attached to the world, and takes part in the batch too
      if (k == 2) p.prescribed = {{0, -1, {}}, {1, -1, {}}, {2, -1, {}}};
      blocks_.push_back(MakeFemBlock(p, &shapes_));
      rings_.push_back(MakeRing(k));
    }
  }

  Ring MakeRing(int k) const {
    Ring ring;
    const DynamicsBlock& block = *blocks_[k];
    ring.step = block.NewStep();
    ring.q.resize(block.num_positions());
    ring.v.resize(block.num_velocities());
    block.SetInitialState({ring.q, ring.v});
    std::mt19937 random(k);
    std::uniform_real_distribution<double> uniform(-1e-3, 1e-3);
    for (double& x : ring.q) x += uniform(random);
    for (double& x : ring.v) x += 10 * uniform(random);
    for (int node = 20 + k; node < 90; node += 9 - k % 5) ring.participants.push_back(node);
    if (const PrescribedMotion* motion = block.abilities().prescribed)
      ring.inputs.targets.resize(motion->followed_bodies().size());
    return ring;
  }

  void Pose(Ring* ring) const {
    ASSERT_TRUE(
        PoseBlock(*ring->step, {0.02, 1, 1, {0, 0, -9.81}}, ring->q, ring->v, ring->inputs).ok());
  }

  // Prescribes participant velocities that differ from the free motion, and keeps the Schur
  // complement.
  static void Push(Ring* ring, std::vector<double>* v_p) {
    ring->v_end.assign(ring->v.size(), 0.0);
    ring->step->CalcFreeMotion(ring->v_end);
    v_p->clear();
    for (const int node : ring->participants)
      for (int r = 0; r < 3; ++r) v_p->push_back(ring->v_end[3 * node + r] + 0.1 * (r + 1));
    const auto schur = ring->step->schur_complement().dense;
    ring->schur.assign(schur.begin(), schur.end());
  }

  void StepAlone(Ring* ring) const {
    Pose(ring);
    ring->status = ring->step->Factor(ring->participants);
    if (!ring->status.ok()) return;
    std::vector<double> v_p;
    Push(ring, &v_p);
    if (!v_p.empty()) ring->step->Complete(v_p, ring->v_end);
  }

  static void Factor(BlockBatch* batch, const std::vector<Ring*>& rings) {
    std::vector<BlockBatch::Member> members;
    for (Ring* ring : rings)
      members.push_back({ring->step.get(), ring->participants, false, &ring->status});
    batch->Factor(members);
  }

  static void Finish(BlockBatch* batch, const std::vector<Ring*>& rings) {
    std::vector<std::vector<double>> v_p(rings.size());
    std::vector<BlockBatch::Completion> completions;
    for (std::size_t k = 0; k < rings.size(); ++k) {
      if (!rings[k]->status.ok()) continue;
      Push(rings[k], &v_p[k]);
      if (!v_p[k].empty()) completions.push_back({rings[k]->step.get(), v_p[k], rings[k]->v_end});
    }
    batch->Complete(completions);
  }

  void StepTogether(const std::vector<Ring*>& rings) const {
    const auto batch = blocks_[0]->abilities().batch->NewBatch();
    for (Ring* ring : rings) Pose(ring);
    Factor(batch.get(), rings);
    Finish(batch.get(), rings);
  }

  static void ExpectEqual(const Ring& a, const Ring& b) {
    EXPECT_EQ(a.v_end, b.v_end);
    EXPECT_EQ(a.schur, b.schur);
  }
  static void ExpectNear(std::span<const double> a, std::span<const double> b, double relative) {
    ASSERT_EQ(a.size(), b.size());
    double error = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      error += (a[i] - b[i]) * (a[i] - b[i]);
      size += b[i] * b[i];
    }
    EXPECT_LE(error, relative * relative * size);
  }

  FemRestShapes shapes_;
  std::vector<std::shared_ptr<const DynamicsBlock>> blocks_;
  std::vector<Ring> rings_;
};

TEST_F(FemBatchTest, BodiesOfOneShapeAreOfOneKindAndOthersOfNone) {
  EXPECT_NE(KindOf(*blocks_[0]), nullptr);
  EXPECT_EQ(KindOf(*blocks_[0]), KindOf(*blocks_[2]));
  FemParameters other;
  other.mesh = *MeshTorus(0.4, 0.1, 0.1, 16);
  other.materials = {{FindMaterial("NEO_HOOKEAN"), {1e6, 0.4}, 500}};
  EXPECT_EQ(KindOf(*MakeFemBlock(other, &shapes_)), nullptr);
}

// An enclosed volume makes the step nonlinear, and adds a dense matrix that no lane has.
TEST_F(FemBatchTest, BodiesThatEncloseAVolumeAreOfNoKind) {
  FemParameters inflated;
  inflated.mesh = *MeshTorus(0.4, 0.1, 0.1, 16);
  inflated.materials = {{FindMaterial("LINEAR"), {1e6, 0.4}, 500}};
  VolumeParameters volume;
  volume.law = FindVolumeLaw("IDEAL_GAS");
  volume.triangles = ExtractBoundary(inflated.mesh).triangles;
  volume.rest_volume = CalcEnclosedVolume(volume.triangles, inflated.mesh.vertices);
  inflated.volumes = {volume};
  EXPECT_EQ(KindOf(*MakeFemBlock(inflated, &shapes_)), nullptr);
}

// Condition numbers of about 1e4 leave twelve digits.
TEST_F(FemBatchTest, ABatchGivesTheStepOfEachMemberAlone) {
  rings_[3].participants.clear();
  rings_[4].participants.resize(1);
  StepTogether({&rings_[0], &rings_[1], &rings_[2], &rings_[3], &rings_[4], &rings_[5]});
  for (int k = 0; k < 6; ++k) {
    ASSERT_TRUE(rings_[k].status.ok());
    Ring alone = MakeRing(k);
    alone.participants = rings_[k].participants;
    StepAlone(&alone);
    ExpectNear(rings_[k].v_end, alone.v_end, 1e-10);
    ExpectNear(rings_[k].schur, alone.schur, 1e-10);
  }
}

TEST_F(FemBatchTest, BitsDoNotDependOnTheOtherMembers) {
  StepTogether({&rings_[0], &rings_[1], &rings_[2], &rings_[3], &rings_[4], &rings_[5], &rings_[6],
                &rings_[7]});
  for (const int k : {0, 2, 7}) {
    Ring again = MakeRing(k), neighbour = MakeRing(8);
    StepTogether({&again});
    ExpectEqual(again, rings_[k]);
    StepTogether({&neighbour, &again});
    ExpectEqual(again, rings_[k]);
  }
}

TEST_F(FemBatchTest, OneWithManyParticipantsIsEliminatedAsIfAlone) {
  Ring alone = MakeRing(1);
  for (Ring* ring : {&alone, &rings_[1]}) {
    ring->participants.resize(60);
    std::iota(ring->participants.begin(), ring->participants.end(), 30);
  }
  StepAlone(&alone);
  StepTogether({&rings_[0], &rings_[1], &rings_[2]});
  ExpectEqual(rings_[1], alone);
  Ring again = MakeRing(2);
  StepTogether({&again});
  ExpectEqual(again, rings_[2]);
}

TEST_F(FemBatchTest, NewParticipantsNeedNoNewFactorAndChangeNoBit) {
  const std::vector<Ring*> members = {&rings_[0], &rings_[1], &rings_[2]};
  const auto batch = blocks_[0]->abilities().batch->NewBatch();
  for (Ring* ring : members) Pose(ring);
  Factor(batch.get(), members);
  for (Ring* ring : members) ring->participants.insert(ring->participants.begin(), 3);
  Factor(batch.get(), members);
  Finish(batch.get(), members);
  for (int k = 0; k < 3; ++k) {
    Ring once = MakeRing(k);
    once.participants = rings_[k].participants;
    StepTogether({&once});
    ExpectEqual(once, rings_[k]);
  }
}

TEST_F(FemBatchTest, AMemberMayBeCompletedByItself) {
  const std::vector<Ring*> members = {&rings_[0], &rings_[1], &rings_[2]};
  StepTogether(members);
  const std::vector<double> expected = rings_[1].v_end;
  std::vector<double> v_p;
  const auto batch = blocks_[0]->abilities().batch->NewBatch();
  Pose(&rings_[1]);
  Factor(batch.get(), {&rings_[1]});
  Push(&rings_[1], &v_p);
  rings_[1].step->Complete(v_p, rings_[1].v_end);
  EXPECT_EQ(rings_[1].v_end, expected);
}

TEST_F(FemBatchTest, OnlyTheMemberWithAnIndefiniteTangentFails) {
  // negative damping that outweighs mass and stiffness
  FemParameters p;
  p.mesh = *MeshTorus(0.4, 0.1, 0.1, 16);
  p.materials = {{FindMaterial("LINEAR_COROTATIONAL"), {1e6, 0.4}, 500}};
  p.rayleigh_beta = -1;
  const auto bad_block = MakeFemBlock(p, &shapes_);
  ASSERT_EQ(KindOf(*bad_block), KindOf(*blocks_[0]));
  Ring bad = MakeRing(0);
  bad.step = bad_block->NewStep();
  StepTogether({&rings_[0], &bad, &rings_[1]});
  EXPECT_EQ(bad.status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(bad.status.message().find("not positive definite at vertex"), std::string::npos);
  for (int k = 0; k < 2; ++k) {
    ASSERT_TRUE(rings_[k].status.ok());
    Ring again = MakeRing(k);
    StepTogether({&again});
    ExpectEqual(again, rings_[k]);
  }
}

}  // namespace
}  // namespace pliant::physics
