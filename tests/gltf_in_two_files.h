#pragma once

#include <cstdint>
#include <string>

namespace pliant {

// A tetrahedron with three perpendicular edges of 0.1 m as glTF: the text, which names the file
// `buffer`, and the bytes of that file.
inline std::string GltfNaming(const std::string& buffer) {
  return R"({"asset": {"version": "2.0"}, "scene": 0,
    "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
    "accessors": [{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3",
        "min": [0, 0, 0], "max": [1, 1, 1]},
      {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"}],
    "bufferViews": [{"buffer": 0, "byteLength": 48},
      {"buffer": 0, "byteOffset": 48, "byteLength": 24}],
    "buffers": [{"byteLength": 72, "uri": ")" +
         buffer + "\"}]}";
}
inline std::string GltfBuffer() {
  std::string bytes;
  const auto put = [&bytes](auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (int v = 0; v < 4; ++v)
    for (int axis = 1; axis < 4; ++axis) put(v == axis ? 0.1f : 0.0f);
  for (const int v : {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3}) put(static_cast<std::uint16_t>(v));
  return bytes;
}

}  // namespace pliant
