#include "physics/scene/robot_files/sdf/sdf.h"

#include <algorithm>
#include <filesystem>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

#include "physics/scene/robot_files/parts/drake_tags.h"
#include "physics/scene/robot_files/parts/xml_values.h"
#include "physics/scene/robot_files/sdf/frame_graph.h"
#include "physics/scene/robot_files/sdf/sdf_joint.h"
#include "physics/scene/robot_files/sdf/sdf_link.h"

namespace pliant::physics {
namespace {

constexpr int kMaxIncludes = 256;
constexpr int kMaxIncludeDepth = 16;

// Scope of a model in the tree of files.
struct ModelScope {
  std::string scope;   // of its names in the frame graph: "a::b::"
  std::string prefix;  // of names in the robot; empty for a single model
  std::string folder;  // for relative paths
  int frame = FrameGraph::kWorld;
  bool fixed = false;
  int depth = 0;  // nesting of includes
};

// Collects the names in the references of poses, frames and joints below `element`: a and b of
// "a::b".
void CollectReferences(const XmlElement& element, std::unordered_set<std::string>* names) {
  const auto add = [&](const std::string& reference) {
    for (const absl::string_view name : absl::StrSplit(reference, "::", absl::SkipEmpty()))
      names->emplace(std::string(name));
  };
  add(element.Get("relative_to"));
  add(element.Get("attached_to"));
  if (IsOneOf(element.name, {"parent", "child"})) add(element.text);
  for (const XmlElement& child : element.children) CollectReferences(child, names);
}

class SdfReader {
 public:
  SdfReader(const XmlElement& root, const RobotFileOptions& options, RobotFiles* files,
            RobotMeshes* meshes, RobotDraft* draft, RobotLog* log)
      : root_(root), options_(options), files_(files), meshes_(meshes), draft_(draft), log_(log) {}

  void Read() {
    draft_->robot.format = "SDF";
    CheckVersion(root_);
    ModelScope top;
    top.folder = files_->folder();
    int models = 0;
    for (const XmlElement& child : root_.children) models += child.name == "model";
    for (const XmlElement& child : root_.children) {
      if (child.name == "model") {
        if (draft_->robot.name.empty()) draft_->robot.name = child.Get("name");
        AddModel(child, top, models == 1);
      } else if (child.name == "world") {
        draft_->robot.name = child.Get("name");
        AddContents(child, top);
      } else {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, ">"));
      }
    }
    if (!frames_.Resolve(log_)) return;
    Finish();
  }

 private:
  struct Link {
    const XmlElement* element;
    std::string folder;
    int number;
  };
  struct Deformable {
    const XmlElement* element;
    std::string folder;
    std::string name;
    int frame;
  };

  void CheckVersion(const XmlElement& sdf) {
    const XmlValue value = AttributeOf(sdf, "version");
    if (value.text == nullptr) {
      log_->Warning(sdf.place, "<sdf>: has no version; read as 1.7");
      return;
    }
    int minor = -1;
    if (!value.text->starts_with("1.") || value.text->size() > 4 ||
        !ReadInteger({&(minor_text_ = value.text->substr(2)), &sdf, "version"}, &minor, log_, 0,
                     99)) {
      log_->Error(sdf.place, absl::StrCat("<sdf> version: \"", *value.text,
                                          "\" is not known; expected 1.7 to 1.11"));
      return;
    }
    if (minor < 7 || minor > 12) {
      log_->Warning(
          sdf.place,
          absl::StrCat(
              "<sdf> version: ", *value.text,
              " is read as if it were 1.7 to 1.11; frames may have had a different meaning"));
    }
  }

  // Name of an element of the model in the robot.
  static std::string NameIn(const ModelScope& model, const std::string& name) {
    return model.prefix + name;
  }

  // Whether something in the file may refer to a model of this name.
  bool IsReferredTo(const std::string& name) {
    if (!references_.has_value()) CollectReferences(root_, &references_.emplace());
    return references_->contains(name);
  }

  void AddModel(const XmlElement& element, const ModelScope& outer, bool alone) {
    std::string name = element.Get("name");
    if (name.empty()) {
      log_->Error(element.place, "<model>: has no name; expected name=\"…\"");
      return;
    }
    if (frames_.Find(name, outer.scope) != FrameGraph::kNone && !IsReferredTo(name)) {
      int& number = last_numbers_[outer.scope + name];
      std::string other;
      do {
        number = std::max(number + 1, 2);
        other = absl::StrCat(name, "_", number);
      } while (frames_.Find(other, outer.scope) != FrameGraph::kNone);
      log_->Mended(element.place, absl::StrCat(element.Label(), ": the name is already taken; it ",
                                               "is called \"", other, "\""));
      name = other;
    }
    FrameGraph::Frame frame = ModelFrame(element, outer);
    frame.name = outer.scope + name;
    frame.own_scope = outer.scope + name + "::";
    ModelScope inner = outer;
    inner.scope = frame.own_scope;
    inner.prefix = alone ? outer.prefix : outer.prefix + name + "::";
    ReadBool(TextOfChild(element, "static"), &inner.fixed, log_);
    inner.fixed = inner.fixed || outer.fixed;
    inner.frame = frames_.Add(std::move(frame), log_);
    if (inner.frame == FrameGraph::kNone) return;
    AddModelContents(element, inner, element.Get("canonical_link"));
  }

  // Frame of a <model>, without its name.
  FrameGraph::Frame ModelFrame(const XmlElement& element, const ModelScope& outer) {
    FrameGraph::Frame frame;
    frame.scope = outer.scope;
    frame.what = element.Label();
    frame.place = element.place;
    frame.parent = outer.frame;
    frame.X = ReadSdfPose(element, log_);
    if (const XmlElement* pose = element.Child("pose"))
      frame.relative_to = pose->Get("relative_to");
    frame.placement = element.Get("placement_frame");
    return frame;
  }

  // Adds the contents of a model, with its own frame.
  void AddModelContents(const XmlElement& element, const ModelScope& model,
                        const std::string& canonical) {
    frames_.AddName(model.scope + "__model__", model.frame);
    AddContents(element, model);
    // link that the model's frame moves with
    FrameGraph::Frame& own = frames_.frame(model.frame);
    if (!canonical.empty()) {
      own.attachment = frames_.Find(canonical, model.scope);
      if (own.attachment == FrameGraph::kNone) {
        log_->Error(element.place, absl::StrCat(element.Label(), " canonical_link: \"", canonical,
                                                "\" does not exist. Name a link of the model"));
      }
      return;
    }
    const auto first = FirstFrame(element, model, {"link"});
    own.attachment =
        first != FrameGraph::kNone ? first : FirstFrame(element, model, {"model", "include"});
  }

  int FirstFrame(const XmlElement& element, const ModelScope& model,
                 const std::set<std::string>& kinds) const {
    for (const XmlElement& child : element.children) {
      if (!kinds.contains(child.name)) continue;
      const XmlElement* own = child.Child("name");
      const std::string name = own != nullptr ? own->text : child.Get("name");
      const int frame = frames_.Find(name, model.scope);
      if (frame != FrameGraph::kNone && frame != model.frame) return frame;
    }
    return FrameGraph::kNone;
  }

  void AddContents(const XmlElement& element, const ModelScope& model) {
    for (const XmlElement& child : element.children) {
      if (child.name == "model") {
        AddModel(child, model, false);
      } else if (child.name == "include") {
        AddInclude(child, model);
      } else if (child.name == "link") {
        AddLink(child, model);
      } else if (child.name == "frame") {
        AddFrame(child, model);
      } else if (child.name == "joint" || child.name == "drake:joint") {
        AddJoint(child, model);
      } else if (child.name == "self_collide" || child.name == "enable_wind") {
        bool on = false;
        if (ReadBool(TextOf(child), &on, log_) && on)
          log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of a model"));
      } else if (child.name.starts_with("drake:")) {
        tags_.push_back({&child, model.scope});
      } else if (child.name != "pose" && child.name != "static" &&
                 child.name != "allow_auto_disable") {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, ">"));
      }
    }
  }

  FrameGraph::Frame MakeFrame(const XmlElement& element, const ModelScope& model) {
    FrameGraph::Frame frame;
    frame.name = model.scope + element.Get("name");
    frame.scope = model.scope;
    frame.what = element.Label();
    frame.place = element.place;
    frame.parent = model.frame;
    frame.X = ReadSdfPose(element, log_);
    if (const XmlElement* pose = element.Child("pose")) {
      frame.relative_to = pose->Get("relative_to");
      if (!pose->Get("frame").empty())
        log_->LeftOut(pose->place, "obsolete <pose frame=…>", "use relative_to");
    }
    if (element.Get("name").empty()) {
      log_->Error(element.place,
                  absl::StrCat("<", element.name, ">: has no name; expected name=\"…\""));
    }
    return frame;
  }

  void AddLink(const XmlElement& element, const ModelScope& model) {
    FrameGraph::Frame frame = MakeFrame(element, model);
    const bool deformable = element.Child("drake:deformable_properties") != nullptr;
    const int number = static_cast<int>(draft_->robot.links.size());
    if (!deformable) frame.link = number;
    const int added = frames_.Add(std::move(frame), log_);
    complete_ = complete_ && added != FrameGraph::kNone;
    if (added == FrameGraph::kNone) return;
    const std::string name = NameIn(model, element.Get("name"));
    if (deformable) {
      deformables_.push_back({&element, model.folder, name, added});
      return;
    }
    RobotLink link;
    link.name = name;
    link.line = element.place.line;
    draft_->robot.links.push_back(std::move(link));
    draft_->places.push_back(element.place);
    draft_->fixed.push_back(model.fixed);
    links_.push_back({&element, model.folder, number});
    link_frames_.push_back(added);
  }

  void AddFrame(const XmlElement& element, const ModelScope& model) {
    FrameGraph::Frame frame = MakeFrame(element, model);
    frame.attached_to = element.Get("attached_to");
    frame.attachment = model.frame;
    const XmlElement* pose = element.Child("pose");
    if (pose == nullptr || pose->Find("relative_to") == nullptr)
      frame.relative_to = frame.attached_to;
    const std::string name = NameIn(model, element.Get("name"));
    const int added = frames_.Add(std::move(frame), log_);
    if (added != FrameGraph::kNone) named_frames_.push_back({name, added});
  }

  void AddJoint(const XmlElement& element, const ModelScope& model) {
    FrameGraph::Frame frame = MakeFrame(element, model);
    const XmlElement* child = element.Child("child");
    if (child == nullptr) child = element.Child("drake:child");
    if (child != nullptr) {
      // by default, a joint's pose is relative to its child
      if (frame.relative_to.empty()) frame.relative_to = child->text;
      frame.attached_to = child->text;
    }
    // the name then refers to the link
    if (const int other = frames_.Find(element.Get("name"), model.scope);
        other > FrameGraph::kWorld && frames_.frame(other).link >= 0) {
      log_->Mended(element.place, absl::StrCat(element.Label(),
                                               ": has the name of a link; its "
                                               "frame cannot be named"));
      frame.name = absl::StrCat(model.scope, "__joint__", element.Get("name"));
    }
    const int added = frames_.Add(std::move(frame), log_);
    complete_ = complete_ && added != FrameGraph::kNone;
    if (added != FrameGraph::kNone) joints_.push_back({&element, model.scope, model.prefix, added});
  }

  // Finds the file of a model; a folder names it in its model.config.
  absl::StatusOr<std::string> FindModelFile(const std::string& uri, const std::string& folder) {
    absl::StatusOr<std::string> path = files_->Find(uri, folder);
    std::error_code error;
    if (!path.ok() || !std::filesystem::is_directory(*path, error)) return path;
    const std::string config_path = *path + "/model.config";
    const absl::StatusOr<std::string> config = files_->Read(config_path, 1 << 20, "model.config");
    std::string name = "model.sdf";
    if (config.ok()) {
      RobotLog unheard;
      const auto tree =
          ReadXml(*config, std::make_shared<const std::string>(config_path), &unheard);
      if (tree.has_value()) {
        // the last one is the newest
        for (const XmlElement& child : tree->children) {
          if (child.name == "sdf") name = child.text;
        }
      }
    }
    return files_->Find(name, *path);
  }

  void AddInclude(const XmlElement& element, const ModelScope& outer) {
    const XmlElement* uri = element.Child("uri");
    const auto refuse = [&](absl::string_view why) {
      log_->Error(element.place, absl::StrCat("<include>: ", std::string(why)));
    };
    if (uri == nullptr || uri->text.empty())
      return refuse("<uri> is missing; expected package://NAME/FILE, model://NAME or a path");
    if (outer.depth >= kMaxIncludeDepth || ++includes_ > kMaxIncludes) {
      return refuse(absl::StrCat("files include each other more than ", kMaxIncludeDepth,
                                 " deep or ", kMaxIncludes, " times; expected fewer"));
    }
    const absl::StatusOr<std::string> path = FindModelFile(uri->text, outer.folder);
    if (!path.ok()) return refuse(path.status().message());
    const absl::StatusOr<std::string> bytes =
        files_->Read(*path, static_cast<std::int64_t>(kMaxXmlBytes), "model");
    if (!bytes.ok()) return refuse(bytes.status().message());
    std::optional<XmlElement> tree =
        ReadXml(*bytes, std::make_shared<const std::string>(*path), log_);
    if (!tree.has_value()) return;
    included_elements_ += CountElements(*tree);
    if (included_elements_ > kMaxIncludedElements)
      return refuse(absl::StrCat("the included files have more than ", kMaxIncludedElements,
                                 " elements; expected fewer"));
    if (tree->name != "sdf")
      return refuse(
          absl::StrCat(*path, ": is a <", tree->name, "> file; expected an SDF model. Convert it"));
    CheckVersion(*tree);
    if (tree->Child("model") == nullptr)
      return refuse(absl::StrCat(*path, ": has no <model>; expected one"));
    // keep the tree, as deferred elements point into it
    trees_.push_back(std::move(*tree));
    XmlElement* model = nullptr;
    for (XmlElement& child : trees_.back().children) {
      if (child.name == "model") {
        model = &child;
        break;
      }
    }
    bool merge = false;
    ReadBool(AttributeOf(element, "merge"), &merge, log_);
    Override(element, model);
    ModelScope scope = outer;
    scope.folder = RobotFiles::FolderOf(*path);
    ++scope.depth;
    for (const XmlElement& child : element.children) {
      if (child.name != "uri" && child.name != "name" && child.name != "pose" &&
          child.name != "static" && child.name != "placement_frame") {
        log_->LeftOut(child.place, absl::StrCat("<", child.name, "> of an include"));
      }
    }
    if (merge) {
      MergeModel(*model, scope);
    } else {
      AddModel(*model, scope, false);
    }
  }

  // Applies what an <include> overrides in the model.
  static void Override(const XmlElement& include, XmlElement* model) {
    const auto set = [&](const char* attribute, const std::string& value) {
      for (XmlAttribute& own : model->attributes) {
        if (own.name == attribute) {
          own.value = value;
          return;
        }
      }
      model->attributes.push_back({attribute, value});
    };
    if (const XmlElement* name = include.Child("name")) set("name", name->text);
    if (const XmlElement* frame = include.Child("placement_frame"))
      set("placement_frame", frame->text);
    for (const char* part : {"pose", "static"}) {
      const XmlElement* given = include.Child(part);
      if (given == nullptr) continue;
      bool replaced = false;
      for (XmlElement& own : model->children) {
        if (own.name != part) continue;
        own = *given;
        replaced = true;
      }
      if (!replaced) model->children.push_back(*given);
    }
  }

  // <include merge="true">: adds the model's contents to the outer model, on a frame of their own.
  void MergeModel(const XmlElement& element, const ModelScope& outer) {
    FrameGraph::Frame frame = ModelFrame(element, outer);
    frame.name = absl::StrCat(outer.scope, "_merged__", element.Get("name"), "__model__");
    frame.own_scope = outer.scope;
    ModelScope inner = outer;
    ReadBool(TextOfChild(element, "static"), &inner.fixed, log_);
    inner.fixed = inner.fixed || outer.fixed;
    inner.frame = frames_.Add(std::move(frame), log_);
    if (inner.frame == FrameGraph::kNone) return;
    AddContents(element, inner);
    frames_.frame(inner.frame).attachment = FirstFrame(element, inner, {"link"});
  }

  void Finish() {
    // if links of joints are missing there is no tree; its errors would only be consequences
    const int before = log_->errors();
    ReadSdfJoints(joints_, &frames_, draft_, log_);
    const bool connected = log_->errors() == before && complete_;
    const std::vector<bool> fixed = FindFixedLinks(*draft_, options_.fixed_base);
    for (const Link& link : links_) {
      ReadSdfLink(*link.element, link.folder, fixed[link.number], options_, meshes_,
                  &draft_->robot.links[link.number], log_);
    }
    for (const Deformable& source : deformables_) {
      RobotDeformable body;
      body.name = source.name;
      body.line = source.element->place.line;
      body.X_WB = frames_.X_WF(source.frame);
      if (ReadSdfDeformable(*source.element, source.folder, meshes_, &body, log_))
        draft_->robot.deformables.push_back(std::move(body));
    }
    for (const auto& [name, number] : named_frames_) {
      const int link = frames_.FindLink(number, log_);
      if (link == -2) continue;
      const RigidTransform& X_WF = frames_.X_WF(number);
      const RigidTransform X_BF =
          link < 0 ? X_WF : frames_.X_WF(link_frames_[link]).Inverse() * X_WF;
      draft_->robot.frames.push_back({name, link, X_BF});
    }
    DrakeModelTags tags;
    for (const auto& [element, tag_scope] : tags_) {
      const auto& scope = tag_scope;  // lambdas capture no structured bindings
      const auto find_link = [&](const std::string& name) {
        const int frame = frames_.Find(name, scope);
        if (frame == FrameGraph::kNone) return -2;
        for (const Deformable& body : deformables_) {
          if (body.frame == frame) return -3;
        }
        return frame == FrameGraph::kWorld ? -1 : frames_.FindLink(frame, log_);
      };
      if (!tags.Take(*element, find_link, draft_, log_))
        log_->LeftOut(element->place, absl::StrCat("<", element->name, ">"));
    }
    tags.ExcludeContacts(draft_, log_);
    if (draft_->robot.links.empty() && draft_->robot.deformables.empty()) {
      log_->Error(root_.place, "<sdf>: has no links; expected a <model> with at least one <link>");
    }
    if (!connected || draft_->robot.links.empty()) {
      draft_->sorted = log_->ok();
      return;
    }
    std::vector<RigidTransform> X_WB;
    for (const int frame : link_frames_) X_WB.push_back(frames_.X_WF(frame));
    BuildLinkTree(X_WB, /*one_root=*/false, draft_, log_);
  }

  static constexpr std::size_t kMaxIncludedElements = 2'000'000;

  const XmlElement& root_;
  const RobotFileOptions& options_;
  RobotFiles* files_;
  RobotMeshes* meshes_;
  RobotDraft* draft_;
  RobotLog* log_;

  FrameGraph frames_;
  std::optional<std::unordered_set<std::string>> references_;
  std::unordered_map<std::string, int> last_numbers_;  // of models with a name that is taken
  std::list<XmlElement> trees_;                        // of included files
  std::vector<Link> links_;
  std::vector<int> link_frames_;
  std::vector<Deformable> deformables_;
  std::vector<SdfJoint> joints_;
  std::vector<std::pair<std::string, int>> named_frames_;
  std::vector<std::pair<const XmlElement*, std::string>> tags_;
  std::string minor_text_;
  bool complete_ = true;  // all links and joints were added
  int includes_ = 0;
  std::size_t included_elements_ = 0;
};

}  // namespace

void ReadSdf(const XmlElement& root, const RobotFileOptions& options, RobotFiles* files,
             RobotMeshes* meshes, RobotDraft* draft, RobotLog* log) {
  SdfReader(root, options, files, meshes, draft, log).Read();
}

}  // namespace pliant::physics
