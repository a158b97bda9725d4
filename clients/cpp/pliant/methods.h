#pragma once

#include "google/protobuf/empty.pb.h"

#include "pliant/v1/control.pb.h"
#include "pliant/v1/objects.pb.h"
#include "pliant/v1/record.pb.h"
#include "pliant/v1/world.pb.h"

namespace pliant {

// Method and response of a request. Each request message belongs to one method of the API, so
// `client->Call(request)` needs only the request.
template <typename Request>
struct MethodOf;

// kQuick methods have the `timeout` of ClientOptions by default; kLong ones, which step, build or
// transfer, its `long_timeout`.
enum class Duration { kQuick, kLong };

#define PLIANT_METHOD(service, method, request, response, duration)     \
  template <>                                                           \
  struct MethodOf<v1::request> {                                        \
    using Response = response;                                          \
    static constexpr char kName[] = "/pliant.v1." #service "/" #method; \
    static constexpr Duration kDuration = Duration::duration;           \
  };

PLIANT_METHOD(WorldService, GetServer, GetServerRequest, v1::ServerInfo, kQuick)
PLIANT_METHOD(WorldService, CreateWorld, CreateWorldRequest, v1::World, kLong)
PLIANT_METHOD(WorldService, GetWorld, GetWorldRequest, v1::World, kQuick)
PLIANT_METHOD(WorldService, ListWorlds, ListWorldsRequest, v1::ListWorldsResponse, kQuick)
PLIANT_METHOD(WorldService, DeleteWorld, DeleteWorldRequest, google::protobuf::Empty, kLong)
PLIANT_METHOD(WorldService, DescribeWorld, DescribeWorldRequest, v1::WorldDescription, kLong)
PLIANT_METHOD(WorldService, StepWorld, StepWorldRequest, v1::StepWorldResponse, kLong)
PLIANT_METHOD(WorldService, StepWorlds, StepWorldsRequest, v1::StepWorldsResponse, kLong)
PLIANT_METHOD(WorldService, ProbeWorld, ProbeWorldRequest, v1::ProbeWorldResponse, kQuick)
PLIANT_METHOD(WorldService, SetClock, SetClockRequest, v1::World, kQuick)
PLIANT_METHOD(WorldService, ResetWorld, ResetWorldRequest, v1::World, kQuick)
PLIANT_METHOD(WorldService, CheckpointWorld, CheckpointWorldRequest, v1::CheckpointWorldResponse,
              kLong)
PLIANT_METHOD(WorldService, ListCheckpoints, ListCheckpointsRequest, v1::ListCheckpointsResponse,
              kQuick)
PLIANT_METHOD(WorldService, FetchCheckpoint, FetchCheckpointRequest, v1::FetchCheckpointResponse,
              kLong)
PLIANT_METHOD(WorldService, DeleteCheckpoint, DeleteCheckpointRequest, google::protobuf::Empty,
              kQuick)
PLIANT_METHOD(WorldService, RestoreWorld, RestoreWorldRequest, v1::World, kLong)
PLIANT_METHOD(WorldService, ForkWorld, ForkWorldRequest, v1::World, kLong)
PLIANT_METHOD(ObjectService, FindMissingObjects, FindMissingObjectsRequest,
              v1::FindMissingObjectsResponse, kQuick)
PLIANT_METHOD(ObjectService, UploadObject, UploadObjectRequest, v1::UploadObjectResponse, kLong)
PLIANT_METHOD(ObjectService, FetchObject, FetchObjectRequest, v1::FetchObjectResponse, kLong)
PLIANT_METHOD(ControlService, AcquireLease, AcquireLeaseRequest, v1::Lease, kQuick)
PLIANT_METHOD(ControlService, ReleaseLease, ReleaseLeaseRequest, google::protobuf::Empty, kQuick)
PLIANT_METHOD(ControlService, StopWorld, StopWorldRequest, google::protobuf::Empty, kQuick)
PLIANT_METHOD(ControlService, ResumeWorld, ResumeWorldRequest, google::protobuf::Empty, kQuick)
PLIANT_METHOD(RecordService, StartRecording, StartRecordingRequest, v1::Recording, kQuick)
PLIANT_METHOD(RecordService, StopRecording, StopRecordingRequest, v1::Recording, kQuick)
PLIANT_METHOD(RecordService, ListRecordings, ListRecordingsRequest, v1::ListRecordingsResponse,
              kQuick)
PLIANT_METHOD(RecordService, FetchRecording, FetchRecordingRequest, v1::FetchRecordingResponse,
              kLong)
PLIANT_METHOD(RecordService, DeleteRecording, DeleteRecordingRequest, google::protobuf::Empty,
              kQuick)
PLIANT_METHOD(RecordService, Replay, ReplayRequest, v1::ReplayResponse, kLong)

#undef PLIANT_METHOD

}  // namespace pliant
