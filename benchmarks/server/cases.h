#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace pliant::benchmarks {

// Each case starts its own servers and adds its rows to `rows`.
using Rows = nlohmann::ordered_json;

// Round trip of StepWorld from one client, with servers that let idle processors halt or spin
// instead, compared with a call that does nothing; and StepWorlds over 64 worlds. Each world has
// one body.
void RunLockstep(Rows* rows);
void RunStepWorlds(Rows* rows);

// Worlds of one body created, stepped and deleted, 64 alive at once.
void RunSmallWorlds(Rows* rows);

// An empty world created and deleted `cycles` times: rate, and growth of the server's memory after
// the first 1,000. Progress goes to standard error.
void RunCreateDelete(int cycles, Rows* rows);

// Clients that connect and disconnect, `visits` over WebSocket and as many over gRPC: memory, open
// files and threads that the server gains.
void RunConnections(int visits, Rows* rows);

// Checkpoints of a world of 90,000 degrees of freedom over gRPC: time to take and to restore one,
// and how much longer steps take meanwhile.
void RunCheckpoints(Rows* rows);

// Time that frames of the default world leave after their step, with ten viewers.
void RunFrameLag(Rows* rows);

// An operator at 100 Hz, first alone and then with 100 viewers, of which five are stalled and five
// are slow, for `seconds` each.
void RunViewers(double seconds, Rows* rows);

// Processor time to encode a frame of 20,000 surface vertices with strain, in this process.
void RunEncoding(Rows* rows);

// A world of 100 soft balls with 200 surface vertices each, and a paddle that may be driven.
std::string SoftBallsScene();

}  // namespace pliant::benchmarks
