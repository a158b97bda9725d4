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

// The tree of a file that an element names.
std::optional<XmlElement> ReadTree(const std::string& path, const XmlElement& element,
                                   RobotFiles* files, RobotLog* log) {
  const absl::StatusOr<std::string> bytes =
      files->Read(path, static_cast<std::int64_t>(kMaxXmlBytes), "model");
  if (bytes.ok()) return ReadXml(*bytes, std::make_shared<const std::string>(path), log);
  log->Error(element.place,
             absl::StrCat("<", element.name, ">: ", std::string(bytes.status().message())));
  return std::nullopt;
}

class Includer {
 public:
  Includer(RobotFiles* files, std::string main_folder, RobotLog* log)
      : files_(files), main_folder_(std::move(main_folder)), log_(log) {}

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
    absl::StatusOr<std::string> path = files_->Find(name, main_folder_);
    if (!path.ok() && folder != main_folder_) {
      const absl::StatusOr<std::string> beside = files_->Find(name, folder);
      if (beside.ok()) path = beside;
    }
    if (!path.ok()) return refuse(path.status().message());
    if (!included_.insert(*path).second)
      return refuse(absl::StrCat(*path, " is already included. Include each file once"));
    if (included_.size() > kMaxIncludes)
      return refuse(
          absl::StrCat("more than ", kMaxIncludes, " files are included; expected fewer"));
    std::optional<XmlElement> tree = ReadTree(*path, include, files_, log_);
    if (!tree.has_value()) return false;
    // MuJoCo takes the children of any root, and some files have a misspelt one
    if (IsOneOf(tree->name, {"robot", "sdf"}))
      return refuse(absl::StrCat(*path, ": is a <", tree->name, "> file; expected an MJCF file"));
    if (!Expand(RobotFiles::FolderOf(*path), &*tree)) return false;
    children->insert(children->end(), std::make_move_iterator(tree->children.begin()),
                     std::make_move_iterator(tree->children.end()));
    return true;
  }

  RobotFiles* files_;
  std::string main_folder_;
  RobotLog* log_;
  std::set<std::string> included_;
};

}  // namespace

bool ExpandMjcfIncludes(RobotFiles* files, const std::string& folder, XmlElement* root,
                        RobotLog* log) {
  return Includer(files, folder, log).Expand(folder, root);
}

std::optional<MjcfSubmodel> ReadMjcfSubmodel(const XmlElement& model, RobotFiles* files,
                                             const std::string& folder, RobotLog* log) {
  const auto refuse = [&](absl::string_view why) {
    log->Error(model.place, absl::StrCat("<model>: ", std::string(why)));
    return std::nullopt;
  };
  const std::string name = model.Get("file");
  if (name.empty()) return refuse("file is missing; expected file=\"…\"");
  const absl::StatusOr<std::string> path = files->Find(name, folder);
  if (!path.ok()) return refuse(path.status().message());
  std::optional<XmlElement> tree = ReadTree(*path, model, files, log);
  if (!tree.has_value()) return std::nullopt;
  if (tree->name != "mujoco")
    return refuse(absl::StrCat(*path, ": is a <", tree->name, "> file; expected <mujoco>"));
  MjcfSubmodel result{*std::move(tree), RobotFiles::FolderOf(*path)};
  if (!ExpandMjcfIncludes(files, result.folder, &result.root, log)) return std::nullopt;
  return result;
}

}  // namespace pliant::physics
