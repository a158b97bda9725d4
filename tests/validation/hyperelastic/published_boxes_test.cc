// Boxes that the authors of larionov2023 deformed with the logarithmic neo-Hookean material, with
// the energy of each element and the elastic forces of the vertices.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "physics/fem/materials/material.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// The arrays of a legacy VTK file with big-endian binary data, by name.
class VtkArrays {
 public:
  explicit VtkArrays(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    bytes_ = content.str();
    for (int i = 0; i < 4; ++i) ReadLine();
    std::size_t count = 0;  // of the section
    while (at_ < bytes_.size()) {
      std::istringstream words(ReadLine());
      std::string key, name, type;
      std::size_t size = 0;
      words >> key;
      if (key == "POINTS") {
        words >> size >> type;
        ReadNumbers("POINTS", 3 * size, type);
      } else if (key == "CELLS") {
        words >> size >> size;
        ReadNumbers("CELLS", size, "int");
      } else if (key == "CELL_TYPES") {
        words >> size;
        ReadNumbers("CELL_TYPES", size, "int");
      } else if (key == "POINT_DATA" || key == "CELL_DATA") {
        words >> count;
      } else if (key == "SCALARS") {
        words >> name >> type;
        ReadLine();  // lookup table
        ReadNumbers(name, count, type);
      } else if (key == "VECTORS") {
        words >> name >> type;
        ReadNumbers(name, 3 * count, type);
      }
    }
  }

  const std::vector<double>& at(const std::string& name) const { return arrays_.at(name); }
  Vector3d vector(const std::string& name, int i) const {
    return Vector3d::Map(&arrays_.at(name)[3 * static_cast<std::size_t>(i)]);
  }

 private:
  std::string ReadLine() {
    const std::size_t end = bytes_.find('\n', at_);
    const std::string line = bytes_.substr(at_, end - at_);
    at_ = end == std::string::npos ? bytes_.size() : end + 1;
    return line;
  }

  template <typename Float, typename Bits>
  double ReadNumber() {
    Bits bits = 0;
    for (std::size_t i = 0; i < sizeof bits; ++i)
      bits = static_cast<Bits>(bits << 8 | static_cast<unsigned char>(bytes_.at(at_++)));
    return static_cast<double>(std::bit_cast<Float>(bits));
  }

  void ReadNumbers(const std::string& name, std::size_t count, const std::string& type) {
    std::vector<double>& numbers = arrays_[name];
    for (std::size_t i = 0; i < count; ++i) {
      numbers.push_back(type == "double"  ? ReadNumber<double, std::uint64_t>()
                        : type == "float" ? ReadNumber<float, std::uint32_t>()
                        : type == "int"   ? ReadNumber<std::int32_t, std::uint32_t>()
                                          : static_cast<double>(bytes_.at(at_++)));
    }
  }

  std::string bytes_;
  std::size_t at_ = 0;
  std::map<std::string, std::vector<double>> arrays_;
};

struct PublishedBox {
  const char* file;
  double tolerance;  // relative: their other parameters are of single precision
};

class PublishedBoxes : public testing::TestWithParam<PublishedBox> {};

INSTANTIATE_TEST_SUITE_P(Softy, PublishedBoxes,
                         testing::Values(PublishedBox{"box_twisted", 1e-12},
                                         PublishedBox{"box_stretched", 1e-5},
                                         PublishedBox{"box_squished", 1e-5}),
                         [](const auto& info) { return std::string(info.param.file); });

TEST_P(PublishedBoxes, HaveTheirEnergiesAndForces) {
  const std::filesystem::path folder =
      std::filesystem::path(PLIANT_SOURCE_DIR) / "../shared/assets/softy_mpl2/softy/assets";
  const std::string path = folder / (std::string(GetParam().file) + ".vtk");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the published meshes are not in " << folder;
  const VtkArrays box(path);
  const Material* material = FindMaterial("LOG_NEO_HOOKEAN");
  const int num_cells = static_cast<int>(box.at("mu").size());
  std::vector<Vector3d> forces(box.at("mass").size(), Vector3d::Zero());
  double error = 0, largest = 0;
  for (int cell = 0; cell < num_cells; ++cell) {
    int v[4];
    for (int i = 0; i < 4; ++i)
      v[i] = static_cast<int>(box.at("CELLS")[5 * static_cast<std::size_t>(cell) + 1 + i]);
    Matrix3d rest, now;
    for (int i = 0; i < 3; ++i) {
      rest.col(i) = box.vector("ref", v[i]) - box.vector("ref", v[3]);
      now.col(i) = box.vector("POINTS", v[i]) - box.vector("POINTS", v[3]);
    }
    const double mu = box.at("mu")[cell], lambda = box.at("lambda")[cell];
    const Lane parameters[] = {Splat(mu * (3 * lambda + 2 * mu) / (lambda + mu)),
                               Splat(lambda / (2 * (lambda + mu)))};
    LaneMatrix3 F;
    for (int l = 0; l < kLanes; ++l) Insert(now * rest.inverse(), l, &F);
    MaterialResponse response;
    material->Respond(parameters, F, Tangent::kNone, &response);
    const double volume = std::abs(rest.determinant()) / 6;
    error = std::max(error, std::abs(volume * response.energy[0] - box.at("strain_energy")[cell]));
    largest = std::max(largest, std::abs(box.at("strain_energy")[cell]));
    const Matrix3d f = -volume * Extract(response.stress, 0) * rest.inverse().transpose();
    for (int i = 0; i < 3; ++i) {
      forces[v[i]] += f.col(i);
      forces[v[3]] -= f.col(i);
    }
  }
  EXPECT_LT(error, GetParam().tolerance * largest);
  error = largest = 0;
  for (std::size_t i = 0; i < forces.size(); ++i) {
    const Vector3d expected = box.vector("elastic_force", static_cast<int>(i));
    error = std::max(error, (forces[i] - expected).norm());
    largest = std::max(largest, expected.norm());
  }
  EXPECT_LT(error, GetParam().tolerance * largest);
}

}  // namespace
}  // namespace pliant::physics
