#include "server/run/check.h"

#include <ostream>

#include "absl/strings/str_format.h"
#include <nlohmann/json.hpp>

#include "server/files/files.h"
#include "server/run/exit_status.h"
#include "server/run/run_report.h"

namespace pliant::server {
namespace {

using Json = nlohmann::ordered_json;

Json ListMessages(const std::vector<physics::SceneMessage>& messages) {
  Json list = Json::array();
  for (const physics::SceneMessage& message : messages) {
    list.push_back({{"file", message.file},
                    {"line", message.line},
                    {"column", message.column},
                    {"path", message.path},
                    {"message", message.message},
                    {"severity", message.error ? "error" : "warning"}});
  }
  return list;
}

std::string DescribeScene(const std::string& file, const physics::Model& model) {
  const Json size = DescribeModelSize(model);
  return absl::StrFormat("%s: ok: %s, %d DoFs\n", file, ListBodies(size), size["dofs"].get<int>());
}

}  // namespace

int Check(const CheckOptions& options, std::ostream& out, std::ostream& err) {
  const physics::SceneResult result = LoadScene(options);

  if (options.json.empty()) {
    for (const physics::SceneMessage& message : result.messages) err << Format(message) << '\n';
    if (result.ok()) out << DescribeScene(options.scene, *result.model) << std::flush;
  } else {
    // names in scenes may contain any bytes: replace those that are not UTF-8
    const std::string text =
        ListMessages(result.messages).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    if (options.json == "-") {
      out << text << std::flush;
    } else if (absl::Status status = WriteWholeFile(options.json, text); !status.ok()) {
      err << "pliantd check: " << status.message() << '\n';
      return kEnvironment;
    }
  }
  return result.ok() ? kDone : kInvalidScene;
}

}  // namespace pliant::server
