#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

#include "server/service/errors.h"
#include "server/service/handlers.h"
#include "server/store/recovery.h"
#include "server/uploads/given_scene.h"

namespace pliant::server {
namespace {

// The record of a world that the store keeps besides its states.
v1::WorldRecord MakeRecord(const std::string& id, const physics::Model& model,
                           const WorldSettings& settings) {
  v1::WorldRecord record;
  v1::CreateWorldRequest* request = record.mutable_request();
  *request = *settings.source;
  request->set_world_id(id);
  request->set_durable(true);
  request->clear_labels();
  request->mutable_labels()->insert(settings.labels.begin(), settings.labels.end());
  record.set_owner(settings.owner);
  record.set_model_hash(model.hash);
  return record;
}

}  // namespace

absl::StatusOr<physics::SceneResult> Handlers::LoadSource(
    const v1::CreateWorldRequest& request, const physics::SceneProgress& progress) const {
  if (!request.has_shipped_scene())
    return LoadGivenScene(request, options_.objects.get(), progress);
  const absl::StatusOr<std::string> file = shipped_.Find(request.shipped_scene());
  if (!file.ok()) return file.status();
  physics::SceneOptions options;
  options.progress = progress;
  return physics::LoadSceneFile(*file, options);
}

absl::StatusOr<WorldRegistry::Reservation> Handlers::Reserve(const std::string& id,
                                                             const WorldSettings& settings) {
  const auto lost = lost_.find(id);
  if (lost == lost_.end()) return registry_.Reserve(id, settings);
  return absl::AlreadyExistsError(
      absl::StrCat("worlds/", id,
                   " is in the data directory, but could not be brought "
                   "back: ",
                   lost->second.reason));
}

absl::StatusOr<std::shared_ptr<WorldHost>> Handlers::OpenWorld(
    WorldRegistry::Reservation reservation, physics::World world, WorldSettings settings) {
  std::shared_ptr<WorldJournal> journal;
  if (settings.durable) {
    auto created = options_.store->Create(MakeRecord(reservation.id(), world.model(), settings),
                                          world.TakeSnapshot());
    if (!created.ok()) return created.status();
    journal = *std::move(created);
    if (absl::Status status = KeepFiles(*settings.source, journal->folder()); !status.ok()) {
      journal->Discard();
      return status;
    }
  }
  auto host =
      registry_.Open(std::move(reservation), std::move(world), {}, std::move(settings), journal);
  if (!host.ok() && journal != nullptr) journal->Discard();
  return host;
}

// Links the files of the scene of a durable world into its folder.
absl::Status Handlers::KeepFiles(const v1::CreateWorldRequest& request,
                                 const std::string& folder) const {
  if (request.files().empty()) return absl::OkStatus();
  return options_.objects->Link({request.files().begin(), request.files().end()},
                                std::filesystem::path(folder) / kFilesOfWorld);
}

void Handlers::RecoverWorlds() {
  if (options_.store == nullptr) return;
  for (const Store::Found& found : options_.store->Find()) {
    const absl::Status status = RecoverWorld(found);
    if (status.ok()) continue;
    const std::string reason =
        absl::StrCat(std::string(status.message()), ". It is kept in ", found.folder.path(), ".");
    Lost& lost = lost_[found.id];
    lost.reason = reason;
    if (found.record.ok()) {
      const auto& labels = found.record->request().labels();
      lost.labels.insert(labels.begin(), labels.end());
    }
    spdlog::error("event=world_not_recovered world={} reason=\"{}\"", found.id, reason);
  }
}

absl::Status Handlers::RecoverWorld(const Store::Found& found) {
  if (!found.record.ok()) return found.record.status();
  const v1::CreateWorldRequest& request = found.record->request();
  absl::StatusOr<WorldSettings> settings = ReadSettings(found.record->owner(), request);
  if (!settings.ok()) return settings.status();
  const std::string files = (std::filesystem::path(found.folder.path()) / kFilesOfWorld).string();
  const absl::StatusOr<physics::SceneResult> scene =
      request.files().empty() ? LoadSource(request) : LoadSceneWithFiles(request, files);
  if (!scene.ok()) return scene.status();
  if (!scene->ok()) return SceneError(scene->messages);
  if (scene->model->hash != found.record->model_hash()) {
    return absl::FailedPreconditionError(
        absl::StrCat("its scene leads to another model (", scene->model->hash, ") than before (",
                     found.record->model_hash(), "); use the build that created it"));
  }
  absl::StatusOr<RecoveredWorld> recovered =
      server::RecoverWorld(found.folder, registry_.Share(scene->model));
  if (!recovered.ok()) return recovered.status();
  for (const std::string& warning : recovered->warnings)
    spdlog::warn("event=world_damaged world={} reason=\"{}\"", found.id, warning);

  auto reservation = registry_.Reserve(found.id, *settings);
  if (!reservation.ok()) return reservation.status();
  const std::int64_t step = recovered->world.state().step;
  auto journal = options_.store->Continue(found.folder, recovered->last_number,
                                          recovered->world.TakeSnapshot());
  if (!journal.ok()) return journal.status();
  const auto host = registry_.Open(*std::move(reservation), std::move(recovered->world), {},
                                   *std::move(settings), *std::move(journal));
  if (!host.ok()) return host.status();
  spdlog::info("event=world_recovered world={} step={} replayed={}", found.id, step,
               recovered->replayed);
  return absl::OkStatus();
}

}  // namespace pliant::server
