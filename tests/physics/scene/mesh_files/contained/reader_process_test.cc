#include "physics/scene/mesh_files/contained/reader_process.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/wait.h>

#include "physics/scene/mesh_files/contained/surface_reading.h"

namespace pliant::physics {
namespace {

using std::chrono::duration;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The library reads such a header for ever.
constexpr char kEndless[] = "ply\nformat ascii 1.0\nelement vertex 4\nproperty flo";

bool HasNoChild() {
  return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD;
}

TEST(ReaderProcess, AProgramThatDoesNotEndIsKilledAtTheDeadline) {
  const auto begun = steady_clock::now();
  const auto result = RunReader("/bin/sleep", "60", "file", nullptr, duration<double>(0.2));
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
  EXPECT_LT(steady_clock::now() - begun, seconds(30));
  EXPECT_TRUE(HasNoChild());
}

TEST(ReaderProcess, AProgramThatEndsWithoutAResultIsAnError) {
  const auto result = RunReader("/bin/false", "ply", "file", nullptr, seconds(60));
  EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
  EXPECT_TRUE(HasNoChild());
}

TEST(ReaderProcess, AProgramThatDoesNotExistIsAnError) {
  const auto result = RunReader("/nowhere/reader", "ply", "file", nullptr, seconds(60));
  EXPECT_TRUE(absl::IsResourceExhausted(result.status())) << result.status();
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("No such file"));
  EXPECT_TRUE(HasNoChild());
}

TEST(ReaderProcess, OpenFilesAreNotInherited) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);  // inherited by programs that are started without care
  const std::string descriptor = "/proc/self/fd/" + std::to_string(ends[0]);
  const std::string pipe_name = std::filesystem::read_symlink(descriptor);
  // a program that lists the files which it has open
  const std::string script = testing::TempDir() + "pliant_lister.sh", list = script + ".out";
  std::ofstream(script) << "ls -l /proc/$$/fd > " << list << "\n";
  const auto result = RunReader("/bin/sh", script, "file", nullptr, seconds(60));
  EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
  std::stringstream open_files;
  open_files << std::ifstream(list).rdbuf();
  EXPECT_THAT(open_files.str(), AllOf(HasSubstr("socket:"), Not(HasSubstr(pipe_name))));
  for (const int end : ends) close(end);
}

TEST(ReaderProcess, TheReaderLimitsItsProcessorTime) {
  const auto reader = FindSurfaceReader();
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto begun = steady_clock::now();
  const auto result = RunReader(*reader, "ply", kEndless, nullptr, seconds(200));
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
  // the limit of 2 s of processor time, before the deadline, even where many processes compete
  EXPECT_LT(steady_clock::now() - begun, seconds(200));
}

TEST(ReaderProcess, AMissingReaderIsNamedWithTheMend) {
  ASSERT_EQ(setenv("PLIANT_SURFACE_READER", "/nowhere/reader", 1), 0);
  const auto reader = FindSurfaceReader();
  unsetenv("PLIANT_SURFACE_READER");
  EXPECT_TRUE(absl::IsNotFound(reader.status()));
  EXPECT_THAT(std::string(reader.status().message()),
              AllOf(HasSubstr("/nowhere/reader"), HasSubstr("unset")));
}

TEST(SurfaceReading, WhatWasOverwrittenIsNoSurface) {
  SurfaceReading reading;
  reading.file.mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  reading.file.mesh.triangles = {{0, 1, 2}};
  reading.file.parts.resize(2);
  VisualPart& part = reading.file.parts[0];
  part.mesh = reading.file.mesh;
  part.color = Eigen::Vector4d(1, 0, 0.5, 1);
  part.texture = 0;
  part.appearance.texture_coordinates = {{0, 0}, {1, 0}, {0, 1}};
  part.appearance.vertex_colors = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
  reading.file.parts[1].mesh = reading.file.mesh;
  reading.file.textures.push_back({"skin.png", "bytes"});
  SurfaceReading unpacked;
  ASSERT_TRUE(Unpack(Pack(reading), &unpacked));
  EXPECT_EQ(unpacked.file.mesh.vertices, reading.file.mesh.vertices);
  EXPECT_EQ(unpacked.file.mesh.triangles, reading.file.mesh.triangles);
  ASSERT_EQ(unpacked.file.parts.size(), 2U);
  const VisualPart& found = unpacked.file.parts[0];
  EXPECT_EQ(found.mesh.triangles, reading.file.mesh.triangles);
  EXPECT_EQ(found.color, reading.file.parts[0].color);
  EXPECT_EQ(found.texture, 0);
  EXPECT_EQ(found.appearance.texture_coordinates,
            reading.file.parts[0].appearance.texture_coordinates);
  EXPECT_EQ(found.appearance.vertex_colors, reading.file.parts[0].appearance.vertex_colors);
  EXPECT_EQ(unpacked.file.parts[1].color, std::nullopt);
  EXPECT_EQ(unpacked.file.parts[1].texture, -1);
  ASSERT_EQ(unpacked.file.textures.size(), 1U);
  EXPECT_EQ(unpacked.file.textures[0].name, "skin.png");
  EXPECT_EQ(unpacked.file.textures[0].bytes, "bytes");

  EXPECT_FALSE(Unpack(Pack(reading).substr(1), &unpacked));
  EXPECT_FALSE(Unpack(Pack(reading) + "x", &unpacked));
  EXPECT_FALSE(Unpack(std::string(8, '\xff'), &unpacked));
  SurfaceReading beyond = reading;
  beyond.file.mesh.triangles[0][2] = 3;
  EXPECT_FALSE(Unpack(Pack(beyond), &unpacked));
  beyond = reading;
  beyond.file.parts[1].mesh.triangles[0][0] = -1;
  EXPECT_FALSE(Unpack(Pack(beyond), &unpacked));
  beyond = reading;
  beyond.file.parts[0].texture = 1;
  EXPECT_FALSE(Unpack(Pack(beyond), &unpacked));
  beyond = reading;
  beyond.file.parts[0].appearance.vertex_colors.pop_back();
  EXPECT_FALSE(Unpack(Pack(beyond), &unpacked));
}

}  // namespace
}  // namespace pliant::physics
