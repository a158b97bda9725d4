#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "physics/geometry/appearance.h"

namespace pliant::physics {

// Limits of an image; viewers hold four bytes for each pixel.
inline constexpr std::int64_t kMaxImageBytes = 16 << 20;
inline constexpr int kMaxImageSide = 8192;                  // [px]
inline constexpr std::int64_t kMaxImagePixels = 1ll << 27;  // of all images in a world

// Checks an image by its header and the lengths of its parts, without decoding it.
//
// errors  INVALID_ARGUMENT: what was found, what was expected, the remedy; not the file's name
absl::StatusOr<Image> ReadImage(std::string bytes);

}  // namespace pliant::physics
