#include "physics/fem/node_step.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace pliant::physics {

using Eigen::Vector3d;

NodeStep::NodeStep(std::shared_ptr<const FemModel> model)
    : model_(std::move(model)),
      prescribed_velocity_(model_->parameters.prescribed.size()),
      prescribed_position_(prescribed_velocity_.size()) {
  space_ = VelocitySpace::MakeUniform(model_->num_nodes, 3);
}

void NodeStep::AppendRows(const Attachment& attachment, BlockRows* rows) const {
  for (int k = 0; k < attachment.nodes.size(); ++k) {
    const int node = attachment.nodes.node(k);
    const double w = attachment.nodes.weight(k);
    if (w == 0) continue;
    if (const int index = model_->prescribed_index[node]; index >= 0) {
      rows->prescribed += w * prescribed_velocity_[index];
      continue;
    }
    double* J = rows->Append(node, 3);
    J[0] = J[4] = J[8] = w;
    if (!model_->parameters.plane_strain) continue;
    const Vector3d& normal = model_->plane_normal;
    for (int c = 0; c < 3; ++c) {
      for (int r = 0; r < 3; ++r) J[3 * c + r] -= w * normal[r] * normal[c];
    }
  }
}

void NodeStep::Integrate(std::span<const double> v, MutableBlockState state) const {
  const double h = stage_.h;
  for (std::size_t i = 0; i < v.size(); ++i) {
    state.q[i] += h * stage_.move(state.v[i], v[i]);
    state.v[i] = v[i];
  }
  if (!gauges_.empty() && state.internals != nullptr) *state.internals = gauges_;
  // prescribed vertices end exactly at their targets
  ForEachPrescribed([&](int node, const Vector3d&) {
    const Vector3d& target = prescribed_position_[model_->prescribed_index[node]];
    for (int r = 0; r < 3; ++r) state.q[3 * node + r] = target[r];
  });
}

double NodeStep::CalcInputWork(std::span<const double> v) {
  double sum = 0;
  for (const BlockForce& applied : forces_) {
    if (applied.node >= 0) {
      sum += applied.force_W.dot(VectorAt(v0_, 3 * applied.node) + VectorAt(v, 3 * applied.node));
      continue;
    }
    for (int i = 0; i < model_->num_nodes; ++i) {
      sum += model_->node_mass[i] / model_->mass *
             applied.force_W.dot(VectorAt(v0_, 3 * i) + VectorAt(v, 3 * i));
    }
  }
  double work = 0.5 * stage_.impulse_scale() * sum + pressure_work_;
  if (pressure_.empty()) return work;

  // pressure times the change of volume
  std::vector<double> moved(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) moved[i] = q0_[i] + 0.5 * stage_.h * (v0_[i] + v[i]);
  for (std::size_t b = 0; b < model_->elements.batches.size(); ++b) {
    const ElementBatch& batch = model_->elements.batches[b];
    const auto volume_ratio = [&](std::span<const double> q) {
      const LaneMatrix3 F = model_->CalcDeformation(batch, q), C = CalcCofactors(F);
      return F[0] * C[0] + F[1] * C[1] + F[2] * C[2];
    };
    const Lane change = volume_ratio(moved) - volume_ratio(q0_);
    const Lane of_batch = pressure_[b] * batch.volume * change;
    for (int l = 0; l < kLanes; ++l) work += of_batch[l];
  }
  return work;
}

absl::Status NodeStep::Start(const Stage& stage, const BlockState& base,
                             const BlockInputs& inputs) {
  stage_ = stage;
  q0_ = base.q;
  v0_ = base.v;
  forces_.assign(inputs.forces.begin(), inputs.forces.end());
  model_->activations.Spread(inputs.efforts, &pressure_);
  const FemParameters& p = model_->parameters;
  for (std::size_t k = 0; k < p.prescribed.size(); ++k) {
    const FemParameters::Prescribed& one = p.prescribed[k];
    const auto followed = std::find(model_->followed.begin(), model_->followed.end(), one.body);
    const RigidTransform& X_WB = inputs.targets[followed - model_->followed.begin()];
    // fixed to the followed body where it was at the start
    const Vector3d p_B = one.X_WB0.Inverse() * (p.X_WB * p.mesh.vertices[one.node]);
    prescribed_position_[k] = X_WB * p_B;
    prescribed_velocity_[k] = (prescribed_position_[k] - VectorAt(q0_, 3 * one.node)) / stage_.h;
  }
  return StartVolumes(base, inputs);
}

// Setting a pressure changes the energy of a volume at the start of the step, which is work.
absl::Status NodeStep::StartVolumes(const BlockState& base, const BlockInputs& inputs) {
  const std::vector<VolumePotential>& volumes = model_->volumes;
  model_->CopyGauges(base, &gauges_);
  pressure_work_ = 0;
  for (std::size_t k = 0; k < volumes.size(); ++k) {
    const VolumePotential& volume = volumes[k];
    const double V = volume.CalcVolume(q0_), before = gauges_[k];
    if (volume.HasCollapsed(V)) {
      return absl::InternalError(
          absl::StrCat("the volume of constraint \"", volume.parameters().name,
                       "\" has collapsed to ", V, " m³ from ", volume.parameters().rest_volume,
                       " m³ at rest; use a stiffer wall, a higher pressure or a slower load"));
    }
    for (const VolumePressure& pressure : inputs.pressures)
      if (pressure.volume == static_cast<int>(k)) gauges_[k] = pressure.gauge;
    if (gauges_[k] == before) continue;
    pressure_work_ += volume.Respond(V, gauges_[k]).energy - volume.Respond(V, before).energy;
  }
  return absl::OkStatus();
}

}  // namespace pliant::physics
