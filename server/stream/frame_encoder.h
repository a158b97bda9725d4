#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "physics/dynamics/block.h"
#include "server/host/published.h"

namespace pliant::server {

// What viewers choose; frames with equal choices are the same bytes.
struct FrameChoice {
  physics::FieldMeasure measure = physics::FieldMeasure::kVonMisesStrain;
  bool contacts = false;
  std::vector<std::string> bodies;  // ascending names; empty: all

  auto operator<=>(const FrameChoice&) const = default;
};

// v1.Frame of a state without the two fields that differ from stream to stream, `frame` and
// `keyframe`: encoded once, shared by all who look.
std::shared_ptr<const std::string> EncodeFrameBody(const Published& published,
                                                   const FrameChoice& choice);

// The head that makes `body_size` bytes of EncodeFrameBody a v1.SubscribeResponse; with
// `enveloped`, a v1.ServerMessage. The two concatenated are the message.
std::string EncodeFrameHead(std::uint64_t frame, bool keyframe, std::size_t body_size,
                            bool enveloped);

// int16 positions against the box they span: value = origin + scale · number, error at most scale /
// 2 on each axis.
struct QuantizedPoints {
  Eigen::Vector3d origin = Eigen::Vector3d::Zero();
  Eigen::Vector3d scale = Eigen::Vector3d::Zero();
  std::string numbers;  // little endian, xyz a point
};
QuantizedPoints QuantizePoints(const std::vector<Eigen::Vector3d>& points);

// uint16 values between the least and the largest.
struct QuantizedField {
  double min = 0, max = 0;
  std::string numbers;  // little endian
};
QuantizedField QuantizeField(const std::vector<double>& values);

}  // namespace pliant::server
