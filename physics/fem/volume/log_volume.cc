#include "physics/fem/volume/log_volume.h"

#include <algorithm>

#include "physics/spatial/log.h"

namespace pliant::physics {

VolumeLog CalcVolumeLog(double ratio) {
  const double at = std::max(ratio, kMinVolumeRatio), log = CalcLog(at), inverse = 1 / at;
  const double less = ratio - at, relative = less * inverse;
  return {log + relative - 0.5 * relative * relative, inverse * (1 - relative), -inverse * inverse,
          at * log - at + 1 + less * (log + relative * (0.5 - relative / 6))};
}

}  // namespace pliant::physics
