#include "server/gateway/static_files.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "xxhash.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::pair<const char*, const char*>, 19> kTypes{{
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".webmanifest", "application/manifest+json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".webp", "image/webp"},
    {".ico", "image/x-icon"},
    {".woff", "font/woff"},
    {".woff2", "font/woff2"},
    {".wasm", "application/wasm"},
    {".glb", "model/gltf-binary"},
    {".hdr", "application/octet-stream"},
    {".txt", "text/plain; charset=utf-8"},
    {".md", "text/plain; charset=utf-8"},
}};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Decodes percent escapes (%41 → A). Nothing if an escape is incomplete, or the path contains a
// control character or a backslash.
std::optional<std::string> Unescape(const std::string& path) {
  std::string plain;
  for (std::size_t i = 0; i < path.size(); ++i) {
    char c = path[i];
    if (c == '%') {
      if (i + 2 >= path.size()) return std::nullopt;
      const int high = HexDigit(path[i + 1]), low = HexDigit(path[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(16 * high + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == '\\') return std::nullopt;
    plain.push_back(c);
  }
  return plain;
}

bool IsInside(const fs::path& path, const fs::path& folder) {
  const auto relative = path.lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

}  // namespace

StaticFiles::StaticFiles(std::string folder) {
  std::error_code error;
  const fs::path canonical = fs::canonical(folder, error);
  if (!error && fs::is_directory(canonical, error)) folder_ = canonical.string();
}

bool StaticFiles::exists() const {
  std::error_code error;
  return !folder_.empty() && fs::is_regular_file(fs::path(folder_) / "index.html", error);
}

StaticFiles::File StaticFiles::Find(const std::string& url_path) const {
  if (folder_.empty()) return {};
  const std::optional<std::string> plain = Unescape(url_path);
  if (!plain || plain->empty() || plain->front() != '/') return {};

  // reject `..` and hidden names, whatever the path would resolve to
  fs::path relative = fs::path(plain->substr(1)).relative_path();
  for (const fs::path& part : relative) {
    if (!part.empty() && part.string().front() == '.') return {};
  }
  if (relative.empty()) relative = "index.html";
  std::error_code error;
  const fs::path path = fs::canonical(fs::path(folder_) / relative, error);
  if (error || !IsInside(path, folder_) || !fs::is_regular_file(path, error)) return {};

  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  content << stream.rdbuf();
  if (!stream) return {};
  File file;
  file.bytes = std::make_shared<const std::string>(std::move(content).str());
  file.type = "application/octet-stream";
  for (const auto& [extension, type] : kTypes) {
    if (path.extension() == extension) file.type = type;
  }
  std::array<char, 24> etag{};
  std::snprintf(
      etag.data(), etag.size(), "\"%016llx\"",
      static_cast<unsigned long long>(XXH3_64bits(file.bytes->data(), file.bytes->size())));
  file.etag = etag.data();
  const bool hashed = *relative.begin() == "assets";
  file.cache_control = hashed ? "public, max-age=31536000, immutable" : "no-cache";
  return file;
}

std::string FindViewerFolder() {
  std::error_code error;
  const fs::path bin = fs::canonical("/proc/self/exe", error).parent_path();
  for (const char* place : {"../share/pliant/viewer", "../../../web_viewer/dist"}) {
    const fs::path folder = fs::weakly_canonical(bin / place, error);
    if (!error && fs::is_regular_file(folder / "index.html", error)) return folder.string();
  }
  return fs::weakly_canonical(bin / "../../../web_viewer/dist", error).string();
}

}  // namespace pliant::server
