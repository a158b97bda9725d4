#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/empty.pb.h"

#include "physics/scene/scene.h"
#include "pliant/v1/control.pb.h"
#include "pliant/v1/objects.pb.h"
#include "pliant/v1/stream.pb.h"
#include "pliant/v1/world.pb.h"
#include "server/auth/audit_log.h"
#include "server/auth/authenticator.h"
#include "server/host/awake_processors.h"
#include "server/host/work_queue.h"
#include "server/host/world_host.h"
#include "server/host/world_registry.h"
#include "server/record/file/replay.h"
#include "server/record/recordings.h"
#include "server/service/call.h"
#include "server/service/shipped_scenes.h"
#include "server/store/state_downloads.h"
#include "server/store/store.h"
#include "server/stream/task_pool.h"
#include "server/stream/world_streams.h"
#include "server/uploads/descriptions.h"
#include "server/uploads/file_sums.h"
#include "server/uploads/object_store.h"

namespace pliant::server {

// Files of the scene of a durable world, in the world's folder.
inline constexpr char kFilesOfWorld[] = "files";

// All requests to the server, independent of the transport. Nothing here blocks: long work is done
// on a world's own thread or on the work queues. Transports call it through the table of methods.
class Handlers {
 public:
  struct Options {
    Quotas quotas{.server = {.worlds = 32}};
    std::string scenes_folder;  // of the scenes that come with the server
    std::string version = "unknown";
    std::string build;
    std::vector<std::string> features;
    Timeline* timeline = &RealTimeline();
    std::shared_ptr<Store> store;                  // of durable worlds; null: none
    std::shared_ptr<Authenticator> authenticator;  // null: every client is an administrator
    std::shared_ptr<AuditLog> audit;               // null: none
    std::shared_ptr<ObjectStore> objects;          // uploaded by clients; null: none
    std::shared_ptr<AwakeProcessors> awake;        // for requests to step; null: none
  };

  explicit Handlers(Options options);
  ~Handlers();

  // Recovers the durable worlds of the store, paused. Those that cannot be recovered stay in its
  // folder; requests for them return the reason. Call it before any request is made.
  void RecoverWorlds();

  // WorldService
  void GetServer(const Call& call, const v1::GetServerRequest& request,
                 Reply<v1::ServerInfo> reply);
  void CreateWorld(const Call& call, const v1::CreateWorldRequest& request, Reply<v1::World> reply);
  void GetWorld(const Call& call, const v1::GetWorldRequest& request, Reply<v1::World> reply);
  void ListWorlds(const Call& call, const v1::ListWorldsRequest& request,
                  Reply<v1::ListWorldsResponse> reply);
  void DeleteWorld(const Call& call, const v1::DeleteWorldRequest& request,
                   Reply<google::protobuf::Empty> reply);
  void DescribeWorld(const Call& call, const v1::DescribeWorldRequest& request,
                     Reply<v1::WorldDescription> reply);
  void StepWorld(const Call& call, const v1::StepWorldRequest& request,
                 Reply<v1::StepWorldResponse> reply);
  void StepWorlds(const Call& call, const v1::StepWorldsRequest& request,
                  Reply<v1::StepWorldsResponse> reply);
  void StepBatch(const Call& call, const v1::StepBatch& request,
                 Reply<v1::StepWorldsResponse> reply);
  void ProbeWorld(const Call& call, const v1::ProbeWorldRequest& request,
                  Reply<v1::ProbeWorldResponse> reply);
  void SetClock(const Call& call, const v1::SetClockRequest& request, Reply<v1::World> reply);
  void ResetWorld(const Call& call, const v1::ResetWorldRequest& request, Reply<v1::World> reply);
  void CheckpointWorld(const Call& call, const v1::CheckpointWorldRequest& request,
                       Reply<v1::CheckpointWorldResponse> reply);
  void ListCheckpoints(const Call& call, const v1::ListCheckpointsRequest& request,
                       Reply<v1::ListCheckpointsResponse> reply);
  void FetchCheckpoint(const Call& call, const v1::FetchCheckpointRequest& request,
                       Reply<v1::FetchCheckpointResponse> reply);
  void DeleteCheckpoint(const Call& call, const v1::DeleteCheckpointRequest& request,
                        Reply<google::protobuf::Empty> reply);
  void RestoreWorld(const Call& call, const v1::RestoreWorldRequest& request,
                    Reply<v1::World> reply);
  void ForkWorld(const Call& call, const v1::ForkWorldRequest& request, Reply<v1::World> reply);

  // ObjectService
  void FindMissingObjects(const Call& call, const v1::FindMissingObjectsRequest& request,
                          Reply<v1::FindMissingObjectsResponse> reply);
  void UploadObject(const Call& call, const v1::UploadObjectRequest& request,
                    Reply<v1::UploadObjectResponse> reply);
  void FetchObject(const Call& call, const v1::FetchObjectRequest& request,
                   Reply<v1::FetchObjectResponse> reply);

  // RecordService
  void StartRecording(const Call& call, const v1::StartRecordingRequest& request,
                      Reply<v1::Recording> reply);
  void StopRecording(const Call& call, const v1::StopRecordingRequest& request,
                     Reply<v1::Recording> reply);
  void ListRecordings(const Call& call, const v1::ListRecordingsRequest& request,
                      Reply<v1::ListRecordingsResponse> reply);
  void FetchRecording(const Call& call, const v1::FetchRecordingRequest& request,
                      Reply<v1::FetchRecordingResponse> reply);
  void DeleteRecording(const Call& call, const v1::DeleteRecordingRequest& request,
                       Reply<google::protobuf::Empty> reply);
  void Replay(const Call& call, const v1::ReplayRequest& request, Reply<v1::ReplayResponse> reply);

  // ControlService
  void AcquireLease(const Call& call, const v1::AcquireLeaseRequest& request,
                    Reply<v1::Lease> reply);
  void ReleaseLease(const Call& call, const v1::ReleaseLeaseRequest& request,
                    Reply<google::protobuf::Empty> reply);
  void StopWorld(const Call& call, const v1::StopWorldRequest& request,
                 Reply<google::protobuf::Empty> reply);
  void ResumeWorld(const Call& call, const v1::ResumeWorldRequest& request,
                   Reply<google::protobuf::Empty> reply);
  // Accepts a command, or gives the reason in `refused`. Transports use it through
  // CommandFeedback.
  v1::CommandResponse Command(const Call& call, const v1::CommandRequest& request);

  // StreamService: a stream that is not open yet. PERMISSION_DENIED, INVALID_ARGUMENT, NOT_FOUND,
  // or RESOURCE_EXHAUSTED when its frames are too large.
  absl::StatusOr<Subscription> Subscribe(const Call& call, const v1::Subscription& request);
  std::shared_ptr<FrameStream> MakeStream(FrameSink* sink, Subscription subscription);

  // The owner of a bearer token. UNAUTHENTICATED.
  absl::StatusOr<Identity> Identify(absl::string_view token) const;
  // UNAUTHENTICATED once the token of a caller has expired, or was changed or revoked.
  absl::Status CheckCurrent(const Caller& caller) const;
  // Records a request that changed something, or was refused.
  void Audit(const Caller& caller, std::string_view method, const std::string& world,
             const absl::Status& result) const;
  bool has_accounts() const { return options_.authenticator != nullptr; }

  // PERMISSION_DENIED when the caller does not have the role that an admitted call requires on a
  // world with these labels. `world` names it.
  absl::Status CheckRoleOn(const Call& call, const std::map<std::string, std::string>& labels,
                           const std::string& world) const;

  // `name` is worlds/{world_id}. INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED when the caller
  // does not have the role that the call requires on this world, or DATA_LOSS for a durable world
  // that could not be recovered.
  absl::StatusOr<std::shared_ptr<WorldHost>> FindWorld(const Call& call,
                                                       const std::string& name) const;

  // Sets the quotas of worlds that are created, and of files that are uploaded, from now on. The
  // least recently used uploaded files are dropped if they exceed theirs.
  void SetQuotas(const Quotas& quotas);

  WorldRegistry& registry() { return registry_; }
  Timeline& timeline() { return *options_.timeline; }
  // Runs feedback to commanding clients, which waits for no frame.
  TaskPool& feedback_pool() { return feedback_; }
  // Jobs that wait for the threads of the work queues, by name of the queue.
  std::vector<std::pair<const char*, std::size_t>> QueueLengths() const {
    return {{"building", building_.length()}, {"describing", describing_.length()}};
  }
  const StreamCounters& stream_counters() const { return streams_.counters(); }

  // Refuses new requests, fails waiting ones and creations with UNAVAILABLE and ends streams. Does
  // not block.
  void Drain();
  bool draining() const { return draining_.load(); }
  void Stop();  // after Drain: joins all threads

 private:
  absl::StatusOr<std::shared_ptr<Creation>> FindCreation(const Call& call,
                                                         const std::string& name) const;
  // The scene of a request. Errors in the scene itself are in the result.
  absl::StatusOr<physics::SceneResult> LoadSource(
      const v1::CreateWorldRequest& request,
      const physics::SceneProgress& progress = nullptr) const;
  absl::Status KeepFiles(const v1::CreateWorldRequest& request, const std::string& folder) const;
  // Starts a paused world under a reserved id, with a journal if it is durable. Reads and writes
  // files.
  absl::StatusOr<std::shared_ptr<WorldHost>> OpenWorld(WorldRegistry::Reservation reservation,
                                                       physics::World world,
                                                       WorldSettings settings);
  absl::StatusOr<WorldRegistry::Reservation> Reserve(const std::string& id,
                                                     const WorldSettings& settings);
  absl::Status RecoverWorld(const Store::Found& found);
  // The settings in a request, which are those of a client called `owner`. INVALID_ARGUMENT.
  static absl::StatusOr<WorldSettings> ReadSettings(const std::string& owner,
                                                    const v1::CreateWorldRequest& request);
  struct CheckpointName {
    WorldFolder folder;
    std::string id;
    std::string world;
    std::map<std::string, std::string> labels;  // of the world
  };
  absl::StatusOr<CheckpointName> ReadCheckpointName(const Call& call,
                                                    const std::string& name) const;
  // Opens the download of a state in chunks; reads one chunk of it.
  absl::StatusOr<v1::CheckpointWorldResponse> SerializeForDownload(
      const StateDownloads::Source& source, const physics::Snapshot& snapshot);
  absl::StatusOr<v1::FetchCheckpointResponse> ReadDownload(
      const std::string& handle, const v1::FetchCheckpointRequest& request);
  absl::Status CheckRoleOnRecording(const Call& call, const v1::Recording& recording) const;
  absl::StatusOr<std::unique_ptr<StagedFiles>> FindFiles(const WorldHost& host,
                                                         WorldRecording::Options* options) const;
  absl::StatusOr<physics::SceneResult> LoadRecordedSource(const v1::CreateWorldRequest& source,
                                                          const RecordedFiles& files) const;
  absl::StatusOr<v1::Recording> FindRecording(const Call& call, const std::string& id) const;
  // The folder of a durable world. FAILED_PRECONDITION for another one.
  absl::StatusOr<WorldFolder> FindFolder(const WorldHost& host) const;
  absl::StatusOr<std::string> Submit(const Call& call, const v1::CommandRequest& request,
                                     SteadyTime now);

  const Options options_;
  const ShippedScenes shipped_;
  // Durable worlds that could not be recovered, by their ids.
  struct Lost {
    std::map<std::string, std::string> labels;
    std::string reason;
  };
  std::map<std::string, Lost> lost_;
  std::atomic<bool> draining_{false};
  StreamHub streams_;
  TaskPool feedback_;
  WorldRegistry registry_;
  WorkQueue building_;  // scenes
  WorkQueue stepping_;  // shares of batches
  WorkQueue describing_;
  WorkQueue storing_;  // reads and writes files
  Descriptions descriptions_;
  StateDownloads downloads_;
  WorkQueue replaying_;
  FileSums file_sums_;
  std::unique_ptr<Recordings> recordings_;  // null without a store
};

}  // namespace pliant::server
