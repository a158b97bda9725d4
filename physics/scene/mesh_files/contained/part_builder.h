#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "physics/scene/mesh_files/surface_mesh_files.h"
#include "xxhash.h"

namespace pliant::physics {

// Makes a VisualPart of triangles whose corners are given one by one.
class PartBuilder {
 public:
  struct Corner {
    Eigen::Vector3d place;
    std::array<float, 2> texture_coordinates{};
    std::array<std::uint8_t, 4> color{255, 255, 255, 255};
  };

  PartBuilder(bool has_texture_coordinates, bool has_colors)
      : has_texture_coordinates_(has_texture_coordinates), has_colors_(has_colors) {}

  void AddTriangle(const std::array<Corner, 3>& corners) {
    const std::array<int, 3> triangle = {NumberOf(corners[0]), NumberOf(corners[1]),
                                         NumberOf(corners[2])};
    const bool is_thin =
        triangle[0] == triangle[1] || triangle[1] == triangle[2] || triangle[2] == triangle[0];
    if (!is_thin) part_.mesh.triangles.push_back(triangle);
  }

  bool empty() const { return part_.mesh.triangles.empty(); }
  VisualPart Take() { return std::move(part_); }

 private:
  // vertices with equal keys are one; without padding, as keys are compared as bytes
  struct Key {
    double place[3];
    float texture_coordinates[2];
    std::uint8_t color[8];
    bool operator==(const Key& other) const { return std::memcmp(this, &other, sizeof(Key)) == 0; }
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return XXH3_64bits(&key, sizeof(Key)); }
  };

  int NumberOf(const Corner& corner) {
    Key key = {};
    for (int i = 0; i < 3; ++i) key.place[i] = corner.place[i] + 0.0;  // −0 becomes 0
    if (has_texture_coordinates_)
      for (int i = 0; i < 2; ++i) key.texture_coordinates[i] = corner.texture_coordinates[i] + 0.0f;
    if (has_colors_) std::memcpy(key.color, corner.color.data(), 4);
    const auto [known, fresh] = numbers_.emplace(key, static_cast<int>(numbers_.size()));
    if (fresh) {
      part_.mesh.vertices.emplace_back(key.place[0], key.place[1], key.place[2]);
      Appearance& appearance = part_.appearance;
      if (has_texture_coordinates_)
        appearance.texture_coordinates.push_back(
            {key.texture_coordinates[0], key.texture_coordinates[1]});
      if (has_colors_) appearance.vertex_colors.push_back(corner.color);
    }
    return known->second;
  }

  const bool has_texture_coordinates_, has_colors_;
  VisualPart part_;
  std::unordered_map<Key, int, Hash> numbers_;
};

}  // namespace pliant::physics
