#include "server/uploads/descriptions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "server/host/text.h"
#include "server/stream/messages.h"
#include "server/uploads/sha256.h"

namespace pliant::server {
namespace {

using Objects = std::map<std::string, std::shared_ptr<const std::string>>;

// Replaces all but the name of a large body by an object.
template <typename Body>
void MoveLarge(std::size_t max_inline, Body* body, Objects* objects) {
  if (body->ByteSizeLong() <= max_inline) return;
  const std::string name = body->name();
  body->clear_name();
  auto bytes = std::make_shared<const std::string>(body->SerializeAsString());
  const std::string sha256 = CalcSha256(*bytes);
  body->Clear();
  body->set_name(name);
  body->mutable_object()->set_sha256(sha256);
  body->mutable_object()->set_size(static_cast<std::int64_t>(bytes->size()));
  objects->emplace(sha256, std::move(bytes));
}

}  // namespace

Descriptions::Pages Descriptions::MakePages(const physics::Model& model, std::size_t max_inline) {
  Pages result;
  std::map<const physics::Image*, v1::ObjectRef> images;
  const auto keep = [&](const std::shared_ptr<const physics::Image>& image) {
    const auto [known, fresh] = images.try_emplace(image.get());
    v1::ObjectRef& object = known->second;
    if (fresh) {
      object.set_sha256(CalcSha256(image->bytes));
      object.set_size(static_cast<std::int64_t>(image->bytes.size()));
      result.objects.emplace(object.sha256(),
                             std::shared_ptr<const std::string>(image, &image->bytes));
    }
    return object;
  };
  v1::WorldDescription whole = DescribeModel("", model, keep);
  v1::WorldDescription page = whole;
  page.clear_rigid_bodies();
  page.clear_deformables();
  std::size_t size = page.ByteSizeLong();
  const auto add = [&](auto* body, auto* (v1::WorldDescription::*append)()) {
    MoveLarge(max_inline, body, &result.objects);
    const std::size_t more = body->ByteSizeLong() + 8;
    if (size + more > kMaxPage) {
      page.set_next_page_token(absl::StrCat(result.pages.size() + 1));
      result.pages.push_back(std::exchange(page, {}));
      size = 0;
    }
    *(page.*append)() = std::move(*body);
    size += more;
  };
  for (v1::RigidDescription& body : *whole.mutable_rigid_bodies())
    add(&body, &v1::WorldDescription::add_rigid_bodies);
  for (v1::DeformableDescription& body : *whole.mutable_deformables())
    add(&body, &v1::WorldDescription::add_deformables);
  result.pages.push_back(std::move(page));
  return result;
}

absl::StatusOr<v1::WorldDescription> Descriptions::Describe(
    const v1::DescribeWorldRequest& request, const std::string& world,
    const std::shared_ptr<const physics::Model>& model) {
  const bool as_objects = request.bodies_as_objects();
  std::shared_ptr<const Pages> pages;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(known_, [](const auto& entry) { return entry.second.model.expired(); });
    Known& known = known_[model.get()];
    known.model = model;
    pages = known.forms[as_objects];
  }
  if (pages == nullptr) {
    // long work, without the lock; two requests at once make the same pages
    pages = std::make_shared<const Pages>(MakePages(*model, as_objects ? kMaxSmall : kMaxInline));
    std::lock_guard lock(mutex_);
    Known& known = known_[model.get()];
    known.model = model;
    known.forms[as_objects] = pages;
  }

  std::size_t number = 0;
  const std::string& token = request.page_token();
  if (!token.empty() && (!absl::SimpleAtoi(token, &number) || number >= pages->pages.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_token: \"", Shorten(token, 80),
                     "\" is unknown; expected the next_page_token of the page before"));
  }
  v1::WorldDescription page = pages->pages[number];
  if (number == 0) page.set_name(absl::StrCat("worlds/", world));
  return page;
}

absl::StatusOr<v1::FetchObjectResponse> Descriptions::Fetch(
    const v1::FetchObjectRequest& request) const {
  std::shared_ptr<const std::string> bytes;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [model, known] : known_) {
      for (const auto& form : known.forms) {
        if (form == nullptr) continue;
        const auto found = form->objects.find(request.sha256());
        if (found != form->objects.end()) bytes = found->second;
      }
    }
  }
  if (bytes == nullptr) {
    return absl::NotFoundError(absl::StrCat("sha256: no description has the object \"",
                                            Shorten(request.sha256(), 80),
                                            "\"; describe the world again"));
  }
  const auto size = static_cast<std::int64_t>(bytes->size());
  if (request.offset() < 0 || request.offset() > size) {
    return absl::OutOfRangeError(
        absl::StrCat("offset: ", request.offset(), " is not allowed; expected 0 to ", size));
  }
  v1::FetchObjectResponse response;
  response.set_size(size);
  response.set_data(bytes->substr(static_cast<std::size_t>(request.offset()), kChunk));
  return response;
}

}  // namespace pliant::server
