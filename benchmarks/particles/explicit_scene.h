#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "benchmarks/particles/explicit_mpm.h"
#include "physics/dynamics/body_motions.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {

// When explicit particles and rigid bodies exchange impulses.
enum class Exchange {
  kSubstep,  // rigid bodies are stepped after each substep of the particles
  kStep      // rigid bodies keep their velocities over a step, and then take all its impulses
};

// A scene of particles, stepped with explicit particles in place of its own. Its rigid bodies and
// robots, with the contacts between them, are stepped by its own method.
class ExplicitScene {
 public:
  // `path` and `overrides` are those of LoadSceneFile.
  static absl::StatusOr<ExplicitScene> Load(const std::string& path,
                                            std::vector<std::string> overrides, int substeps,
                                            Exchange exchange);

  // Takes a step of the scene. INTERNAL if it fails.
  absl::Status Step();

  const physics::World& world() const { return *world_; }  // the rigid bodies alone
  const ExplicitParticles& particles() const { return particles_; }
  double time() const { return world_->state().time; }
  double time_step() const { return time_step_; }  // [s]
  // Contact force of the particles on a rigid body: over the last step, and over each of its
  // substeps [N].
  Eigen::Vector3d CalcForceOn(const std::string& body) const;
  std::vector<Eigen::Vector3d> CalcSubstepForcesOn(const std::string& body) const;

 private:
  ExplicitScene(std::shared_ptr<const physics::Model> rigid, ExplicitParticles particles,
                double time_step, int substeps, Exchange exchange);
  int FindBody(const std::string& name) const;
  void PlaceObstacles(double elapsed);

  std::unique_ptr<physics::World> world_;
  ExplicitParticles particles_;
  double time_step_;
  int substeps_;
  Exchange exchange_;
  physics::BodyMotions motions_;
  std::vector<Obstacle> obstacles_;  // of each body
  // impulses on each body, in each substep of the last step
  std::vector<std::vector<ObstacleImpulse>> impulses_;
};

}  // namespace pliant::benchmarks
