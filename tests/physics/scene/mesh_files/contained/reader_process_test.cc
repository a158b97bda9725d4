#include "physics/scene/mesh_files/contained/reader_process.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <poll.h>
#include <string>
#include <thread>
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
  std::thread other([] {
    const auto result = RunReader("/bin/sleep", "60", "file", nullptr, seconds(3));
    EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
  });
  std::this_thread::sleep_for(seconds(1));
  close(ends[1]);
  pollfd wait = {ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 0), 1);  // the other end is closed everywhere
  EXPECT_NE(wait.revents & POLLHUP, 0);
  other.join();
  close(ends[0]);
}

TEST(ReaderProcess, TheReaderLimitsItsProcessorTime) {
  const auto reader = FindSurfaceReader();
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto result = RunReader(*reader, "ply", kEndless, nullptr, seconds(200));
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
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
  reading.file.colors = {{1, 0, 0, 1}};
  reading.file.color_of = {0};
  SurfaceReading unpacked;
  ASSERT_TRUE(Unpack(Pack(reading), &unpacked));
  EXPECT_EQ(unpacked.file.mesh.vertices, reading.file.mesh.vertices);
  EXPECT_EQ(unpacked.file.mesh.triangles, reading.file.mesh.triangles);
  EXPECT_EQ(unpacked.file.color_of, reading.file.color_of);

  EXPECT_FALSE(Unpack(Pack(reading).substr(1), &unpacked));
  EXPECT_FALSE(Unpack(Pack(reading) + "x", &unpacked));
  EXPECT_FALSE(Unpack(std::string(8, '\xff'), &unpacked));
  SurfaceReading beyond = reading;
  beyond.file.mesh.triangles[0][2] = 3;
  EXPECT_FALSE(Unpack(Pack(beyond), &unpacked));
  beyond = reading;
  beyond.file.color_of[0] = 1;
  EXPECT_FALSE(Unpack(Pack(beyond), &unpacked));
  beyond = reading;
  beyond.file.color_of.push_back(0);
  EXPECT_FALSE(Unpack(Pack(beyond), &unpacked));
}

}  // namespace
}  // namespace pliant::physics
