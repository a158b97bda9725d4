#pragma once

#include <chrono>
#include <initializer_list>
#include <signal.h>

namespace pliant::server {

// SIGINT and SIGTERM.
sigset_t InterruptSignals();

// Blocks both signals, and others, in this thread and in those that it starts, and redirects them
// from threads that libraries started before main (as OpenBLAS does), so that sigwait and signalfd
// receive them.
void HoldInterrupts(std::initializer_list<int> others = {});

// Waits for SIGINT or SIGTERM and returns it, or 0 on time-out. Call from a thread in which both
// are blocked. The wait resumes after any other interruption, including one of the two received and
// passed on by another thread.
int WaitForInterrupt(std::chrono::milliseconds timeout);

// Restores the default action of both signals.
void ReleaseInterrupts();

}  // namespace pliant::server
