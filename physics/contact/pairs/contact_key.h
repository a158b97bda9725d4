#pragma once

#include <cstdint>
#include <initializer_list>

namespace pliant::physics {

// Mixes numbers into 64 well-spread bits (the finaliser of SplitMix64 after each).
inline std::uint64_t MixKey(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t key = 0x9e3779b97f4a7c15;
  for (std::uint64_t part : parts) {
    key = (key ^ part) + 0x9e3779b97f4a7c15;
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9;
    key = (key ^ (key >> 27)) * 0x94d049bb133111eb;
    key ^= key >> 31;
  }
  return key;
}

// Kinds of touching features, the first part of a feature key.
enum class TouchKind : std::uint64_t {
  kWhole,      // the only contact of a pair of round shapes, or of a face and a round one
  kVertexOfA,  // a vertex of shape A
  kVertexOfB,
  kEdges,         // an edge of each, or a vertex
  kAlongAxis,     // an end of the overlap of two parallel axes
  kSoftVertex,    // a node of a deformable body against a rigid shape
  kSoftTriangle,  // the interior of a deformable body's triangle against a rigid shape
  kVertexFace,    // a node of one deformable body against a triangle of another
  kPatch,         // part of a triangle against a rigid shape, or overlap of two triangles
  kPoint,         // a point of a set against a shape or a surface
  kTwoPoints,     // a point of each set
};

}  // namespace pliant::physics
