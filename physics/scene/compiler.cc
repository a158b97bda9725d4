#include "physics/scene/compiler.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

#include "physics/scene/field_checks.h"
#include "pliant/v1/scene.pb.h"
#include "xxhash.h"

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

}  // namespace

SceneCompiler::SceneCompiler(const v1::Scene& scene, const SceneOptions& options,
                             std::string folder, SceneLog* log)
    : scene_(scene),
      options_(options),
      folder_(std::move(folder)),
      log_(*log),
      model_(std::make_shared<Model>()) {}

SceneCompiler::~SceneCompiler() = default;

std::shared_ptr<const Model> SceneCompiler::Compile() {
  CheckEveryField(scene_, "", &log_);
  CompileWorld();
  if (scene_.bodies().empty() && scene_.robots().empty())
    Missing("bodies", "a list with at least one body, or `robots`", &log_);
  CompileBodies();
  CompileDrives();
  CompileConstraints();
  CompileGroups();
  CompilePairs();
  CompileScript();
  CompileProbes();
  if (log_.failed()) return nullptr;

  model_->Finish();
  WarnOfOverlaps();
  const std::string text =
      absl::StrCat(kModelFormat, mesh_hashes_, options_.repair_meshes ? "repair\n" : "\n",
                   Serialize(Normalize(scene_, *model_)));
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  model_->hash = absl::StrCat(absl::Hex(hash.high64, absl::kZeroPad16),
                              absl::Hex(hash.low64, absl::kZeroPad16));
  return model_;
}

}  // namespace pliant::physics
