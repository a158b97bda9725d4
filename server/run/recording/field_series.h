#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "physics/world/world.h"
#include "server/run/recording/sampling_schedule.h"
#include "server/run/recording/vtu.h"

namespace pliant::server {

// Writes the deformed bodies of a run as files for ParaView: fields/frame_000000.vtu … and
// fields.pvd, which lists them.
//
// Points: displacement from the start [m], velocity [m/s]. Cells: index of the body in the scene,
// von Mises strain, von Mises stress [Pa], volume ratio, plastic strain. Rigid bodies are surfaces,
// with no strain; particles are cells of one point each.
class FieldSeries {
 public:
  // `folder` exists; `rate` [Hz], 0 after every step. `world` outlives the series.
  FieldSeries(const physics::World& world, std::string folder, double rate);

  // Writes the frame that is due, if any.
  absl::Status Record();

  // Writes the present state as the last frame unless it has been written, then fields.pvd.
  absl::Status Finish();

 private:
  absl::Status WriteFrame();
  void AppendDeformable(int body, UnstructuredGrid* grid) const;
  void AppendEmbedded(const physics::Body& b, std::int64_t first, int body,
                      UnstructuredGrid* grid) const;
  void AppendRigid(int body, UnstructuredGrid* grid) const;

  const physics::World& world_;
  std::string folder_;
  SamplingSchedule schedule_;
  physics::State start_;                      // reference of displacements
  std::vector<physics::TriangleMesh> rigid_;  // by body, in its frame; empty for deformable ones
  std::vector<PvdFrame> frames_;
};

}  // namespace pliant::server
