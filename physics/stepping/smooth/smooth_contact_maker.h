#pragma once

#include <span>
#include <vector>

#include "physics/dynamics/model.h"
#include "physics/stepping/smooth/smooth_contact.h"
#include "physics/stepping/step/stages.h"

namespace pliant::physics {

// Makes the contacts of smooth steps: their force laws follow from the scene, the bodies' masses
// and what the State knows of them.
class SmoothContactMaker {
 public:
  explicit SmoothContactMaker(const Model& model);

  // Makes the contacts on `points` for a step of length h from `state`, in which bodies are as in
  // `start`, with `stiffening` times the stiffness that suffices at rest. Returns whether any
  // overlap at the start.
  bool Make(std::span<const ContactPoint> points, const StepStages& stages, const State& state,
            const TrialConfiguration& start, double h, double stiffening,
            std::vector<SmoothContact>* contacts) const;

 private:
  double CalcStiffness(const ContactPoint& point, const StepBlocks& blocks) const;

  const Model& model_;
  std::vector<double> rest_areas_;  // of each body [m²]
};

}  // namespace pliant::physics
