#pragma once

#include <functional>

#include "clients/cli/client.h"

namespace CLI {
class App;
}

namespace pliant::clients {

// Each function adds its commands to the program. The command chosen on the command line sets
// `*action`, which runs it and returns the exit status.
using Action = std::function<int()>;

void AddWorldCommands(CLI::App* pliant, Client* client, Action* action);    // world …
void AddControlCommands(CLI::App* pliant, Client* client, Action* action);  // stop, resume
void AddRecordCommands(CLI::App* pliant, Client* client, Action* action);   // record …
void AddRobotCommands(CLI::App* pliant, Client* client, Action* action);    // robot …
void AddWatchCommands(CLI::App* pliant, Client* client, Action* action);    // watch, health

}  // namespace pliant::clients
