#pragma once

#include <chrono>
#include <signal.h>

namespace pliant::server {

// SIGINT and SIGTERM.
sigset_t InterruptSignals();

// Holds both back from this thread, from those that it starts, and from those that libraries
// started before main (OpenBLAS does): what sigwait and signalfd read then is the first to see
// them.
void HoldInterrupts();

// The next of both that the process is sent, or 0 when none is for so long. For a thread that holds
// them back. Whatever else interrupts it, and be it one of both that another thread took and passes
// on, the wait goes on.
int WaitForInterrupt(std::chrono::milliseconds timeout);

// Lets them end the process again.
void ReleaseInterrupts();

}  // namespace pliant::server
