#pragma once

#include <memory>
#include <string>

namespace pliant::server {

// The viewer's files, from one folder and nowhere else.
class StaticFiles {
 public:
  struct File {
    std::shared_ptr<const std::string> bytes;
    std::string type;           // MIME
    std::string etag;           // quoted
    std::string cache_control;  // hashed assets for ever, all else to be asked for again
  };

  // `folder` may be missing: then nothing is found and exists() is false.
  explicit StaticFiles(std::string folder);

  bool exists() const;
  const std::string& folder() const { return folder_; }

  // The file that the path of a URL names ("/" is index.html); null bytes when there is none. Paths
  // that leave the folder, by dots, escapes or links, name nothing.
  File Find(const std::string& url_path) const;

 private:
  std::string folder_;  // canonical; empty when missing
};

// Where the viewer is by default: beside an installed server, or in the source tree that it
// was built in.
std::string FindViewerFolder();

}  // namespace pliant::server
