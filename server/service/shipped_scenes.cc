#include "server/service/shipped_scenes.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "server/host/text.h"

namespace pliant::server {

namespace fs = std::filesystem;

ShippedScenes::ShippedScenes(std::string folder) : folder_(std::move(folder)) {
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".yaml") names_.push_back(entry->path().stem().string());
  }
  std::ranges::sort(names_);
}

absl::StatusOr<std::string> ShippedScenes::Find(const std::string& name) const {
  if (std::ranges::binary_search(names_, name))
    return (fs::path(folder_) / absl::StrCat(name, ".yaml")).string();
  return absl::NotFoundError(absl::StrCat(
      "shipped_scene: there is no scene \"", Shorten(name, 80), "\"; ",
      names_.empty() ? "this server comes without scenes"
                     : absl::StrCat("expected one of: ", absl::StrJoin(names_, ", "))));
}

}  // namespace pliant::server
