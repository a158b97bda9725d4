#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <Eigen/Core>

namespace pliant::server {

// Positions quantized to int16 over their bounding box: value = origin + scale · number, error at
// most scale / 2 on each axis.
struct QuantizedPoints {
  Eigen::Vector3d origin = Eigen::Vector3d::Zero();
  Eigen::Vector3d scale = Eigen::Vector3d::Zero();
  std::string numbers;  // little endian, xyz a point, 0 … 32767
};
QuantizedPoints QuantizePoints(std::span<const double> xyz);

// Values quantized between their minimum and maximum, to numbers of one byte or of two.
struct QuantizedField {
  double min = 0, max = 0;
  std::string numbers;  // little endian, 0 … 255 or 65535
};
QuantizedField QuantizeField(std::span<const double> values, std::size_t bytes_per_number = 2);

}  // namespace pliant::server
