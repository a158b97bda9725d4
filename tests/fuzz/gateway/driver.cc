// Feeds damaged messages to the gateway where the compiler has no libFuzzer. Every input is a
// function of the seed and its number, so a failure is reproduced with `--first N --runs 1`.

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>

#include "pliant/v1/gateway.pb.h"
#include "pliant/v1/world.pb.h"
#include "tests/fuzz/mutator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace pliant::fuzz {
namespace {

constexpr std::size_t kMaxBytes = 8192;
volatile std::uint64_t g_input = 0;

void OnCrash(int) {
  char line[96];
  const int size = std::snprintf(line, sizeof line, "\ngateway_fuzz: input %llu crashes\n",
                                 static_cast<unsigned long long>(g_input));
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(size)) < 0) _exit(1);
  _exit(1);
}

v1::ClientMessage Call(const std::string& method, const google::protobuf::Message& request) {
  v1::ClientMessage message;
  message.set_request_id(1);
  message.mutable_call()->set_method("pliant.v1." + method);
  message.mutable_call()->set_request(request.SerializeAsString());
  return message;
}

// Good inputs, one of each kind; the mutations of messages come from the calls of the table.
std::vector<std::string> MakeSeeds() {
  using namespace std::string_literals;  // which keep the zeros
  std::vector<std::string> seeds = {
      "\0GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"s,
      "\0POST /ws HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"s,
      // a ping, two fragments, a close with a reason
      "\1\x89\x80\0\0\0\0\x02\x81\0\0\0\0\x08\x80\x81\0\0\0\0\x01\x88\x83\0\0\0\0\x03\xe8x"s};
  v1::ClientMessage hello;
  hello.mutable_hello()->set_client("fuzz");
  v1::ClientMessage subscribe;
  subscribe.mutable_subscribe()->mutable_subscription()->set_world("worlds/w");
  v1::ClientMessage command;
  command.mutable_command()->set_world("worlds/w");
  command.mutable_command()->set_lease_id("l");
  command.mutable_command()->mutable_twist()->add_linear(1);
  v1::CreateWorldRequest create;
  create.set_world_id("w");
  create.set_scene_yaml("name: x\n");
  v1::StepWorldRequest step;
  step.set_name("worlds/w");
  step.set_steps(3);
  for (const v1::ClientMessage& message :
       {hello, subscribe, command, Call("WorldService/CreateWorld", create),
        Call("WorldService/StepWorld", step),
        Call("WorldService/ListWorlds", v1::ListWorldsRequest())})
    seeds.push_back("\2" + message.SerializeAsString());
  return seeds;
}

std::string MakeInput(const std::vector<std::string>& seeds, std::uint64_t seed,
                      std::uint64_t number) {
  Random random(seed * 0x9e3779b97f4a7c15 + number);
  const std::string& base = seeds[random.Below(seeds.size())];
  const std::string& other = seeds[random.Below(seeds.size())];
  // the kind of the input stays, mostly
  std::string input = Mutate(base.substr(1), other, kMaxBytes, &random);
  return (random.OneIn(10) ? std::string(1, static_cast<char>(random.Below(3)))
                           : base.substr(0, 1)) +
         input;
}

int Main(int argc, char** argv) {
  std::uint64_t runs = 10'000, first = 0, seed = 1;
  double duration = 0;
  CLI::App app("Feeds damaged messages to the gateway", "gateway_fuzz");
  app.add_option("--runs", runs, "Number of inputs");
  app.add_option("--first", first, "Number of the first input");
  app.add_option("--seed", seed, "Seed of all inputs");
  app.add_option("--duration", duration, "Time after which it ends, whatever --runs says [s]");
  CLI11_PARSE(app, argc, argv);
  for (const int signal_number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) signal(signal_number, OnCrash);

  const std::vector<std::string> seeds = MakeSeeds();
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t made = 0;
  for (; made < runs; ++made) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (duration > 0 && elapsed.count() > duration) break;
    g_input = first + made;
    const std::string input = MakeInput(seeds, seed, g_input);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
  std::printf("gateway_fuzz: %llu inputs, no failure\n", static_cast<unsigned long long>(made));
  return 0;
}

}  // namespace
}  // namespace pliant::fuzz

int main(int argc, char** argv) {
  return pliant::fuzz::Main(argc, argv);
}
