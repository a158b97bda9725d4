#include "physics/scene/compiler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

#include "physics/contact/contact_detection.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "physics/stepping/integrators/stage_rule.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {
namespace {

// Changed whenever the same scene gives a different model.
constexpr char kModelFormat[] = "pliant model 3\n";

// The parts of a scene that results depend on, with defaults filled in: equal models have equal
// texts.
v1::Scene Normalize(const v1::Scene& given, const Model& model) {
  v1::Scene scene = given;
  scene.clear_name();
  scene.clear_probes();
  scene.set_time_step(model.time_step);
  scene.clear_gravity();
  for (int i = 0; i < 3; ++i) scene.add_gravity(model.gravity[i]);
  scene.mutable_contact()->set_friction(model.contact.friction);
  scene.mutable_contact()->set_margin(model.contact.margin);
  if (scene.method().kind_case() == v1::Method::KIND_NOT_SET)
    scene.mutable_method()->mutable_convex();
  return scene;
}

std::string Serialize(const v1::Scene& scene) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  scene.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

// Whether `is_given` is true of the contact parameters of the scene, a pair or a shape.
template <typename F>
bool AnyContact(const Model& model, const F& is_given) {
  return is_given(model.contact) || std::ranges::any_of(model.contact.pairs, is_given) ||
         std::ranges::any_of(model.bodies, [&](const Body& body) {
           return std::ranges::any_of(body.shapes, is_given);
         });
}

// Fraction of the thinner body's thickness beyond which an overlap is reported: such bodies might
// leave each other on the wrong side.
constexpr double kInside = 0.25;
// Approximate shares of the time to build a scene, after its bodies and after all of its parts.
constexpr double kBodiesShare = 0.7;
constexpr double kPartsShare = 0.8;

// Maximum number of pairs that are named.
constexpr std::size_t kMaxOverlapsNamed = 5;

}  // namespace

SceneCompiler::SceneCompiler(const v1::Scene& scene, const SceneOptions& options,
                             std::string folder, SceneLog* log)
    : scene_(scene),
      options_(options),
      folder_(std::move(folder)),
      log_(*log),
      model_(std::make_shared<Model>()) {}

SceneCompiler::~SceneCompiler() = default;

// Warns of contact parameters that have no effect under the method.
void SceneCompiler::CheckContactParameters() {
  const MethodOptions& method = model_->method;
  const bool is_smooth = method.kind == MethodKind::kSmooth;
  if (is_smooth && AnyContact(*model_, [](const auto& of) {
        return of.stiffness >= 0 && std::isfinite(of.stiffness);
      })) {
    log_.Warning("method.smooth",
                 "takes no `stiffness` of contacts; use its own `contact_stiffness`");
  }
  if (!AnyContact(*model_, [](const auto& of) { return of.restitution > 0; })) return;
  if (is_smooth) {
    log_.Warning("method.smooth",
                 "has no restitution; use convex, corrective or nonsmooth for bodies that bounce");
  }
  if (!method.is_maximal()) return;
  for (const Body& body : model_->bodies) {
    if (body.block == kWorldBlock || model_->abilities[body.block].compliance == nullptr) continue;
    return log_.Warning("method.nonsmooth.coordinates",
                        absl::StrCat("MAXIMAL has no restitution for ", body.name,
                                     "; it bounces with REDUCED, which is the default"));
  }
}

// Checks that the method can step every body.
void SceneCompiler::CheckMethod() {
  const SmoothOptions& smooth = model_->method.smooth;
  if (model_->method.kind != MethodKind::kSmooth) return;
  const bool is_euler = smooth.integrator == nullptr || smooth.integrator->name == "BE";
  for (const Body& body : model_->bodies) {
    if (body.block == kWorldBlock) continue;
    const BlockAbilities& abilities = model_->abilities[body.block];
    if (abilities.equation != nullptr) continue;
    const std::string problem = absl::StrCat(
        "cannot step ", body.name, ", whose forces are known at the end of a step only. ");
    if (abilities.frames != nullptr) return log_.Error("method.smooth", problem + "Use convex");
    if (!is_euler || smooth.damped_start) {
      return log_.Error("method.smooth",
                        problem + (is_euler ? "Leave out `damped_start`" : "Use `integrator: BE`"));
    }
  }
}

std::shared_ptr<const Model> SceneCompiler::Compile() {
  CheckEveryField(scene_, "", &log_);
  CompileWorld();
  if (scene_.bodies().empty() && scene_.robots().empty())
    Missing("bodies", "a list with at least one body, or `robots`", &log_);
  CompileBodies();
  if (!ShouldContinue(kBodiesShare)) return nullptr;
  CompileDrives();
  CompileConstraints();
  CompileGroups();
  CompilePairs();
  CompileScript();
  CompileProbes();
  if (log_.failed() || !ShouldContinue(kPartsShare)) return nullptr;

  LimitImages();
  model_->Finish();
  CheckMethod();
  CheckContactParameters();
  CheckOverlaps();
  if (log_.failed()) return nullptr;
  const std::string text =
      absl::StrCat(kModelFormat, mesh_hashes_, options_.repair_meshes ? "repair\n" : "\n",
                   Serialize(Normalize(scene_, *model_)));
  model_->hash = HashBytes(text);
  model_->content_hash = HashBytes(absl::StrCat(model_->hash, looks_hashes_, Serialize(scene_)));
  return model_;
}

bool SceneCompiler::ShouldContinue(double share) {
  share_ = share;
  if (is_cancelled_) return false;
  if (options_.progress == nullptr || options_.progress(share)) return true;
  is_cancelled_ = true;
  log_.Error("", "was cancelled");
  return false;
}

std::string SceneCompiler::PathOfBody(int body) const {
  if (body < static_cast<int>(placements_.size()))
    return absl::StrCat("bodies[", placements_[body].draft, "]");
  for (std::size_t r = 0; r < model_->robots.size(); ++r)
    if (std::ranges::count(model_->robots[r].bodies, body) > 0)
      return absl::StrCat("robots[", robot_placements_[r].draft, "]");
  return "robots";  // a soft body of a robot's file
}

void SceneCompiler::CheckOverlaps() {
  State state = MakeInitialState(*model_);
  std::ranges::fill(state.v, 0.0);  // present overlaps only
  std::map<std::pair<int, int>, double> depths;
  ContactDetector detector(*model_);
  BodyMotions motions(*model_);
  motions.Update(state);
  std::vector<ContactPoint> contacts;
  const absl::Status status = detector.Detect(state, motions, model_->time_step, &contacts);
  if (absl::IsResourceExhausted(status)) return log_.Error("bodies", std::string(status.message()));
  for (const ContactPoint& contact : contacts) {
    if (contact.body_a == contact.body_b) continue;
    double& depth = depths[{contact.body_a, contact.body_b}];
    depth = std::max(depth, -contact.gap);
  }
  SeparateJoinedBodies(&depths);
  SeparateLinks(&depths);
  const auto thickness = [&](int body) {
    if (body >= static_cast<int>(placements_.size())) return detector.thickness(body);
    const BodyDraft& draft = drafts_[placements_[body].draft];
    return draft.particles ? draft.particles->solid->CalcThickness() : detector.thickness(body);
  };
  std::size_t count = 0;
  for (const auto& [pair, depth] : depths) {
    const double thinner = std::min(thickness(pair.first), thickness(pair.second));
    if (!(depth > std::max(model_->contact.margin, kInside * thinner))) continue;
    if (++count > kMaxOverlapsNamed) continue;
    log_.Warning(PathOfBody(pair.second),
                 absl::StrCat(Quoted(model_->bodies[pair.second].name), " starts ",
                              NumberText(std::round(1e4 * depth) / 10), " mm inside ",
                              Quoted(model_->bodies[pair.first].name),
                              "; they part at contact.recovery_speed. Move one of them, or disable "
                              "contact between the two in `pairs`"));
  }
  if (count > kMaxOverlapsNamed) {
    log_.Warning("bodies", absl::StrCat(count - kMaxOverlapsNamed,
                                        " more pairs of bodies start inside each other"));
  }
}

}  // namespace pliant::physics
