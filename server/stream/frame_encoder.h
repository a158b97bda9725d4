#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "physics/dynamics/block.h"
#include "server/host/published.h"

namespace pliant::server {

// Viewer options of a frame; frames of a state with equal options are identical bytes.
struct FrameChoice {
  physics::FieldMeasure measure = physics::FieldMeasure::kVonMisesStrain;
  bool contacts = false;
  std::vector<std::string> bodies;  // ascending names; empty: all

  auto operator<=>(const FrameChoice&) const = default;
};

// v1.Frame of a state without the two fields that differ from stream to stream, `frame` and
// `keyframe`. Encoded once and shared by all viewers.
std::shared_ptr<const std::string> EncodeFrameBody(const Published& published,
                                                   const FrameChoice& choice);

// The head that turns `body_size` bytes of EncodeFrameBody into a v1.SubscribeResponse or, with
// `enveloped`, a v1.ServerMessage. The message is head and body concatenated.
std::string EncodeFrameHead(std::uint64_t frame, bool keyframe, std::size_t body_size,
                            bool enveloped);

// Positions quantized to int16 over their bounding box: value = origin + scale · number, error at
// most scale / 2 on each axis.
struct QuantizedPoints {
  Eigen::Vector3d origin = Eigen::Vector3d::Zero();
  Eigen::Vector3d scale = Eigen::Vector3d::Zero();
  std::string numbers;  // little endian, xyz a point
};
QuantizedPoints QuantizePoints(const std::vector<Eigen::Vector3d>& points);

// Values quantized to uint16 between their minimum and maximum.
struct QuantizedField {
  double min = 0, max = 0;
  std::string numbers;  // little endian
};
QuantizedField QuantizeField(const std::vector<double>& values);

}  // namespace pliant::server
