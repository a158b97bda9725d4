// Boxes that the authors of larionov2023 stretched, squished and twisted (assets, softy_mpl2):
// their energies and forces, and their solutions.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <Eigen/Cholesky>
#include <gtest/gtest.h>

#include "physics/fem/assembly.h"
#include "physics/fem/fem_balance.h"
#include "physics/geometry/cavities.h"
#include "physics/geometry/mesh.h"
#include "physics/spatial/trig.h"
#include "tests/assets.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A legacy VTK file of tetrahedra in binary, with the numbers of its points and cells.
struct VtkFile {
  TetrahedralMesh mesh;  // as it lies in the file, deformed
  std::map<std::string, std::vector<double>> numbers;
};

class VtkReader {
 public:
  explicit VtkReader(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }

  VtkFile Read() {
    VtkFile result;
    std::size_t count = 0;
    while (at_ < bytes_.size()) {
      std::istringstream line(ReadLine());
      std::string word, name, type;
      line >> word;
      if (word == "POINTS") {
        line >> count >> type;
        const std::vector<double> x = ReadNumbers(3 * count, type);
        for (std::size_t i = 0; i < x.size(); i += 3)
          result.mesh.vertices.emplace_back(x[i], x[i + 1], x[i + 2]);
      } else if (word == "CELLS") {
        std::size_t size = 0;
        line >> count >> size;
        const std::vector<double> cells = ReadNumbers(size, "int");
        for (std::size_t i = 0; i < size; i += 5)
          result.mesh.tetrahedra.push_back(
              {int(cells[i + 1]), int(cells[i + 2]), int(cells[i + 3]), int(cells[i + 4])});
      } else if (word == "CELL_TYPES") {
        line >> count;
        ReadNumbers(count, "int");
      } else if (word == "POINT_DATA" || word == "CELL_DATA") {
        line >> count;
      } else if (word == "VECTORS" || word == "SCALARS") {
        line >> name >> type;
        if (word == "SCALARS") ReadLine();  // its lookup table
        // an array of cells with the name of an array of points is not needed
        result.numbers.emplace(name, ReadNumbers((word == "VECTORS" ? 3 : 1) * count, type));
      } else if (word == "METADATA") {
        while (!ReadLine().empty()) continue;
      }
    }
    return result;
  }

 private:
  std::string ReadLine() {
    const std::size_t end = std::min(bytes_.find('\n', at_), bytes_.size());
    std::string line = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }

  // Numbers, most significant byte first.
  std::vector<double> ReadNumbers(std::size_t count, const std::string& type) {
    const std::size_t size = type == "double" ? 8 : type == "char" ? 1 : 4;
    std::vector<double> numbers;
    for (std::size_t i = 0; i < count; ++i, at_ += size) {
      char number[8] = {};
      std::reverse_copy(&bytes_.at(at_), &bytes_.at(at_ + size - 1) + 1, number);
      if (type == "double") {
        numbers.push_back(std::bit_cast<double>(number));
      } else if (type == "float") {
        float x = 0;
        std::memcpy(&x, number, 4);
        numbers.push_back(x);
      } else if (type == "int") {
        std::int32_t x = 0;
        std::memcpy(&x, number, 4);
        numbers.push_back(x);
      } else {
        numbers.push_back(number[0]);
      }
    }
    return numbers;
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

struct BoxCase {
  const char* file;
  double mu, lambda;            // [Pa]; as in the file, or a multiple
  double tolerance;             // of its energies and forces
  double bulk_modulus, volume;  // of what fills it, 0 for nothing; ratio of volumes at rest and now
};
constexpr double kTenAtmospheres = 1013250;
const double kMu = 270e6 / 2.7, kLambda = 270e6 * 0.35 / (1.35 * 0.3);

class BoxOfTheAuthors : public ::testing::TestWithParam<BoxCase> {
 protected:
  void SetUp() override {
    const std::string path =
        absl::StrCat(FindAssets(), "/softy_mpl2/softy/assets/", GetParam().file, ".vtk");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    file_ = VtkReader(path).Read();
    ASSERT_EQ(file_.mesh.vertices.size(), 125u);
    for (const Vector3d& x : file_.mesh.vertices)
      deformed_.insert(deformed_.end(), {x[0], x[1], x[2]});
    rest_ = file_.numbers.at("ref");
    for (std::array<int, 4>& nodes : file_.mesh.tetrahedra) {
      Eigen::Matrix3d D;
      for (int a = 0; a < 3; ++a) D.col(a) = RestOf(nodes[a + 1]) - RestOf(nodes[0]);
      if (D.determinant() < 0) std::swap(nodes[0], nodes[1]);
    }
  }

  Vector3d RestOf(int node) const { return Vector3d::Map(&rest_[3 * node]); }

  // The box at rest, of a material with these parameters.
  void MakeModel(double mu, double lambda) {
    FemParameters parameters;
    parameters.mesh = file_.mesh;
    for (int i = 0; i < 125; ++i) parameters.mesh.vertices[i] = RestOf(i);
    const double E = mu * (3 * lambda + 2 * mu) / (lambda + mu), nu = lambda / (2 * (lambda + mu));
    parameters.materials = {{FindMaterial("LOG_NEO_HOOKEAN"), {E, nu}, 1000}};
    if (GetParam().bulk_modulus > 0) {
      VolumeParameters& volume = parameters.volumes.emplace_back();
      volume.law = FindVolumeLaw("QUADRATIC");
      volume.parameters = {GetParam().bulk_modulus};
      volume.triangles = ExtractBoundary(parameters.mesh).triangles;
      volume.rest_volume = CalcEnclosedVolume(volume.triangles, parameters.mesh.vertices);
    }
    model_ = std::make_shared<FemModel>(parameters, std::make_shared<FemRestShape>(parameters));
  }

  // Minus the forces at q, and their derivative as far as nodes are free.
  void CalcForces(const std::vector<double>& q, Eigen::VectorXd* residual, Eigen::MatrixXd* K) {
    constexpr double kScale = 1e6;  // beside which the mass is negligible
    const std::vector<double> none(q.size(), 0.0), internals(model_->volumes.size(), 0.0);
    const BlockState state{q, none, internals};
    const auto balance = MakeFemBalance(model_);
    balance->Start(state, {}, 1);
    std::vector<double> placed = q, still = none, forces(q.size());
    balance->Place(0, none, placed, still);
    ASSERT_TRUE(balance->CalcResidual(none, {}, forces).ok());
    solvers::BlockSum sum;
    sum.Clear(static_cast<int>(q.size()));
    balance->AddJacobian(kScale, none, {}, 0, &sum);
    K->setZero(q.size(), q.size());
    for (const auto& entry : sum.entries)
      (*K)(entry.row, entry.column) += entry.value / (kScale * kScale);
    for (const auto& outer : sum.outers) {
      for (std::size_t i = 0; i < outer.places.size(); ++i)
        for (std::size_t j = 0; j < outer.places.size(); ++j)
          (*K)(outer.places[i], outer.places[j]) +=
              outer.weight * outer.values[i] * outer.values[j] / (kScale * kScale);
    }
    *residual = Eigen::Map<const Eigen::VectorXd>(forces.data(), forces.size());
    for (std::size_t i = 0; i < q.size(); ++i) {
      if (file_.numbers.at("fixed")[i / 3] == 0) continue;
      (*residual)[i] = 0;
      K->row(i).setZero();
      K->col(i).setZero();
      (*K)(i, i) = 1;
    }
  }

  // Newton's method from a guess, in steps that reduce the forces; the fixed nodes stay.
  void Solve(std::vector<double>* q) {
    Eigen::VectorXd residual, direction;
    Eigen::MatrixXd K, unused;
    for (int k = 0; k < 200; ++k) {
      CalcForces(*q, &residual, &K);
      direction = K.partialPivLu().solve(residual);
      const double size = residual.norm();
      std::vector<double> moved;
      for (double part = 1; part > 1e-6; part /= 2) {
        moved = *q;
        for (std::size_t i = 0; i < q->size(); ++i) moved[i] -= part * direction[i];
        CalcForces(moved, &residual, &unused);
        if (residual.norm() < size) break;
      }
      *q = moved;
      if (direction.lpNorm<Eigen::Infinity>() < 1e-10) return;
    }
    FAIL() << "a change of " << direction.lpNorm<Eigen::Infinity>() << " m is left";
  }

  // 1 if the end at positive x has turned from y to z.
  double SignOfTurn() const {
    for (std::size_t i = 0; i < rest_.size(); i += 3) {
      if (rest_[i] != 0.5 || rest_[i + 1] == 0) continue;
      const double across = rest_[i + 1] * deformed_[i + 2] - rest_[i + 2] * deformed_[i + 1];
      return across > 0 ? 1 : -1;
    }
    return 0;
  }

  double CalcVolumeRatio(const std::vector<double>& q) const {
    TetrahedralMesh mesh = file_.mesh;
    for (int i = 0; i < 125; ++i) mesh.vertices[i] = Vector3d::Map(&q[3 * i]);
    return CalcVolume(mesh);  // the box had 1 m³
  }

  VtkFile file_;
  std::vector<double> rest_, deformed_;
  std::shared_ptr<FemModel> model_;
};

class BoxWithForces : public BoxOfTheAuthors {};

TEST_P(BoxWithForces, HasTheirEnergiesAndForces) {
  MakeModel(file_.numbers.at("mu")[0], file_.numbers.at("lambda")[0]);
  const std::vector<double>& energies = file_.numbers.at("strain_energy");
  const FemModel::Deformation at = model_->CalcDeformation(deformed_);
  const double largest = *std::ranges::max_element(energies);
  for (std::size_t b = 0; b < model_->elements.batches.size(); ++b) {
    const ElementBatch& batch = model_->elements.batches[b];
    const Lane energy =
        batch.volume *
        model_->CalcResponse(b, model_->CalcDeformation(batch, deformed_), at).energy;
    for (int l = 0; l < kLanes; ++l) {
      const int element = model_->elements.elements[kLanes * b + l];
      if (element < 0) continue;
      EXPECT_NEAR(energy[l], energies[element], GetParam().tolerance * largest) << element;
    }
  }
  const std::vector<double>& forces = file_.numbers.at("elastic_force");
  std::vector<double> residual(forces.size(), 0.0);
  FemModel::Deformation scratch;
  solvers::BlockMatrix unused(&model_->pattern);
  AssembleNonlinear(*model_, deformed_, {}, 1, 1, Tangent::kNone, &scratch, &unused, &residual);
  double size = 0, error = 0;
  for (std::size_t i = 0; i < forces.size(); ++i) {
    size = std::max(size, std::abs(forces[i]));
    error = std::max(error, std::abs(residual[i] + forces[i]));
  }
  EXPECT_LT(error, GetParam().tolerance * size);
}

// The solution starts from a box whose slices follow its ends.
class HeldBox : public BoxOfTheAuthors {};

TEST_P(HeldBox, IsInEquilibriumWherePublished) {
  MakeModel(GetParam().mu, GetParam().lambda);
  const bool turns = std::string(GetParam().file).find("twisted") != std::string::npos;
  std::vector<double> q = deformed_;
  for (std::size_t i = 0; i < q.size(); i += 3) {
    if (file_.numbers.at("fixed")[i / 3] != 0) continue;
    if (!turns) {
      q[i] = 3 * rest_[i];
      continue;
    }
    // the ends turn by 45° to either side
    const SinCos of = CalcSinCos(SignOfTurn() * 2 * rest_[i] * kPi / 4);
    q[i] = rest_[i];
    q[i + 1] = of.cos * rest_[i + 1] - of.sin * rest_[i + 2];
    q[i + 2] = of.sin * rest_[i + 1] + of.cos * rest_[i + 2];
  }
  Solve(&q);
  for (std::size_t i = 0; i < q.size(); ++i) EXPECT_NEAR(q[i], deformed_[i], 1e-5) << i;
  EXPECT_NEAR(CalcVolumeRatio(q), GetParam().volume, 1e-5);
}

const BoxCase kTwisted{"box_twisted", 500, 0, 1e-12, 0, 0.883935},
    kTwistedFull{"box_twisted_const_volume", 500, 0, 0, kTenAtmospheres, 0.999888},
    kStretched{"box_stretched", kMu, kLambda, 1e-5, 0, 1.685260},
    kStretchedFull{"box_stretched_const_volume", kMu, kLambda, 0, kTenAtmospheres, 1.681230},
    kSquished{"box_squished", kMu, kLambda, 1e-5, 0, 0};

const auto kName = [](const auto& test) { return std::string(test.param.file); };
INSTANTIATE_TEST_SUITE_P(Boxes, BoxWithForces, ::testing::Values(kTwisted, kStretched, kSquished),
                         kName);
INSTANTIATE_TEST_SUITE_P(Boxes, HeldBox,
                         ::testing::Values(kTwisted, kTwistedFull, kStretched, kStretchedFull),
                         kName);

}  // namespace
}  // namespace pliant::physics
