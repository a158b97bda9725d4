#pragma once

#include <functional>
#include <memory>
#include <string>

#include "physics/dynamics/model.h"
#include "pliant/v1/world.pb.h"
#include "server/host/published.h"
#include "server/host/world_host.h"

namespace pliant::server {

// Messages that describe a world, the same for every transport.

v1::World DescribeStatus(const std::string& id, const Published& published);

// Stores an image for clients and returns the reference by which they fetch it.
using KeepImage = std::function<v1::ObjectRef(const std::shared_ptr<const physics::Image>&)>;

// Shapes, surfaces and names. Time is proportional to the size of the meshes. Without `keep_image`
// there are no images in it.
v1::WorldDescription DescribeModel(const std::string& id, const physics::Model& model,
                                   const KeepImage& keep_image = nullptr);

// `with_energies` costs a pass over all elements.
v1::StepReport DescribeReport(const Published& published, bool with_energies);

v1::Clock DescribeClock(const ClockMode& mode);
v1::Fault DescribeFault(const physics::WorldFault& fault);

}  // namespace pliant::server
