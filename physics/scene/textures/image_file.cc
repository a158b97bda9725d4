#include "physics/scene/textures/image_file.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n"sv;
constexpr std::string_view kJpeg = "\xff\xd8\xff"sv;
constexpr char kCutOff[] = "is cut off. Save it again";

struct Size {
  std::int64_t width = 0, height = 0;
};

std::uint32_t BigEndian(std::string_view bytes, std::size_t at, int count) {
  std::uint32_t number = 0;
  for (int i = 0; i < count; ++i) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

// The size in the first chunk of a PNG (ISO 15948, 11.2.2); nothing unless all chunks are there, up
// to the last, IEND.
std::optional<Size> ReadPng(std::string_view bytes) {
  constexpr std::size_t kHeader = 13, kFrame = 12;  // length, type and checksum of a chunk
  std::size_t at = kPng.size();
  if (bytes.size() < at + kFrame + kHeader || bytes.substr(at + 4, 4) != "IHDR") return {};
  const Size size{BigEndian(bytes, at + 8, 4), BigEndian(bytes, at + 12, 4)};
  while (at + kFrame <= bytes.size()) {
    if (bytes.substr(at + 4, 4) == "IEND") return size;
    at += kFrame + BigEndian(bytes, at, 4);
  }
  return {};
}

// The size in the frame header of a JPEG (ITU T.81, B.2.2); nothing unless its image data end.
std::optional<Size> ReadJpeg(std::string_view bytes) {
  std::optional<Size> size;
  for (std::size_t at = 2; at + 4 <= bytes.size();) {
    if (bytes[at] != '\xff') return {};
    const auto marker = static_cast<unsigned char>(bytes[at + 1]);
    if (marker == 0xff) {  // fill bytes
      ++at;
      continue;
    }
    // start of scan: the data follow, and after them the end of the image
    if (marker == 0xda) return bytes.find("\xff\xd9", at) == bytes.npos ? std::nullopt : size;
    const std::uint32_t length = BigEndian(bytes, at + 2, 2);
    const bool is_frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (is_frame && at + 9 <= bytes.size())
      size = Size{BigEndian(bytes, at + 7, 2), BigEndian(bytes, at + 5, 2)};
    at += 2 + length;
  }
  return {};
}

std::string DescribeUnknown(std::string_view bytes) {
  const std::string_view kinds[][2] = {{"BM", "a BMP image"},      {"GIF8", "a GIF image"},
                                       {"DDS ", "a DDS image"},    {"II*", "a TIFF image"},
                                       {"MM", "a TIFF image"},     {"RIFF", "a WebP image"},
                                       {"\xabKTX", "a KTX image"}, {"#?RADIANCE", "an HDR image"}};
  for (const auto& [start, kind] : kinds) {
    if (bytes.starts_with(start)) return absl::StrCat("is ", std::string(kind));
  }
  return "is not an image that browsers show";
}

}  // namespace

absl::StatusOr<Image> ReadImage(std::string bytes) {
  const auto refuse = [](const auto&... why) {
    return absl::InvalidArgumentError(absl::StrCat(why...));
  };
  if (static_cast<std::int64_t>(bytes.size()) > kMaxImageBytes) {
    return refuse("has ", bytes.size(), " bytes; expected at most ", kMaxImageBytes,
                  ". Make it smaller");
  }
  const bool is_png = bytes.starts_with(kPng);
  if (!is_png && !bytes.starts_with(kJpeg))
    return refuse(DescribeUnknown(bytes), "; expected PNG or JPEG. Convert it");
  const std::optional<Size> size = is_png ? ReadPng(bytes) : ReadJpeg(bytes);
  if (!size.has_value()) return refuse(kCutOff);
  const auto [width, height] = *size;
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide) {
    return refuse("has ", width, " x ", height, " pixels; expected 1 to ", kMaxImageSide,
                  " a side. Make it smaller");
  }
  return Image{std::move(bytes), is_png ? "image/png" : "image/jpeg", static_cast<int>(width),
               static_cast<int>(height)};
}

}  // namespace pliant::physics
