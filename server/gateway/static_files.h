#pragma once

#include <memory>
#include <string>

namespace pliant::server {

// Serves the viewer's files from one folder only.
class StaticFiles {
 public:
  struct File {
    std::shared_ptr<const std::string> bytes;
    std::string type;           // MIME
    std::string etag;           // quoted
    std::string cache_control;  // hashed assets forever, other files revalidated
  };

  // `folder` may be missing: then no file is found and exists() is false.
  explicit StaticFiles(std::string folder);

  bool exists() const;
  const std::string& folder() const { return folder_; }

  // The file for a URL path ("/" is index.html); null bytes when there is none. Paths that leave
  // the folder by dots, escapes or links are not found.
  File Find(const std::string& url_path) const;

 private:
  std::string folder_;  // canonical; empty when missing
};

// Default folder of the viewer: beside an installed server, or in the source tree of the build.
std::string FindViewerFolder();

}  // namespace pliant::server
