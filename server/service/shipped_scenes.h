#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace pliant::server {

// The scenes that come with the server: NAME.yaml in one folder.
class ShippedScenes {
 public:
  // Empty if there is no such folder.
  explicit ShippedScenes(std::string folder);

  const std::vector<std::string>& names() const { return names_; }  // ascending

  // File of a scene. NOT_FOUND, listing the existing names.
  absl::StatusOr<std::string> Find(const std::string& name) const;

 private:
  const std::string folder_;
  std::vector<std::string> names_;
};

}  // namespace pliant::server
