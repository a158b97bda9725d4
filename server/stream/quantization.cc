#include "server/stream/quantization.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace pliant::server {
namespace {

// Numbers that the loops below process at a time, so that the compiler uses SIMD: a multiple of the
// three axes of a point.
constexpr std::size_t kLanes = 12;
using Lanes = std::array<double, kLanes>;

struct Bounds {
  Lanes min, max;  // of the numbers whose index is the same modulo kLanes
};

// Finds the bounds of each lane. Needs at least `period` numbers; lanes without a number get one of
// an equal index modulo `period`.
Bounds FindBounds(std::span<const double> values, std::size_t period) {
  Bounds bounds;
  for (std::size_t k = 0; k < kLanes; ++k) bounds.min[k] = bounds.max[k] = values[k % period];
  const std::size_t whole = values.size() - values.size() % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) {
      const double x = values[i + k];
      bounds.min[k] = x < bounds.min[k] ? x : bounds.min[k];
      bounds.max[k] = x > bounds.max[k] ? x : bounds.max[k];
    }
  }
  for (std::size_t i = whole; i < values.size(); ++i) {
    bounds.min[i - whole] = std::min(bounds.min[i - whole], values[i]);
    bounds.max[i - whole] = std::max(bounds.max[i - whole], values[i]);
  }
  return bounds;
}

// Makes lanes of equal index modulo `period` equal.
void Combine(std::size_t period, Bounds* bounds) {
  for (std::size_t k = period; k < kLanes; ++k) {
    bounds->min[k % period] = std::min(bounds->min[k % period], bounds->min[k]);
    bounds->max[k % period] = std::max(bounds->max[k % period], bounds->max[k]);
  }
  for (std::size_t k = period; k < kLanes; ++k) {
    bounds->min[k] = bounds->min[k % period];
    bounds->max[k] = bounds->max[k % period];
  }
}

template <typename Number>
std::string Quantize(std::span<const double> values, const Bounds& bounds, double largest) {
  Lanes inverse;
  for (std::size_t k = 0; k < kLanes; ++k) {
    const double size = bounds.max[k] - bounds.min[k];
    inverse[k] = size > 0 ? largest / size : 0;
  }
  // rounding errors may exceed the largest number slightly
  const auto round = [&](double value, std::size_t k) {
    const double x = (value - bounds.min[k]) * inverse[k] + 0.5;
    return static_cast<std::int32_t>(x < largest ? x : largest);
  };
  std::string bytes(sizeof(Number) * values.size(), '\0');
  char* next = bytes.data();
  const std::size_t whole = values.size() - values.size() % kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes, next += sizeof(Number) * kLanes) {
    std::array<Number, kLanes> numbers;
    for (std::size_t k = 0; k < kLanes; ++k)
      numbers[k] = static_cast<Number>(round(values[i + k], k));
    std::memcpy(next, numbers.data(), sizeof numbers);
  }
  for (std::size_t i = whole; i < values.size(); ++i, next += sizeof(Number)) {
    const auto number = static_cast<Number>(round(values[i], i - whole));
    std::memcpy(next, &number, sizeof number);
  }
  return bytes;
}

}  // namespace

QuantizedPoints QuantizePoints(std::span<const double> xyz) {
  QuantizedPoints result;
  if (xyz.empty()) return result;
  constexpr double kLargest = 32767;
  Bounds bounds = FindBounds(xyz, 3);
  Combine(3, &bounds);
  for (int axis = 0; axis < 3; ++axis) {
    result.origin[axis] = bounds.min[axis];
    result.scale[axis] = (bounds.max[axis] - bounds.min[axis]) / kLargest;
  }
  result.numbers = Quantize<std::uint16_t>(xyz, bounds, kLargest);
  return result;
}

QuantizedField QuantizeField(std::span<const double> values, std::size_t bytes_per_number) {
  QuantizedField result;
  if (values.empty()) return result;
  Bounds bounds = FindBounds(values, 1);
  Combine(1, &bounds);
  result.min = bounds.min[0];
  result.max = bounds.max[0];
  result.numbers = bytes_per_number == 1 ? Quantize<std::uint8_t>(values, bounds, 255)
                                         : Quantize<std::uint16_t>(values, bounds, 65535);
  return result;
}

}  // namespace pliant::server
