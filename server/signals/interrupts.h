#pragma once

#include <signal.h>

namespace pliant::server {

// SIGINT and SIGTERM.
sigset_t InterruptSignals();

// Holds both back from this thread, from those that it starts, and from those that libraries started before main (OpenBLAS
// does): what sigwait and signalfd read then is the first to see them.
void HoldInterrupts();

// Lets them end the process again.
void ReleaseInterrupts();

}  // namespace pliant::server
