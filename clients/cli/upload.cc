#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "clients/cli/client.h"
#include "openssl/evp.h"

namespace pliant::clients {
namespace {

constexpr std::size_t kChunkBytes = 1 << 20;

std::string CalcSha256(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  std::size_t size = 0;
  EVP_Q_digest(nullptr, "SHA256", nullptr, bytes.data(), bytes.size(), digest, &size);
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(digest[i]));
    text += digits;
  }
  return text;
}

}  // namespace

std::string Upload(Client* client, std::string_view bytes) {
  v1::UploadObjectRequest request;
  request.set_sha256(CalcSha256(bytes));
  request.set_size(static_cast<std::int64_t>(bytes.size()));
  v1::FindMissingObjectsRequest asked;
  asked.add_sha256(request.sha256());
  using Stub = v1::ObjectService::Stub;
  const auto missing = client->Call(client->objects(), &Stub::FindMissingObjects, asked);
  bool is_complete = missing.sha256().empty();
  while (!is_complete) {
    const auto chunk = bytes.substr(static_cast<std::size_t>(request.offset()), kChunkBytes);
    request.set_data(chunk.data(), chunk.size());
    const auto response = client->Call(client->objects(), &Stub::UploadObject, request, true);
    is_complete = response.complete();
    request.set_offset(response.received());
  }
  return request.sha256();
}

}  // namespace pliant::clients
