#pragma once

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "physics/dynamics/model.h"
#include "physics/world/world.h"

namespace pliant::server {

// A block of two bodies of points, each with massless nodes behind its points, whose fields are
// simple functions of the numbers of points. It is never stepped.
class PointsBlock final : public physics::DynamicsBlock,
                          public physics::NodeSet,
                          public physics::ElementSet {
 public:
  static constexpr int kFew = 3, kMany = 1001;  // points of the bodies
  static constexpr int kSurface = 2;            // further nodes of each

  PointsBlock() : volumes_(kFew + kMany, 1e-6) {
    for (int e = kFew; e < num_elements(); ++e) volumes_[e] = 1e-6 * (1 + 0.001 * e);
  }

  // The i-th number of the initial positions and of the velocities.
  static double PositionNumber(int i) { return std::sin(0.37 * i) + 0.01 * (i % 3); }
  static double VelocityNumber(int i) { return std::cos(0.11 * i); }
  // Fields of an element. Only the second body has plastic strain; none has a strain.
  static double VolumeRatio(int element) { return 1 + 0.001 * element; }
  static double PlasticStrain(int element) { return 0.5 * element; }

  int num_positions() const override { return 3 * num_nodes(); }
  int num_velocities() const override { return 3 * num_nodes(); }
  void SetInitialState(physics::MutableBlockState state) const override {
    for (int i = 0; i < num_positions(); ++i) {
      state.q[i] = PositionNumber(i);
      state.v[i] = VelocityNumber(i);
    }
  }
  std::unique_ptr<physics::BlockStep> NewStep() const override { return nullptr; }
  physics::BlockAbilities abilities() const override { return {.nodes = this, .elements = this}; }
  double mass(int) const override { return 1; }
  Eigen::Vector3d CalcCenterOfMass(const physics::BlockState&, int) const override {
    return Eigen::Vector3d::Zero();
  }
  Eigen::Matrix<double, 6, 1> CalcMomentum(const physics::BlockState&, int) const override {
    return Eigen::Matrix<double, 6, 1>::Zero();
  }
  physics::Energies CalcEnergies(const physics::BlockState&, const Eigen::Vector3d&,
                                 int) const override {
    return {};
  }

  int num_nodes() const override { return kFew + kMany + 2 * kSurface; }
  physics::IndexRange nodes_of(int part) const override {
    return part == 0 ? physics::IndexRange{0, kFew + kSurface}
                     : physics::IndexRange{kFew + kSurface, kMany + kSurface};
  }
  Eigen::Vector3d CalcPointVelocity(const physics::BlockState& state,
                                    const physics::Attachment& point) const override {
    Eigen::Vector3d velocity = Eigen::Vector3d::Zero();
    for (int k = 0; k < point.nodes.size(); ++k)
      velocity += point.nodes.weight(k) * physics::VectorAt(state.v, 3 * point.nodes.node(k));
    return velocity;
  }
  Eigen::Vector3d CalcAngularVelocity(const physics::BlockState&, int) const override {
    return Eigen::Vector3d::Zero();
  }

  int num_elements() const override { return kFew + kMany; }
  physics::IndexRange elements_of(int part) const override {
    return part == 0 ? physics::IndexRange{0, kFew} : physics::IndexRange{kFew, kMany};
  }
  bool are_points(int) const override { return true; }
  std::span<const double> element_volumes() const override { return volumes_; }
  bool HasField(physics::FieldMeasure measure, int part) const override {
    return measure == physics::FieldMeasure::kVolumeRatio ||
           (measure == physics::FieldMeasure::kPlasticStrain && part == 1);
  }
  void CalcElementField(physics::FieldMeasure measure, const physics::BlockState&,
                        std::span<double> values) const override {
    for (int e = 0; e < num_elements(); ++e)
      values[e] =
          measure == physics::FieldMeasure::kVolumeRatio ? VolumeRatio(e) : PlasticStrain(e);
  }
  double CalcVolume(const physics::BlockState&, int part) const override {
    const physics::IndexRange range = elements_of(part);
    return std::accumulate(volumes_.begin() + range.first,
                           volumes_.begin() + range.first + range.count, 0.0);
  }

 private:
  std::vector<double> volumes_;
};

// A rigid body called "table" between the bodies of a PointsBlock, "few" and "many".
inline std::shared_ptr<const physics::Model> MakePointsModel() {
  auto model = std::make_shared<physics::Model>();
  model->blocks.push_back(std::make_shared<PointsBlock>());
  model->bodies.resize(3);
  model->bodies[0].name = "few";
  model->bodies[1].name = "table";
  model->bodies[2].name = "many";
  model->bodies[0].block = model->bodies[2].block = 0;
  model->bodies[2].part = 1;
  model->bodies[2].density = 1200;
  model->Finish();
  return model;
}

inline std::shared_ptr<const physics::Snapshot> TakePointsSnapshot() {
  auto snapshot = std::make_shared<physics::Snapshot>();
  snapshot->model = MakePointsModel();
  snapshot->state = physics::MakeInitialState(*snapshot->model);
  return snapshot;
}

}  // namespace pliant::server
