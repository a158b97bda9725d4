#pragma once

#include <functional>

namespace pliant::clients {

// Handles Ctrl-C and SIGTERM. The first one makes Interrupted() true and calls `on_first` on a
// separate thread, so that the command can end by itself: it releases leases and restores the
// terminal. After a second signal, or after five seconds, the program ends at once. SIGPIPE is
// ignored; writing reports it. Call it once, before there are other threads.
void HandleInterrupts(std::function<void()> on_first);

bool Interrupted();

}  // namespace pliant::clients
