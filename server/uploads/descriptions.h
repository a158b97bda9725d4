#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/dynamics/model.h"
#include "pliant/v1/objects.pb.h"
#include "pliant/v1/world.pb.h"

namespace pliant::server {

// Descriptions of models, each made once for all worlds of a model, in pages that fit into replies.
// Bodies with large meshes are objects, which clients fetch in chunks and may keep; so are images.
class Descriptions {
 public:
  static constexpr std::size_t kMaxPage = 3 << 20;    // [B]
  static constexpr std::size_t kMaxInline = 1 << 20;  // of a body in a reply [B]
  static constexpr std::size_t kMaxSmall = 16 << 10;  // the same, with bodies_as_objects [B]
  static constexpr std::size_t kChunk = 1 << 20;      // [B]

  // A page of the description of `world`. `page_token` is empty or that of the page before.
  // INVALID_ARGUMENT for another token.
  absl::StatusOr<v1::WorldDescription> Describe(const v1::DescribeWorldRequest& request,
                                                const std::string& world,
                                                const std::shared_ptr<const physics::Model>& model);

  // A chunk of an object of an earlier description. NOT_FOUND, OUT_OF_RANGE.
  absl::StatusOr<v1::FetchObjectResponse> Fetch(const v1::FetchObjectRequest& request) const;

 private:
  // A description in pages, and the objects to which it refers.
  struct Pages {
    std::vector<v1::WorldDescription> pages;
    std::map<std::string, std::shared_ptr<const std::string>> objects;  // by SHA-256
  };
  // The descriptions of a model, without and with bodies_as_objects.
  struct Known {
    std::weak_ptr<const physics::Model> model;
    std::shared_ptr<const Pages> forms[2];
  };

  static Pages MakePages(const physics::Model& model, std::size_t max_inline);

  mutable std::mutex mutex_;
  std::map<const physics::Model*, Known> known_;
};

}  // namespace pliant::server
