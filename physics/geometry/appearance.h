#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

namespace pliant::physics {

// An image file, PNG or JPEG. Only its header is read here; viewers decode the image.
struct Image {
  std::string bytes;
  std::string media_type;     // image/png or image/jpeg
  int width = 0, height = 0;  // [px]
};

// Appearance of a triangle mesh in viewers, which multiply the colours of the mesh, of its vertices
// and of the image.
struct Appearance {
  // u and v of each vertex in the image, (0, 0) at its lower left corner; empty: no image
  std::vector<std::array<float, 2>> texture_coordinates;
  // red, green, blue and alpha of each vertex, 0 … 255 (sRGB); empty: none
  std::vector<std::array<std::uint8_t, 4>> vertex_colors;
  std::shared_ptr<const Image> image;
};

// A part of a fine surface that viewers draw in place of the surface of a deformable body. Each of
// its vertices is Σ weight · position over four nodes of the body. The weights sum to 1; some are
// negative for a vertex outside of the tetrahedra.
struct EmbeddedPart {
  std::vector<std::array<int, 4>> nodes;
  std::vector<std::array<float, 4>> weights;
  std::vector<std::array<int, 3>> triangles;  // of these vertices, counter-clockwise from outside
  Eigen::Vector4d color{1, 1, 1, 1};          // red, green, blue, alpha in 0 … 1
  std::shared_ptr<const Appearance> appearance;  // null: the colour alone
};
struct EmbeddedSurface {
  std::vector<EmbeddedPart> parts;
  std::vector<int> inner_nodes;  // nodes of parts that are not on the body's surface, ascending
};

}  // namespace pliant::physics
