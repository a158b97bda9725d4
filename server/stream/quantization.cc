#include "server/stream/quantization.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace pliant::server {
namespace {

// Rounds a number that is at least 0. Rounding errors may put it a little above `largest`.
template <typename Number>
Number Round(double x, double largest) {
  const double rounded = x + 0.5;
  return static_cast<Number>(static_cast<std::int32_t>(rounded < largest ? rounded : largest));
}

template <typename Number>
std::string QuantizeBetween(std::span<const double> values, double min, double max) {
  constexpr double kLargest = sizeof(Number) == 1 ? 255 : 65535;
  const double inverse = max > min ? kLargest / (max - min) : 0;
  std::string bytes(sizeof(Number) * values.size(), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto number = Round<Number>((values[i] - min) * inverse, kLargest);
    std::memcpy(&bytes[sizeof(Number) * i], &number, sizeof(Number));
  }
  return bytes;
}

}  // namespace

QuantizedPoints QuantizePoints(std::span<const double> xyz) {
  QuantizedPoints result;
  if (xyz.empty()) return result;
  double lower[3] = {xyz[0], xyz[1], xyz[2]}, upper[3] = {xyz[0], xyz[1], xyz[2]};
  for (std::size_t i = 0; i < xyz.size(); i += 3) {
    for (int axis = 0; axis < 3; ++axis) {
      lower[axis] = std::min(lower[axis], xyz[i + axis]);
      upper[axis] = std::max(upper[axis], xyz[i + axis]);
    }
  }
  constexpr double kLargest = 32767;
  double inverse[3];
  for (int axis = 0; axis < 3; ++axis) {
    const double size = upper[axis] - lower[axis];
    result.origin[axis] = lower[axis];
    result.scale[axis] = size / kLargest;
    inverse[axis] = size > 0 ? kLargest / size : 0;
  }
  result.numbers.resize(2 * xyz.size());
  char* bytes = result.numbers.data();
  for (std::size_t i = 0; i < xyz.size(); i += 3, bytes += 6) {
    std::uint16_t numbers[3];
    for (int axis = 0; axis < 3; ++axis)
      numbers[axis] = Round<std::uint16_t>((xyz[i + axis] - lower[axis]) * inverse[axis], kLargest);
    std::memcpy(bytes, numbers, sizeof numbers);
  }
  return result;
}

QuantizedField QuantizeField(std::span<const double> values, std::size_t bytes_per_number) {
  QuantizedField result;
  if (values.empty()) return result;
  result.min = result.max = values[0];
  for (const double value : values) {
    result.min = std::min(result.min, value);
    result.max = std::max(result.max, value);
  }
  result.numbers = bytes_per_number == 1
                       ? QuantizeBetween<std::uint8_t>(values, result.min, result.max)
                       : QuantizeBetween<std::uint16_t>(values, result.min, result.max);
  return result;
}

}  // namespace pliant::server
