# find_package(pliant) gives pliant::client, the C++ client of Pliant servers: #include "pliant/client.h"
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(Eigen3 3.4)
find_dependency(OpenSSL 3.0)
find_dependency(absl CONFIG)
find_dependency(Protobuf)
find_dependency(gRPC CONFIG)
include(${CMAKE_CURRENT_LIST_DIR}/pliantTargets.cmake)
