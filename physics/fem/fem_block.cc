#include "physics/fem/fem_block.h"

#include <cmath>

#include <Eigen/Dense>

#include "physics/fem/fem_balance.h"
#include "physics/fem/fem_batch.h"
#include "physics/fem/fem_model.h"
#include "physics/fem/fem_step.h"
#include "physics/fem/particle_fem_step.h"
#include "physics/spatial/demand.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

class FemBlock final : public DynamicsBlock,
                       public NodeSet,
                       public ElementSet,
                       public VolumeSet,
                       public Batchable,
                       public Compliant,
                       public EquationOfMotion,
                       public PrescribedMotion {
 public:
  explicit FemBlock(std::shared_ptr<const FemModel> model) : model_(std::move(model)) {}

  int num_positions() const override { return 3 * num_nodes(); }
  int num_velocities() const override { return 3 * num_nodes(); }
  int num_nodes() const override { return model_->num_nodes; }
  bool is_node_prescribed(int node) const override { return model_->prescribed_index[node] >= 0; }
  std::vector<int> followed_bodies() const override { return model_->followed; }
  std::unique_ptr<BlockStep> NewStep() const override { return MakeFemStep(model_); }
  std::unique_ptr<ForceBalance> NewForceBalance() const override { return MakeFemBalance(model_); }
  const void* batch_kind() const override { return model_->rest.get(); }
  std::unique_ptr<BlockBatch> NewBatch() const override { return MakeFemBatch(model_->rest); }
  BlockAbilities abilities() const override {
    return {.nodes = this,
            .elements = this,
            .volumes = model_->volumes.empty() ? nullptr : this,
            .batch = IsWorthFemBatch(*model_) ? this : nullptr,
            .compliance = this,
            .equation = this,
            .prescribed = model_->followed.empty() ? nullptr : this};
  }
  std::unique_ptr<BlockStep> NewCompliantStep() const override {
    return MakeParticleFemStep(model_);
  }
  std::unique_ptr<BlockStep> NewMassStep() const override { return MakeFemMassStep(model_); }
  double mass(int) const override { return model_->mass; }

  void SetInitialState(MutableBlockState state) const override {
    const std::span<double> q = state.q, v = state.v;
    const FemParameters& p = model_->parameters;
    for (int i = 0; i < num_nodes(); ++i) {
      const Vector3d x = p.X_WB * p.mesh.vertices[i];
      for (int r = 0; r < 3; ++r) q[3 * i + r] = x[r];
    }
    const Vector3d center = CalcCenter(q);
    for (int i = 0; i < num_nodes(); ++i) {
      const Vector3d velocity =
          model_->prescribed_index[i] >= 0
              ? Vector3d(Vector3d::Zero())
              : Vector3d(p.linear_velocity + p.angular_velocity.cross(VectorAt(q, 3 * i) - center));
      for (int r = 0; r < 3; ++r) v[3 * i + r] = velocity[r];
    }
    model_->ProjectOntoPlane(v);
    if (!model_->volumes.empty()) model_->CopyGauges({}, state.internals);
  }

  int num_volumes() const override { return static_cast<int>(model_->volumes.size()); }
  double CalcEnclosedVolume(const BlockState& state, int volume) const override {
    return model_->volumes[volume].CalcVolume(state.q);
  }
  double CalcPressure(const BlockState& state, int volume) const override {
    return model_->volumes[volume]
        .Respond(CalcEnclosedVolume(state, volume), gauge_pressure(state, volume))
        .pressure;
  }
  double gauge_pressure(const BlockState& state, int volume) const override {
    std::vector<double> gauges;
    model_->CopyGauges(state, &gauges);
    return gauges[volume];
  }

  Vector3d CalcCenterOfMass(const BlockState& state, int) const override {
    return CalcCenter(state.q);
  }

  Vector3d CalcCenter(std::span<const double> q) const {
    Vector3d sum = Vector3d::Zero();
    for (int i = 0; i < num_nodes(); ++i) sum += model_->node_mass[i] * VectorAt(q, 3 * i);
    return sum / model_->mass;
  }

  Vector3d CalcPointVelocity(const BlockState& state, const Attachment& point) const override {
    Vector3d velocity = Vector3d::Zero();
    for (int k = 0; k < point.nodes.size(); ++k)
      velocity += point.nodes.weight(k) * VectorAt(state.v, 3 * point.nodes.node(k));
    return velocity;
  }

  Vector3d CalcAngularVelocity(const BlockState& state, int) const override {
    const std::span<const double> q = state.q, v = state.v;
    const Vector3d center = CalcCenter(q);
    Matrix3d inertia = Matrix3d::Zero();
    Vector3d momentum = Vector3d::Zero();
    for (int i = 0; i < num_nodes(); ++i) {
      const Vector3d r = VectorAt(q, 3 * i) - center;
      inertia +=
          model_->node_mass[i] * (r.squaredNorm() * Matrix3d::Identity() - r * r.transpose());
      momentum += model_->node_mass[i] * r.cross(VectorAt(v, 3 * i));
    }
    return inertia.inverse() * momentum;
  }

  Eigen::Matrix<double, 6, 1> CalcMomentum(const BlockState& state, int) const override {
    const std::span<const double> q = state.q, v = state.v;
    std::vector<double> Mv(v.size());
    model_->MultiplyMass(v, Mv);
    Eigen::Matrix<double, 6, 1> momentum = Eigen::Matrix<double, 6, 1>::Zero();
    for (int i = 0; i < num_nodes(); ++i) {
      const Vector3d p = VectorAt(Mv, 3 * i);
      momentum.head<3>() += p;
      momentum.tail<3>() += VectorAt(q, 3 * i).cross(p);
    }
    return momentum;
  }

  Energies CalcEnergies(const BlockState& state, const Vector3d& gravity, int) const override {
    return {model_->CalcKineticEnergy(state.v),
            CalcElasticEnergy(state.q) + CalcVolumeEnergy(state),
            model_->mass > 0 ? -model_->mass * gravity.dot(CalcCenter(state.q)) : 0};
  }

  double CalcVolumeEnergy(const BlockState& state) const {
    double sum = 0;
    for (int k = 0; k < num_volumes(); ++k) {
      sum +=
          model_->volumes[k].Respond(CalcEnclosedVolume(state, k), gauge_pressure(state, k)).energy;
    }
    return sum;
  }

  double CalcElasticEnergy(std::span<const double> q) const {
    double sum = 0;
    const std::vector<ElementBatch>& batches = model_->elements.batches;
    thread_local FemModel::Deformation at;
    model_->CalcDeformation(q, &at);
    for (std::size_t b = 0; b < batches.size(); ++b) {
      const LaneMatrix3 F = model_->CalcDeformation(batches[b], q);
      const Lane energy = batches[b].volume * model_->CalcResponse(b, F, at).energy;
      for (int l = 0; l < kLanes; ++l) sum += energy[l];
    }
    return sum;
  }

  int num_elements() const override { return static_cast<int>(model_->element_volumes.size()); }
  std::span<const double> element_volumes() const override { return model_->element_volumes; }
  std::span<const double> element_masses() const override { return model_->rest->element_masses; }

  void CalcElementField(FieldMeasure measure, const BlockState& state,
                        std::span<double> values) const override {
    const std::span<const double> q = state.q;
    const std::size_t components = CountComponents(measure);
    PLIANT_DEMAND(values.size() == components * model_->element_volumes.size());
    const ElementBatches& elements = model_->elements;
    const bool is_stress = IsOfStress(measure);
    const FemModel::Deformation at =
        is_stress ? model_->CalcDeformation(q) : FemModel::Deformation{};
    for (std::size_t b = 0; b < elements.batches.size(); ++b) {
      const LaneMatrix3 F = model_->CalcDeformation(elements.batches[b], q);
      if (measure == FieldMeasure::kVonMisesStrain) {  // fast path for viewers
        const Lane strain = CalcVonMisesStrain(F);
        for (int l = 0; l < kLanes; ++l) {
          const int element = elements.elements[b * kLanes + l];
          if (element >= 0) values[element] = strain[l];
        }
        continue;
      }
      LaneMatrix3 P{};
      if (is_stress) P = model_->CalcResponse(b, F, at).stress;
      for (int l = 0; l < kLanes; ++l) {
        const int element = elements.elements[b * kLanes + l];
        if (element < 0) continue;
        CalcMeasure(measure, Extract(F, l), Extract(P, l),
                    values.subspan(components * element, components));
      }
    }
  }

  double CalcVolume(const BlockState& state, int) const override {
    const std::span<const double> q = state.q;
    double volume = 0;
    for (const std::array<int, 4>& t : model_->parameters.mesh.tetrahedra) {
      const Vector3d x0 = VectorAt(q, 3 * t[0]);
      volume += (VectorAt(q, 3 * t[1]) - x0)
                    .dot((VectorAt(q, 3 * t[2]) - x0).cross(VectorAt(q, 3 * t[3]) - x0)) /
                6;
    }
    return volume;
  }

 private:
  std::shared_ptr<const FemModel> model_;
};

}  // namespace

FemRestShapes::FemRestShapes() = default;
FemRestShapes::~FemRestShapes() = default;

std::shared_ptr<const DynamicsBlock> MakeFemBlock(FemParameters parameters, FemRestShapes* shapes) {
  std::shared_ptr<const FemRestShape> rest;
  if (shapes != nullptr) {
    for (const std::shared_ptr<const FemModel>& known : shapes->first_of_each_) {
      if (!FemRestShape::IsShared(known->parameters, parameters)) continue;
      rest = known->rest;
      break;
    }
  }
  const bool is_new = rest == nullptr;
  if (is_new) rest = std::make_shared<FemRestShape>(parameters);
  const auto model = std::make_shared<const FemModel>(std::move(parameters), std::move(rest));
  if (is_new && shapes != nullptr) shapes->first_of_each_.push_back(model);
  return std::make_shared<FemBlock>(model);
}

}  // namespace pliant::physics
