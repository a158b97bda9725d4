#pragma once

#include <functional>

#include "clients/cli/session.h"

namespace CLI {
class App;
}

namespace pliant::clients {

// Each function adds its commands to the program. The command chosen on the command line sets
// `*action`, which runs it and returns the exit status.
using Action = std::function<int()>;

void AddWorldCommands(CLI::App* pliant, Session* session, Action* action);      // world …
void AddCheckpointCommands(CLI::App* world, Session* session, Action* action);  // those of `world`
void AddProbeCommand(CLI::App* world, Session* session, Action* action);        // world probe
void AddControlCommands(CLI::App* pliant, Session* session, Action* action);  // stop, resume, lease
void AddRecordCommands(CLI::App* pliant, Session* session, Action* action);   // record …
void AddRobotCommands(CLI::App* pliant, Session* session, Action* action);    // robot …
void AddWatchCommands(CLI::App* pliant, Session* session, Action* action);    // watch, top
void AddDoctorCommands(CLI::App* pliant, Session* session, Action* action);   // health, doctor
void AddBenchCommand(CLI::App* pliant, Session* session, Action* action);     // bench
void AddHelpCommands(CLI::App* pliant, Action* action);                       // completion, man

}  // namespace pliant::clients
