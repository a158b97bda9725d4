#include "physics/scene/robot_files/mjcf/includes.h"

#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

constexpr std::size_t kMaxIncludes = 256;

class Includer {
 public:
  Includer(RobotFiles* files, RobotLog* log) : files_(files), log_(log) {}

  bool Expand(const std::string& folder, XmlElement* element) {
    bool any = false;
    for (XmlElement& child : element->children) {
      if (child.name == "include") {
        any = true;
      } else if (!Expand(folder, &child)) {
        return false;
      }
    }
    if (!any) return true;
    std::vector<XmlElement> children;
    for (XmlElement& child : element->children) {
      if (child.name != "include") {
        children.push_back(std::move(child));
      } else if (!Include(child, folder, &children)) {
        return false;
      }
    }
    element->children = std::move(children);
    return true;
  }

 private:
  bool Include(const XmlElement& include, const std::string& folder,
               std::vector<XmlElement>* children) {
    const auto refuse = [&](absl::string_view why) {
      log_->Error(include.place, absl::StrCat("<include>: ", std::string(why)));
      return false;
    };
    const std::string name = include.Get("file");
    if (name.empty()) return refuse("file is missing; expected file=\"…\"");
    absl::StatusOr<std::string> path = files_->Find(name, files_->folder());
    if (!path.ok() && folder != files_->folder()) {
      const absl::StatusOr<std::string> beside = files_->Find(name, folder);
      if (beside.ok()) path = beside;
    }
    if (!path.ok()) return refuse(path.status().message());
    if (!included_.insert(*path).second)
      return refuse(absl::StrCat(*path, " is already included. Include each file once"));
    if (included_.size() > kMaxIncludes)
      return refuse(
          absl::StrCat("more than ", kMaxIncludes, " files are included; expected fewer"));
    const absl::StatusOr<std::string> bytes =
        files_->Read(*path, static_cast<std::int64_t>(kMaxXmlBytes), "model");
    if (!bytes.ok()) return refuse(bytes.status().message());
    std::optional<XmlElement> tree =
        ReadXml(*bytes, std::make_shared<const std::string>(*path), log_);
    if (!tree.has_value()) return false;
    if (tree->name != "mujoco" && tree->name != "mujocoinclude")
      return refuse(absl::StrCat(*path, ": is a <", tree->name,
                                 "> file; expected <mujoco> or <mujocoinclude>"));
    if (!Expand(RobotFiles::FolderOf(*path), &*tree)) return false;
    children->insert(children->end(), std::make_move_iterator(tree->children.begin()),
                     std::make_move_iterator(tree->children.end()));
    return true;
  }

  RobotFiles* files_;
  RobotLog* log_;
  std::set<std::string> included_;
};

}  // namespace

bool ExpandMjcfIncludes(RobotFiles* files, XmlElement* root, RobotLog* log) {
  return Includer(files, log).Expand(files->folder(), root);
}

}  // namespace pliant::physics
