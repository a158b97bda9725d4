#include "server/auth/tokens.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "yaml-cpp/yaml.h"

#include "openssl/rand.h"
#include "openssl/sha.h"

namespace pliant::server {
namespace {

constexpr std::size_t kMaxFileBytes = 16 << 20;
constexpr std::size_t kMaxNameBytes = 63;
constexpr int kSecretBytes = 32;

absl::StatusOr<std::chrono::system_clock::time_point> ParseExpiry(const std::string& text) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return absl::ToChronoTime(time);
  return absl::InvalidArgumentError(absl::StrCat(
      "expires: \"", text, "\" is not a time; expected RFC 3339, such as 2030-01-31T12:00:00Z"));
}

absl::Status CheckName(const std::string& name) {
  const auto printable = [](char c) { return c > ' ' && c < 127; };
  if (!name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, printable))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("name: \"", name.substr(0, kMaxNameBytes),
                                                 "\" is not allowed; expected 1 to ", kMaxNameBytes,
                                                 " printable characters without spaces"));
}

absl::StatusOr<TokenEntry> ReadEntry(const YAML::Node& node) {
  TokenEntry entry;
  std::string role, worlds, expires;
  for (const auto& field : node) {
    const auto key = field.first.as<std::string>();
    std::string* place = key == "name"      ? &entry.name
                         : key == "sha256"  ? &entry.sha256
                         : key == "role"    ? &role
                         : key == "worlds"  ? &worlds
                         : key == "expires" ? &expires
                                            : nullptr;
    if (place == nullptr || !field.second.IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(
          key, ": not allowed; expected the texts name, sha256, role, worlds and expires"));
    }
    *place = field.second.as<std::string>();
  }
  if (absl::Status status = CheckName(entry.name); !status.ok()) return status;
  const auto hexadecimal = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (entry.sha256.size() != 64 || !std::ranges::all_of(entry.sha256, hexadecimal)) {
    return absl::InvalidArgumentError(
        absl::StrCat("sha256: not the hash of a token; expected 64 hexadecimal digits in lower "
                     "case, as `pliantd token` writes them"));
  }
  const std::optional<Role> parsed = ParseRole(role);
  if (!parsed) {
    return absl::InvalidArgumentError(
        absl::StrCat("role: \"", role, "\" is not a role; expected viewer, operator or admin"));
  }
  entry.grant.role = *parsed;
  absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(worlds);
  if (!selector.ok())
    return absl::InvalidArgumentError(absl::StrCat("worlds: ", selector.status().message()));
  entry.grant.worlds = *std::move(selector);
  if (!expires.empty()) {
    const auto expiry = ParseExpiry(expires);
    if (!expiry.ok()) return expiry.status();
    entry.expires = *expiry;
  }
  return entry;
}

absl::StatusOr<std::vector<TokenEntry>> ParseTokens(const std::string& text,
                                                    const std::string& path) {
  const auto wrong = [&path](const YAML::Mark& mark, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", mark.line + 1, ": ", what));
  };
  std::vector<TokenEntry> entries;
  try {
    const YAML::Node list = YAML::Load(text);
    if (!list || list.IsNull()) return entries;
    if (!list.IsSequence())
      return wrong(list.Mark(), "expected a list of {name, sha256, role, worlds, expires}");
    for (const YAML::Node& node : list) {
      if (!node.IsMap()) return wrong(node.Mark(), "expected {name, sha256, role, …}");
      absl::StatusOr<TokenEntry> entry = ReadEntry(node);
      if (!entry.ok()) return wrong(node.Mark(), entry.status().message());
      entries.push_back(*std::move(entry));
    }
  } catch (const YAML::Exception& error) {
    return wrong(error.mark, error.msg);
  }
  return entries;
}

std::string MakeSecret() {
  std::array<unsigned char, kSecretBytes> bytes{};
  if (RAND_bytes(bytes.data(), kSecretBytes) != 1) return "";
  return absl::StrCat("pliant_", absl::WebSafeBase64Escape(
                                     {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (file && text.str().size() <= kMaxFileBytes) return text.str();
  return absl::UnavailableError(
      absl::StrCat("cannot read the tokens in ", path,
                   "\n    Check the path, or make the file with `pliantd token`."));
}

std::string WriteEntry(const NewToken& entry, const std::string& hash) {
  YAML::Emitter out;
  out << YAML::BeginSeq << YAML::Flow << YAML::BeginMap;
  const auto write = [&out](const char* key, const std::string& value) {
    if (!value.empty()) out << YAML::Key << key << YAML::Value << YAML::DoubleQuoted << value;
  };
  write("name", entry.name);
  write("sha256", hash);
  write("role", entry.role);
  write("worlds", entry.worlds);
  write("expires", entry.expires);
  out << YAML::EndMap << YAML::EndSeq;
  return absl::StrCat(out.c_str(), "\n");
}

// Appends in one write, so that the entries of two concurrent programs do not mix.
absl::Status Append(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  bool good = file >= 0;
  if (good) {
    good = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
           fsync(file) == 0;
  }
  const int error = errno;
  if (file >= 0) close(file);
  if (good) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", std::strerror(error),
                                             "\n    Name a file that you may write."));
}

}  // namespace

absl::string_view ReadBearer(absl::string_view header) {
  constexpr absl::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(header, kScheme)) return "";
  return absl::StripAsciiWhitespace(header.substr(kScheme.size()));
}

std::string HashToken(absl::string_view token) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

absl::StatusOr<std::vector<TokenEntry>> ReadTokens(const std::string& path) {
  absl::StatusOr<std::string> text = ReadText(path);
  if (!text.ok()) return text.status();
  return ParseTokens(*text, path);
}

absl::StatusOr<std::string> AddToken(const std::string& path, const NewToken& entry) {
  const std::string token = MakeSecret();
  if (token.empty()) return absl::UnavailableError("this machine has no random numbers");
  const std::string line = WriteEntry(entry, HashToken(token));
  if (auto checked = ReadEntry(YAML::Load(line)[0]); !checked.ok()) return checked.status();

  // existing content is kept, and must be a list to which an entry can be appended
  std::string before;
  if (std::filesystem::exists(path)) {
    absl::StatusOr<std::string> text = ReadText(path);
    if (!text.ok()) return text.status();
    before = *std::move(text);
  }
  const bool ends_within_line = !before.empty() && before.back() != '\n';
  const std::string addition = absl::StrCat(ends_within_line ? "\n" : "", line);
  if (auto all = ParseTokens(absl::StrCat(before, addition), path); !all.ok()) return all.status();
  if (absl::Status status = Append(path, addition); !status.ok()) return status;
  return token;
}

}  // namespace pliant::server
