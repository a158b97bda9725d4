#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include <Eigen/Core>
#include <Eigen/Geometry>

#include "pliant/description.h"
#include "pliant/v1/stream.pb.h"

namespace pliant {

// Accessors return Eigen maps of these arrays, and no structure below has an Eigen member, so that
// programs may be compiled with other Eigen options (alignment, vectorisation) than this library.

// The pose X_WB of a rigid body in the world frame.
struct RigidState {
  std::array<double, 7> pose{0, 0, 0, 1, 0, 0, 0};  // x, y, z [m], qw, qx, qy, qz
  bool is_known = false;                            // some frame had the body
  bool is_new = false;                              // the last frame had it

  Eigen::Vector3d p_WB() const { return {pose[0], pose[1], pose[2]}; }
  Eigen::Quaterniond q_WB() const { return {pose[3], pose[4], pose[5], pose[6]}; }
  Eigen::Isometry3d X_WB() const { return Eigen::Translation3d(p_WB()) * q_WB(); }
};

// A field at the positions of a deformable body.
struct FieldState {
  v1::FieldMeasure measure{};
  v1::Precision precision{};
  int components =
      1;  // 1; 3 of a vector or of principal values; 6 of a tensor: xx, yy, zz, xy, yz, xz
  double min = 0, max = 0;     // of all components
  std::string unit;            // of the values: "Pa", "m/s"; empty: a ratio
  std::vector<double> values;  // the components of each position, one after the other
  bool is_new = false;

  // components × positions
  Eigen::Map<const Eigen::MatrixXd> matrix() const {
    return {values.data(), components, static_cast<Eigen::Index>(values.size()) / components};
  }
};

// Positions and fields of a deformable body, on the vertices of its surface or at its points.
struct DeformableState {
  std::vector<double> xyz;  // [m], world frame
  v1::Precision precision{};
  v1::Tier tier{};
  // Quantisation: positions are exact to scale / 2 on each axis; zero if they are not quantised.
  std::array<double, 3> scale{};
  std::vector<FieldState> fields;  // that some frame had
  bool is_known = false;
  bool is_new = false;

  Eigen::Map<const Eigen::Matrix3Xd> positions() const {
    return {xyz.data(), 3, static_cast<Eigen::Index>(xyz.size()) / 3};
  }
  // Null if no frame had it.
  const FieldState* Find(v1::FieldMeasure measure) const;
};

enum class ClockMode { kPaused, kRealTime, kFreeRun, kStepping };

// The state of a world from its frames: the latest frame, completed with the latest values of the
// parts that it leaves out. A reset or a restore of the world (`epoch`) drops all earlier values.
//
// Plain data without locks: one thread at a time. Copying into a Frame of the same world allocates
// nothing.
struct Frame {
  std::uint64_t id = 0;  // of the stream; it increases by one with every frame
  std::int64_t step = 0;
  double time = 0;  // [s]
  std::uint32_t epoch = 0;
  std::uint32_t subscription = 0;
  bool is_keyframe = false;
  bool is_stopped = false;  // the latched stop is on
  ClockMode clock = ClockMode::kPaused;
  double speed = 1;  // simulated seconds per second, of kRealTime

  std::vector<RigidState> rigid;             // as in WorldDescription.rigid_bodies
  std::vector<DeformableState> deformables;  // as in WorldDescription.deformables
  v1::JointFrame joints;                     // of all robots; see Description::FindJoint
  v1::ContactFrame contacts;                 // see Description::NameBody
  v1::ForceFrame forces;
  std::vector<std::vector<double>> probes;  // the numbers, by index in WorldDescription.probes
  std::vector<v1::CommandEcho> commands;    // only the first `command_count` are of this frame
  int command_count = 0;

  // Parsed on request only, because parsing allocates.
  v1::StepReport ParseReport() const;
  bool has_fault() const { return !fault_bytes.empty(); }
  v1::Fault ParseFault() const;
  // The last message of a probe, which also has lists of contact points.
  v1::ProbeFrame ParseProbe(int probe) const;

  std::string report_bytes, fault_bytes;  // serialised, as received
  std::vector<std::string> probe_bytes;
};

// Decodes frames of one world. Once all bodies have been seen, decoding allocates no memory.
// docs/api.md#frames has the layout.
class FrameDecoder {
 public:
  explicit FrameDecoder(DescriptionPtr description);

  // Adds a serialised v1.Frame to the state. FAILED_PRECONDITION if it is of another model than the
  // description: a body, a probe or a number of positions does not match; INVALID_ARGUMENT for
  // bytes that are no frame. The state is undefined then.
  absl::Status Decode(std::string_view frame_bytes);
  absl::Status Decode(const v1::Frame& frame);

  // Forgets the state, before a stream that starts with a keyframe.
  void Clear();

  const Frame& frame() const { return frame_; }
  const Description& description() const { return *description_; }
  const DescriptionPtr& shared_description() const { return description_; }

 private:
  absl::Status ReadRigid(std::string_view bytes);
  absl::Status ReadDeformable(std::string_view bytes);
  absl::Status ReadField(std::string_view bytes);
  absl::Status ReadProbe(std::string_view bytes);
  absl::Status ReadClock(std::string_view bytes);
  absl::Status ReadPart(int field, std::string_view bytes);
  absl::Status ReadHead(std::string_view bytes);
  void Forget();

  const DescriptionPtr description_;
  Frame frame_;
  bool was_decoded_ = false;
};

}  // namespace pliant
