#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pliant::server {

// The certificate that a server shows, its key, and the authorities whose clients it admits. Read
// from files, checked, and read again when the files change. All methods may be called from any
// thread.
class Certificates {
 public:
  struct Options {
    std::string chain_file;      // PEM, the server's own certificate first
    std::string key_file;        // PEM, not encrypted
    std::string client_ca_file;  // PEM; empty: clients need no certificate
    // validity is in times of the calendar
    std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
  };

  struct Pem {
    std::string chain, key, client_ca;
    bool operator==(const Pem&) const = default;
  };

  // INVALID_ARGUMENT, naming the file, when a certificate cannot be read, has expired, is not valid
  // yet or does not belong to the key; UNAVAILABLE when a file cannot be read.
  static absl::StatusOr<std::shared_ptr<Certificates>> Open(Options options);
  ~Certificates();

  // Reads the files again. An error leaves the present certificate in use. OK also when nothing has
  // changed.
  absl::Status Reload();

  Pem pem() const;
  std::uint64_t generation() const { return generation_.load(); }  // increases with each change
  std::chrono::system_clock::time_point expires() const;
  bool asks_clients() const { return !options_.client_ca_file.empty(); }

  // Files in memory with the present certificate, for libraries that watch files.
  std::string chain_path() const { return chain_.path(); }
  std::string key_path() const { return key_.path(); }
  std::string client_ca_path() const { return client_ca_.path(); }

 private:
  // A file in memory. Its contents never reach a disk.
  class MemoryFile {
   public:
    MemoryFile();
    ~MemoryFile();
    MemoryFile(const MemoryFile&) = delete;
    bool Write(const std::string& bytes);
    std::string path() const;

   private:
    int file_;
  };

  explicit Certificates(Options options);

  const Options options_;
  MemoryFile chain_, key_, client_ca_;
  std::atomic<std::uint64_t> generation_{0};
  mutable std::mutex mutex_;
  Pem pem_;
  std::chrono::system_clock::time_point expires_;
};

}  // namespace pliant::server
