// Watches a world: watch HOST:PORT WORLD SECONDS

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "pliant/client.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: watch HOST:PORT WORLD SECONDS\n";
    return 2;
  }
  const auto client = pliant::Client::Connect({.address = argv[1]});
  if (!client.ok()) {
    std::cerr << client.status().message() << '\n';
    return 1;
  }
  // the callback runs on a thread of the subscription, with the latest state of every body
  pliant::v1::Subscription request;
  request.set_rate(30);
  const auto subscription = (*client)->GetWorld(argv[2]).Subscribe(
      request, [](const pliant::Frame& frame, const pliant::Description& world) {
        std::printf("t %.3f s", frame.time);
        for (std::size_t i = 0; i < frame.deformables.size(); ++i) {
          const auto positions = frame.deformables[i].positions();
          if (positions.cols() == 0) continue;
          std::printf("  %s at z %.4f m",
                      world.message().deformables(static_cast<int>(i)).name().c_str(),
                      positions.row(2).mean());
        }
        std::printf("\n");
      });
  if (!subscription.ok()) {
    std::cerr << subscription.status().message() << '\n';
    return 1;
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(argv[3])));
  return (*subscription)->status().ok() ? 0 : 1;
}
