#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "gtest/gtest.h"

namespace pliant::server {

// A folder for the files of one test.
class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "pliant-auth-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    return Path(name);
  }

  std::filesystem::path folder_;
};

}  // namespace pliant::server
