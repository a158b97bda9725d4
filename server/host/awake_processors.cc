#include "server/host/awake_processors.h"

#include <cerrno>
#include <cstring>
#include <sched.h>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace pliant::server {
namespace {

constexpr int kRelaxations = 16;  // between two readings of the clock: about a microsecond

// Hints to the processor that this loop waits, which saves power and slows down its other hardware
// thread less.
void Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The first processors that this process may use.
std::vector<int> ListProcessors(int max_count) {
  std::vector<int> processors;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return processors;
  for (int i = 0; i < CPU_SETSIZE && static_cast<int>(processors.size()) < max_count; ++i) {
    if (CPU_ISSET(i, &allowed)) processors.push_back(i);
  }
  return processors;
}

// Binds the calling thread to one processor, with policy SCHED_IDLE. False if the system refuses;
// then the thread must not spin.
bool BindToIdleTime(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  const sched_param none{};
  if (sched_setaffinity(0, sizeof one, &one) == 0 && sched_setscheduler(0, SCHED_IDLE, &none) == 0)
    return true;
  spdlog::warn("event=not_kept_awake processor={} reason=\"{}\"", processor, std::strerror(errno));
  return false;
}

}  // namespace

AwakeProcessors::AwakeProcessors(Timeline* timeline, SteadyTime::duration pause)
    : timeline_(timeline),
      pause_(pause),
      last_reply_(timeline->Now() - 2 * pause),
      until_(timeline->Now() - pause) {
  for (const int processor : ListProcessors(kMaxProcessors)) {
    auto spinner = std::make_unique<Spinner>();
    spinner->processor = processor;
    spinner->worker = timeline_->Start([this, at = spinner.get()] { return Spin(at); },
                                       {absl::StrCat("awake ", processor)});
    spinners_.push_back(std::move(spinner));
  }
}

AwakeProcessors::~AwakeProcessors() {
  Stop();
}

void AwakeProcessors::Stop() {
  stopping_.store(true);
  for (const auto& spinner : spinners_) spinner->worker->Stop();
}

void AwakeProcessors::OnRequest() {
  const SteadyTime now = timeline_->Now();
  if (now - last_reply_.load() < pause_) StayAwake(now);
}

void AwakeProcessors::OnReply() {
  const SteadyTime now = timeline_->Now();
  last_reply_.store(now);
  if (now < until_.load()) StayAwake(now);
}

int AwakeProcessors::CountAwake() const {
  int count = 0;
  for (const auto& spinner : spinners_)
    count += spinner->state.load() == Spinner::State::kAwake ? 1 : 0;
  return count;
}

void AwakeProcessors::StayAwake(SteadyTime now) {
  until_.store(now + pause_);
  for (const auto& spinner : spinners_) {
    if (spinner->state.load() == Spinner::State::kAsleep) spinner->worker->Wake();
  }
}

SteadyTime AwakeProcessors::Spin(Spinner* spinner) {
  using State = Spinner::State;
  if (spinner->state.load() == State::kNew)
    spinner->state.store(BindToIdleTime(spinner->processor) ? State::kAsleep : State::kRefused);
  const auto goes_on = [this] { return timeline_->Now() < until_.load() && !stopping_.load(); };
  if (spinner->state.load() == State::kRefused || !goes_on()) return kNever;
  spinner->state.store(State::kAwake);
  do {
    for (int i = 0; i < kRelaxations; ++i) Relax();
    sched_yield();  // to others of this policy, which do not take precedence by themselves
  } while (goes_on());
  spinner->state.store(State::kAsleep);
  // a thread that set a later time meanwhile may have seen this one as awake
  return goes_on() ? timeline_->Now() : kNever;
}

}  // namespace pliant::server
