// Reads the strain at a vertex of a soft body: strain HOST:PORT WORLD BODY VERTEX

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "pliant/client.h"

namespace {

absl::Status Run(char** argv) {
  const auto client = pliant::Client::Connect({.address = argv[1]});
  if (!client.ok()) return client.status();
  pliant::v1::Subscription request;
  request.add_bodies(argv[3]);
  request.add_fields(pliant::v1::FIELD_MEASURE_VON_MISES_STRAIN);
  request.add_fields(pliant::v1::FIELD_MEASURE_GREEN_STRAIN);
  const auto subscription = (*client)->GetWorld(argv[2]).Subscribe(request);
  if (!subscription.ok()) return subscription.status();
  const pliant::DescriptionPtr world = (*subscription)->description();
  const auto body = world->FindDeformable(argv[3]);
  if (!body.ok()) return body.status();
  // vertices are numbered as in the mesh file; frames have those of the surface
  const auto vertex =
      world->FindSurfaceVertex(*body, static_cast<std::uint32_t>(std::atoi(argv[4])));
  if (!vertex.ok()) return vertex.status();

  pliant::Frame frame;
  if (absl::Status status = (*subscription)->WaitForFrame(&frame, std::chrono::seconds(10));
      !status.ok())
    return status;
  const pliant::DeformableState& state = frame.deformables[*body];
  const auto strain = state.Find(pliant::v1::FIELD_MEASURE_VON_MISES_STRAIN)->matrix();
  const auto tensor = state.Find(pliant::v1::FIELD_MEASURE_GREEN_STRAIN)->matrix().col(*vertex);
  const auto p_W = state.positions().col(*vertex);
  std::printf("t %.3f s: vertex %s at (%.4f, %.4f, %.4f) m, von Mises strain %.3g\n", frame.time,
              argv[4], p_W.x(), p_W.y(), p_W.z(), strain(0, *vertex));
  std::printf("Green strain xx %.3g yy %.3g zz %.3g xy %.3g yz %.3g xz %.3g\n", tensor[0],
              tensor[1], tensor[2], tensor[3], tensor[4], tensor[5]);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: strain HOST:PORT WORLD BODY VERTEX\n";
    return 2;
  }
  const absl::Status status = Run(argv);
  if (!status.ok()) std::cerr << status.message() << '\n';
  return status.ok() ? 0 : 1;
}
