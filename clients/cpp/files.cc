#include "pliant/files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "clients/cpp/files.h"
#include "openssl/evp.h"

namespace pliant {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 50'000;  // below the folder of a scene

// Extensions of robots and meshes, and of the meshes and materials that may name other files.
constexpr std::array<std::string_view, 5> kRobotSuffixes{".urdf", ".xml", ".sdf", ".mjcf",
                                                         ".config"};
constexpr std::array<std::string_view, 10> kMeshSuffixes{".obj", ".stl", ".ply", ".gltf", ".glb",
                                                         ".dae", ".msh", ".vtk", ".mesh", ".inp"};
constexpr std::array<std::string_view, 4> kNamingMeshSuffixes{".obj", ".mtl", ".gltf", ".dae"};
constexpr std::size_t kMaxText =
    4 << 20;  // of a file that is searched for names, from its beginning [B]
constexpr std::array<std::string_view, 2> kManifests{"package.xml", "model.config"};

struct Candidate {
  fs::path path;  // relative to the folder
  std::string name;
};

absl::StatusOr<std::vector<Candidate>> ListFiles(const fs::path& folder) {
  std::vector<Candidate> files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code unreadable;
    if (at->is_directory(unreadable)) {
      if (name.starts_with('.')) at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file(unreadable)) continue;
    files.push_back({at->path().lexically_relative(folder), name});
    if (files.size() <= kMaxFiles) continue;
    return FileError(folder.string(), absl::StrCat("has more than ", kMaxFiles,
                                                   " files; put the scene and its files into a "
                                                   "folder of their own"));
  }
  if (error) return FileError(folder.string(), error.message());
  return files;
}

// Percent-encodes a name, as in the URIs of glTF.
std::string EncodeForUri(std::string_view name) {
  std::string encoded;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~").find(c) != std::string_view::npos)
      encoded += c;
    else
      absl::StrAppendFormat(&encoded, "%%%02X", byte);
  }
  return encoded;
}

// True if the text has the name, and not as a part of a longer one.
bool Mentions(std::string_view text, std::string_view name) {
  const auto continues = [&](std::size_t at) {
    const auto c = static_cast<unsigned char>(text[at]);
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  };
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !continues(at - 1)) && (end == text.size() || !continues(end))) return true;
  }
  return false;
}

template <typename Suffixes>
bool HasSuffix(const fs::path& path, const Suffixes& suffixes) {
  std::string suffix = path.extension().string();
  std::ranges::transform(suffix, suffix.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(suffixes, suffix) != suffixes.end();
}

// True if a file may name others, by its extension.
bool NamesFiles(const fs::path& path) {
  return HasSuffix(path, kRobotSuffixes) || HasSuffix(path, kNamingMeshSuffixes);
}

bool MayNameFile(const std::string& scene) {
  return scene.find("file:") != scene.npos || scene.find("\"file\"") != scene.npos;
}

// Incremental SHA-256.
class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void Add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  std::string Finish() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), digest, &size);
    std::string text;
    for (unsigned i = 0; i < size; ++i) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(digest[i]));
      text += digits;
    }
    return text;
  }

 private:
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  std::error_code error;
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  if (fs::is_directory(path, error) || !stream || !(content << stream.rdbuf() || stream.eof()))
    return FileError(path, "cannot be read; check the path and its permissions");
  return std::move(content).str();
}

absl::StatusOr<std::vector<std::string>> FindNamedFiles(const std::string& scene,
                                                        const fs::path& folder) {
  std::vector<std::string> named;
  if (!MayNameFile(scene)) return named;
  absl::StatusOr<std::vector<Candidate>> left = ListFiles(folder.empty() ? "." : folder);
  if (!left.ok()) return left.status();
  std::vector<std::string> texts{scene};
  while (!texts.empty()) {
    const std::string text = std::move(texts.back());
    texts.pop_back();
    const bool has_packages =
        text.find("package://") != text.npos || text.find("model://") != text.npos;
    absl::Status status;
    std::erase_if(*left, [&](const Candidate& file) {
      const bool is_manifest = std::ranges::find(kManifests, file.name) != kManifests.end();
      if (!(is_manifest && has_packages) && !Mentions(text, file.name) &&
          !Mentions(text, EncodeForUri(file.name)))
        return false;
      named.push_back(file.path.generic_string());
      if (!NamesFiles(file.path)) return true;
      absl::StatusOr<std::string> content = ReadWholeFile((folder / file.path).string());
      if (content.ok()) {
        content->resize(std::min(content->size(), kMaxText));
        texts.push_back(*std::move(content));
      } else {
        status = content.status();
      }
      return true;
    });
    if (!status.ok()) return status;
  }
  std::ranges::sort(named);
  return named;
}

bool IsRobotOrMesh(const fs::path& path) {
  return HasSuffix(path, kRobotSuffixes) || HasSuffix(path, kMeshSuffixes);
}

absl::StatusOr<std::vector<std::string>> FindImportedFiles(const std::vector<std::string>& imported,
                                                           const fs::path& folder) {
  std::vector<std::string> files = imported;
  for (const std::string& file : imported) {
    if (!NamesFiles(file)) continue;
    const auto named = FindNamedFiles(absl::StrCat("file: ", file), folder);
    if (!named.ok()) return named.status();
    files.insert(files.end(), named->begin(), named->end());
  }
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());
  return files;
}

std::string CalcSha256(std::string_view bytes) {
  Digest digest;
  digest.Add(bytes);
  return digest.Finish();
}

absl::StatusOr<std::string> CalcFileSha256(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> block(std::size_t{1} << 20);
  Digest digest;
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    digest.Add(std::string_view(block.data(), static_cast<std::size_t>(file.gcount())));
  }
  if (!file.eof()) return FileError(path, "cannot be read; check the path and its permissions");
  return digest.Finish();
}

}  // namespace pliant
