#include <utility>

#include "absl/strings/str_cat.h"

#include "server/service/errors.h"
#include "server/service/handlers.h"

namespace pliant::server {
namespace {

constexpr int kMaxAsked = 1000;

}  // namespace

void Handlers::FindMissingObjects(const Call& /*call*/,
                                  const v1::FindMissingObjectsRequest& request,
                                  Reply<v1::FindMissingObjectsResponse> reply) {
  if (options_.objects == nullptr) return reply(NoUploads());
  if (request.sha256_size() > kMaxAsked) {
    return reply(absl::InvalidArgumentError(absl::StrCat(
        "sha256: ", request.sha256_size(), " are not allowed; expected at most ", kMaxAsked)));
  }
  v1::FindMissingObjectsResponse response;
  for (const std::string& sha256 : request.sha256()) {
    if (!options_.objects->Has(sha256)) response.add_sha256(sha256);
  }
  reply(std::move(response));
}

void Handlers::UploadObject(const Call& call, const v1::UploadObjectRequest& request,
                            Reply<v1::UploadObjectResponse> reply) {
  if (options_.objects == nullptr) return reply(NoUploads());
  const auto append = [this, user = call.caller->name, request, reply] {
    const absl::StatusOr<ObjectStore::Progress> progress = options_.objects->Append(
        user, request.sha256(), request.size(), request.offset(), request.data());
    if (!progress.ok()) return reply(progress.status());
    v1::UploadObjectResponse response;
    response.set_received(progress->received);
    response.set_complete(progress->complete);
    reply(std::move(response));
  };
  storing_.Post(append, reply);
}

void Handlers::FetchObject(const Call& /*call*/, const v1::FetchObjectRequest& request,
                           Reply<v1::FetchObjectResponse> reply) {
  reply(descriptions_.Fetch(request));
}

}  // namespace pliant::server
