#include "server/auth/authenticator.h"

#include <algorithm>
#include <utility>

namespace pliant::server {

absl::StatusOr<std::shared_ptr<Authenticator>> Authenticator::Open(Options options) {
  std::shared_ptr<Authenticator> authenticator(new Authenticator(std::move(options)));
  if (absl::Status status = authenticator->Reload(); !status.ok()) return status;
  return authenticator;
}

absl::StatusOr<std::shared_ptr<Authenticator::Files>> Authenticator::Read() const {
  auto files = std::make_shared<Files>();
  if (!options_.tokens_file.empty()) {
    absl::StatusOr<std::vector<TokenEntry>> entries = ReadTokens(options_.tokens_file);
    if (!entries.ok()) return entries.status();
    for (TokenEntry& entry : *entries) files->tokens[entry.sha256].push_back(std::move(entry));
  }
  if (!options_.jwt.keys_file.empty()) {
    absl::StatusOr<JwtVerifier> jwt = JwtVerifier::Open(options_.jwt);
    if (!jwt.ok()) return jwt.status();
    files->jwt = *std::move(jwt);
  }
  return files;
}

absl::Status Authenticator::Reload() {
  absl::StatusOr<std::shared_ptr<Files>> read = Read();
  if (!read.ok()) return read.status();
  std::lock_guard lock(mutex_);
  (*read)->generation = files_ == nullptr ? 1 : files_->generation + 1;
  files_ = *std::move(read);
  verified_.clear();
  return absl::OkStatus();
}

std::shared_ptr<const Authenticator::Files> Authenticator::files() const {
  std::lock_guard lock(mutex_);
  return files_;
}

absl::StatusOr<Identity> Authenticator::Authenticate(absl::string_view token) {
  if (token.empty()) {
    return absl::UnauthenticatedError(
        "this server requires a token; send it as `authorization: Bearer TOKEN`, or in the Hello "
        "of a WebSocket");
  }
  const std::shared_ptr<const Files> now = files();
  const std::string hash = HashToken(token);
  if (now->jwt && JwtVerifier::HasForm(token)) return VerifyJwt(*now, token, hash);
  Identity identity = FindToken(*now, hash);
  if (!identity.grants.empty()) return identity;
  return absl::UnauthenticatedError(
      now->tokens.contains(hash) ? "the token has expired" : "the token is unknown to this server");
}

// Combines the entries with this hash that have not expired. The identity expires with the first.
Identity Authenticator::FindToken(const Files& files, const std::string& hash) const {
  Identity identity;
  identity.credential = hash;
  identity.generation = files.generation;
  const auto now = options_.now();
  const auto found = files.tokens.find(hash);
  if (found == files.tokens.end()) return identity;
  for (const TokenEntry& entry : found->second) {
    if (entry.expires <= now) continue;
    identity.name = entry.name;
    identity.grants.push_back(entry.grant);
    identity.expires = std::min(identity.expires, entry.expires);
  }
  return identity;
}

absl::StatusOr<Identity> Authenticator::VerifyJwt(const Files& files, absl::string_view token,
                                                  const std::string& hash) {
  const auto now = options_.now();
  {
    std::lock_guard lock(mutex_);
    const auto known = verified_.find(hash);
    if (known != verified_.end() && known->second.generation == files.generation &&
        known->second.expires > now)
      return known->second;
  }
  absl::StatusOr<Identity> identity = files.jwt->Verify(token, now);
  if (!identity.ok()) return identity;
  identity->credential = hash;
  identity->generation = files.generation;
  std::lock_guard lock(mutex_);
  if (verified_.size() >= kMaxVerified) verified_.clear();
  verified_.insert_or_assign(hash, *identity);
  return identity;
}

bool Authenticator::IsCurrent(const Identity& identity) {
  if (identity.expires <= options_.now()) return false;
  const std::shared_ptr<const Files> now = files();
  if (identity.generation == now->generation) return true;
  const Identity found = FindToken(*now, identity.credential);
  return found.name == identity.name && found.grants == identity.grants;
}

}  // namespace pliant::server
