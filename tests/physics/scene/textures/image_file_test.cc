#include "physics/scene/textures/image_file.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/physics/scene/textures/image_bytes.h"

namespace pliant::physics {
namespace {

using ::testing::HasSubstr;

std::string Refusal(std::string bytes) {
  const auto image = ReadImage(std::move(bytes));
  return image.ok() ? "" : std::string(image.status().message());
}

TEST(ImageFile, SizeAndKindAreThoseOfTheHeader) {
  const auto png = ReadImage(PngBytes(300, 20));
  ASSERT_TRUE(png.ok()) << png.status();
  EXPECT_EQ(png->media_type, "image/png");
  EXPECT_EQ(png->width, 300);
  EXPECT_EQ(png->height, 20);
  EXPECT_EQ(png->bytes, PngBytes(300, 20));
  const auto jpeg = ReadImage(JpegBytes(513, 8192));
  ASSERT_TRUE(jpeg.ok()) << jpeg.status();
  EXPECT_EQ(jpeg->media_type, "image/jpeg");
  EXPECT_EQ(jpeg->width, 513);
  EXPECT_EQ(jpeg->height, 8192);
}

// an image of a few bytes that would be 40 GB when decoded
TEST(ImageFile, DecompressionBombsAreRefusedByTheirHeader) {
  EXPECT_THAT(Refusal(PngBytes(100'000, 100'000)),
              HasSubstr("100000 x 100000 pixels; expected 1 to 8192 a side"));
  EXPECT_THAT(Refusal(PngBytes(0xffffffff, 1)), HasSubstr("4294967295 x 1 pixels"));
  EXPECT_THAT(Refusal(PngBytes(0, 5)), HasSubstr("0 x 5 pixels"));
  EXPECT_THAT(Refusal(JpegBytes(65535, 65535)), HasSubstr("65535 x 65535 pixels"));
}

TEST(ImageFile, FilesCutOffAnywhereAreRefused) {
  for (const std::string& whole : {PngBytes(4, 4), JpegBytes(4, 4)}) {
    ASSERT_EQ(Refusal(whole), "");
    for (std::size_t size = 0; size < whole.size() - 4; ++size)
      EXPECT_NE(Refusal(whole.substr(0, size)), "") << size;
    EXPECT_THAT(Refusal(whole.substr(0, whole.size() / 2)), HasSubstr("is cut off"));
  }
}

TEST(ImageFile, OtherFilesAreNamedAndRefused) {
  EXPECT_THAT(Refusal("not a picture"), HasSubstr("expected PNG or JPEG. Convert it"));
  EXPECT_THAT(Refusal("GIF89a......"), HasSubstr("is a GIF image"));
  EXPECT_THAT(Refusal(""), HasSubstr("expected PNG or JPEG"));
  std::string large = PngBytes(4, 4);
  large.resize(kMaxImageBytes + 1);
  EXPECT_THAT(Refusal(large), HasSubstr("expected at most 16777216. Make it smaller"));
}

}  // namespace
}  // namespace pliant::physics
