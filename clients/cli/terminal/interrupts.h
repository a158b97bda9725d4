#pragma once

#include <functional>

namespace pliant::clients {

// Ctrl-C and SIGTERM. The first one makes Interrupted() true and runs `on_first` on a thread of its
// own, so that the command can end by itself: it gives leases back and restores the terminal. A
// second one, or five seconds, ends the program at once. SIGPIPE is ignored; writing reports it.
// Call it once, before there are other threads.
void HandleInterrupts(std::function<void()> on_first);

bool Interrupted();

}  // namespace pliant::clients
