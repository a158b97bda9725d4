#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace pliant::benchmarks {

// A new temporary folder, which the destructor removes with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_((std::filesystem::temp_directory_path() / "pliant-bench-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace pliant::benchmarks
