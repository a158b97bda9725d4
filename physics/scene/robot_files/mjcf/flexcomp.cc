#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/geometry/meshing/mesh_checks.h"
#include "physics/scene/robot_files/mjcf/mjcf_model.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr int kMaxPoints = 2'000'000;

class FlexcompReader {
 public:
  FlexcompReader(const XmlElement& element, MjcfModel* model)
      : element_(element), model_(model), log_(model->log) {}

  std::optional<RobotDeformable> Read() {
    body_.name = element_.Get("name");
    body_.line = element_.place.line;
    body_.X_WB = ReadMjcfPose(element_, model_->settings, log_);
    if (body_.name.empty()) {
      log_->Error(element_.place, "<flexcomp>: has no name; expected name=\"…\"");
      return std::nullopt;
    }
    int dimension = 2;
    ReadInteger(AttributeOf(element_, "dim"), &dimension, log_, 1, 3);
    std::string type = element_.Get("type");
    if (type.empty()) type = "grid";
    if (dimension != 3) {
      log_->LeftOut(
          element_.place, absl::StrCat("flexcomp with dim ", dimension),
          dimension == 1 ? "cables are not supported yet" : "shells are not supported yet");
      return std::nullopt;
    }
    bool rigid = false;
    if (ReadBool(AttributeOf(element_, "rigid"), &rigid, log_) && rigid) {
      log_->LeftOut(element_.place, "rigid flexcomp");
      return std::nullopt;
    }
    const bool ok = type == "grid"      ? ReadGrid()
                    : type == "gmsh"    ? ReadFile()
                    : type == "direct"  ? ReadDirect()
                    : IsPrimitive(type) ? ReadPrimitive(type)
                                        : LeaveOut(type);
    if (!ok) return std::nullopt;
    ReadMaterial();
    ReadContact();
    ReadPins();
    const std::string freedom = element_.Get("dof");
    if (!freedom.empty() && freedom != "full")
      log_->LeftOut(element_.place, absl::StrCat("dof \"", freedom, "\" of a flexcomp"),
                    "all its vertices move");
    if (element_.Child("plugin") != nullptr)
      log_->LeftOut(element_.place, "<plugin> of a flexcomp");
    return std::move(body_);
  }

 private:
  static bool IsPrimitive(const std::string& type) {
    return type == "box" || type == "cylinder" || type == "ellipsoid";
  }

  bool Refuse(const std::string& why) {
    log_->Error(element_.place, absl::StrCat(element_.Label(), ": ", why));
    return false;
  }

  bool LeaveOut(const std::string& type) {
    if (type == "mesh" || type == "square" || type == "disc" || type == "circle") {
      log_->LeftOut(element_.place, absl::StrCat("flexcomp of type ", type, " with dim 3"),
                    "give a tetrahedral mesh (type gmsh)");
      return false;
    }
    return Refuse(absl::StrCat("type \"", type,
                               "\" is unknown; expected grid, box, cylinder, ellipsoid, gmsh, "
                               "direct or mesh"));
  }

  bool ReadCounts(std::array<int, 3>* count, Vector3d* spacing) {
    *count = {10, 10, 10};
    *spacing = Vector3d::Constant(0.02);
    std::vector<double> numbers;
    if (ReadNumbers(AttributeOf(element_, "count"), 3, 3, &numbers, log_, Range::kNotNegative)) {
      for (int i = 0; i < 3; ++i) {
        if (!(numbers[i] >= 2) || numbers[i] > kMaxPoints || numbers[i] != std::floor(numbers[i]))
          return Refuse("count: expected three whole numbers, each at least 2");
        (*count)[i] = static_cast<int>(numbers[i]);
      }
    }
    if (static_cast<double>((*count)[0]) * (*count)[1] * (*count)[2] > kMaxPoints)
      return Refuse(absl::StrCat("count: expected at most ", kMaxPoints, " points in all"));
    ReadVector(AttributeOf(element_, "spacing"), spacing, log_, Range::kSize);
    return true;
  }

  bool ReadGrid() {
    if (!ReadCounts(&body_.count, &body_.spacing)) return false;
    volume_ = body_.spacing.prod() * (body_.count[0] - 1.0) * (body_.count[1] - 1.0) *
              (body_.count[2] - 1.0);
    return true;
  }

  // Reads a solid primitive with the extent of the grid.
  bool ReadPrimitive(const std::string& type) {
    std::array<int, 3> count{};
    Vector3d spacing;
    if (!ReadCounts(&count, &spacing)) return false;
    const Vector3d half =
        0.5 * spacing.cwiseProduct(Vector3d(count[0] - 1, count[1] - 1, count[2] - 1));
    body_.edge_length = spacing.minCoeff();
    if (type == "box") body_.primitive = Box{half};
    if (type == "ellipsoid") body_.primitive = Ellipsoid{half};
    if (type == "cylinder") {
      body_.primitive = Cylinder{half.x(), 2 * half.z()};
      if (half.x() != half.y())
        log_->WarnOnce(element_.place,
                       "flexcomp of type cylinder with an elliptic section: the "
                       "radius is that along x");
    }
    volume_ = CalcMassProperties(*body_.primitive).volume;
    log_->WarnOnce(element_.place,
                   absl::StrCat("flexcomp of type ", type,
                                ": the solid is remeshed, so its vertices are renumbered"));
    return true;
  }

  bool ReadFile() {
    const std::string file = element_.Get("file");
    if (file.empty()) return Refuse("has no file; expected file=\"…\"");
    MeshRequest request;
    request.uri = file;
    request.folder = model_->folder;
    request.place = element_.place;
    request.what = element_.Label();
    ReadVector(AttributeOf(element_, "scale"), &request.scale, log_);
    if ((request.scale.array() == 0).any()) return Refuse("scale: expected no factor 0");
    const RobotMeshes::Volume volume = model_->meshes->ReadVolume(request);
    if (volume.mesh == nullptr) return false;
    body_.mesh = volume.mesh;
    body_.mesh_file = volume.path;
    kept_ = volume.vertices;
    volume_ = CalcVolume(*body_.mesh);
    return true;
  }

  bool ReadDirect() {
    TetrahedralMesh mesh;
    std::vector<double> points, corners;
    if (!ReadNumbers(AttributeOf(element_, "point"), 12, kMaxNumbers, &points, log_,
                     Range::kLength) ||
        !ReadNumbers(AttributeOf(element_, "element"), 4, kMaxNumbers, &corners, log_,
                     Range::kNotNegative)) {
      return Refuse("needs points and elements; expected point=\"x y z …\" element=\"a b c d …\"");
    }
    Vector3d scale = Vector3d::Ones();
    ReadVector(AttributeOf(element_, "scale"), &scale, log_);
    if (points.size() % 3 != 0) return Refuse("point: expected three numbers each");
    if (corners.size() % 4 != 0) return Refuse("element: expected four vertex numbers each");
    for (std::size_t i = 0; i < points.size(); i += 3)
      mesh.vertices.push_back(
          Vector3d(points[i], points[i + 1], points[i + 2]).cwiseProduct(scale));
    for (std::size_t i = 0; i < corners.size(); i += 4) {
      std::array<int, 4> tetrahedron;
      for (int k = 0; k < 4; ++k) {
        if (!(corners[i + k] < static_cast<double>(mesh.vertices.size())))
          return Refuse("element: names a point that does not exist");
        tetrahedron[k] = static_cast<int>(corners[i + k]);
      }
      mesh.tetrahedra.push_back(tetrahedron);
    }
    MeshRepair repair = RepairMesh(mesh);
    for (const MeshDefect& defect : FindDefects(repair.mesh)) {
      if (!defect.harmless()) return Refuse(absl::StrCat("its mesh has ", Describe(defect)));
    }
    if (repair.mesh.tetrahedra.empty()) return Refuse("its mesh has no tetrahedra");
    if (repair.changed())
      log_->WarnOnce(element_.place, absl::StrCat(element_.Label(), ": ", Describe(repair)));
    kept_ = std::move(repair.vertices);
    volume_ = CalcVolume(repair.mesh);
    body_.mesh = std::make_shared<const TetrahedralMesh>(std::move(repair.mesh));
    return true;
  }

  void ReadMaterial() {
    double mass = 1;
    ReadNumber(AttributeOf(element_, "mass"), &mass, log_, Range::kPositive);
    if (volume_ > 0) body_.density = mass / volume_;
    const XmlElement* elasticity = element_.Child("elasticity");
    double young = 0;
    body_.poissons_ratio = 0;
    body_.damping_beta = 0;
    if (elasticity != nullptr) {
      ReadNumber(AttributeOf(*elasticity, "young"), &young, log_, Range::kNotNegative);
      const XmlValue ratio = AttributeOf(*elasticity, "poisson");
      if (ReadNumber(ratio, &body_.poissons_ratio, log_, Range::kNotNegative) &&
          !(body_.poissons_ratio < 0.5)) {
        log_->Error(elasticity->place,
                    absl::StrCat(ratio.Name(), ": ", body_.poissons_ratio,
                                 " is not allowed; expected a number in [0, 0.5)"));
      }
      ReadNumber(AttributeOf(*elasticity, "damping"), &body_.damping_beta, log_,
                 Range::kNotNegative);
    }
    if (young > 0) {
      body_.youngs_modulus = young;
    } else {
      log_->WarnOnce(element_.place, absl::StrCat("flexcomp without elasticity: Young's modulus ",
                                                  body_.youngs_modulus,
                                                  " Pa is assumed. Give <elasticity young=…>"));
    }
    if (element_.Child("edge") != nullptr)
      log_->LeftOut(element_.Child("edge")->place, "<edge> of a flexcomp",
                    "its elements are elastic solids");
  }

  void ReadContact() {
    body_.friction = 1;
    const XmlElement* contact = element_.Child("contact");
    if (contact == nullptr) return;
    std::vector<double> friction;
    if (ReadNumbers(AttributeOf(*contact, "friction"), 1, 3, &friction, log_, Range::kNotNegative))
      body_.friction = friction[0];
    int dimension = 3;
    if (ReadInteger(AttributeOf(*contact, "condim"), &dimension, log_, 1, 6) && dimension == 1)
      body_.friction = 0;
    ReadInteger(AttributeOf(*contact, "contype"), &body_.contact_type, log_, 0, 0x7fffffff);
    ReadInteger(AttributeOf(*contact, "conaffinity"), &body_.contact_affinity, log_, 0, 0x7fffffff);
    const std::string self = contact->Get("selfcollide");
    body_.self_contact = !self.empty() && self != "none";
  }

  void ReadPins() {
    std::set<int> pins;
    for (const XmlElement& pin : element_.children) {
      if (pin.name != "pin") continue;
      std::vector<double> numbers;
      if (ReadNumbers(AttributeOf(pin, "id"), 1, kMaxNumbers, &numbers, log_,
                      Range::kNotNegative)) {
        for (const double n : numbers) pins.insert(static_cast<int>(std::min(n, 2e9)));
      }
      if (ReadNumbers(AttributeOf(pin, "range"), 2, kMaxNumbers, &numbers, log_,
                      Range::kNotNegative)) {
        for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
          AddRange(numbers[i], numbers[i + 1], &pins);
      }
      AddGridPins(pin, &pins);
    }
    const bool numbered = body_.mesh != nullptr || body_.count[0] > 0;
    if (!pins.empty() && !numbered) {
      log_->LeftOut(element_.place, "<pin> of a flexcomp that is remeshed",
                    "attach it in the scene");
      return;
    }
    // pins of trilinear and quadratic bodies are corners of a box around them
    const std::string freedom = element_.Get("dof");
    if (!pins.empty() && !freedom.empty() && freedom != "full") {
      log_->LeftOut(element_.place, absl::StrCat("<pin> of a flexcomp with dof ", freedom),
                    "attach it in the scene");
      return;
    }
    const int count = body_.mesh != nullptr ? static_cast<int>(body_.mesh->vertices.size())
                                            : body_.count[0] * body_.count[1] * body_.count[2];
    std::vector<int> now;  // of each vertex of the file, its index in the mesh
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      if (kept_[k] >= static_cast<int>(now.size())) now.resize(kept_[k] + 1, -1);
      now[kept_[k]] = static_cast<int>(k);
    }
    for (const int pin : pins) {
      int vertex = pin;
      if (!kept_.empty()) vertex = pin < static_cast<int>(now.size()) ? now[pin] : count;
      if (vertex >= count) {
        log_->Error(element_.place,
                    absl::StrCat(element_.Label(), ": <pin> names vertex ", pin,
                                 ", which does not exist; expected less than ", count));
        return;
      }
      if (vertex >= 0) body_.pinned.push_back(vertex);
    }
    std::sort(body_.pinned.begin(), body_.pinned.end());
  }

  static void AddRange(double first, double last, std::set<int>* pins) {
    for (double n = first; n <= last && n < kMaxPoints; ++n) pins->insert(static_cast<int>(n));
  }

  void AddGridPins(const XmlElement& pin, std::set<int>* pins) {
    std::vector<double> grid;
    const auto number = [&](double x, double y, double z) {
      return (static_cast<int>(x) * body_.count[1] + static_cast<int>(y)) * body_.count[2] +
             static_cast<int>(z);
    };
    const auto inside = [&](const double* g) {
      for (int i = 0; i < 3; ++i) {
        if (!(g[i] < body_.count[i])) return false;
      }
      return true;
    };
    const auto refuse = [&] {
      log_->Error(pin.place,
                  "<pin>: names points outside of the grid; expected three numbers "
                  "below count each");
    };
    if (ReadNumbers(AttributeOf(pin, "grid"), 3, kMaxNumbers, &grid, log_, Range::kNotNegative)) {
      for (std::size_t i = 0; i + 2 < grid.size(); i += 3) {
        if (!inside(&grid[i])) return refuse();
        pins->insert(number(grid[i], grid[i + 1], grid[i + 2]));
      }
    }
    if (ReadNumbers(AttributeOf(pin, "gridrange"), 6, kMaxNumbers, &grid, log_,
                    Range::kNotNegative)) {
      for (std::size_t i = 0; i + 5 < grid.size(); i += 6) {
        if (!inside(&grid[i]) || !inside(&grid[i + 3])) return refuse();
        for (int x = static_cast<int>(grid[i]); x <= grid[i + 3]; ++x) {
          for (int y = static_cast<int>(grid[i + 1]); y <= grid[i + 4]; ++y) {
            for (int z = static_cast<int>(grid[i + 2]); z <= grid[i + 5]; ++z)
              pins->insert(number(x, y, z));
          }
        }
      }
    }
  }

  const XmlElement& element_;
  MjcfModel* model_;
  RobotLog* log_;
  RobotDeformable body_;
  double volume_ = 0;
  std::vector<int> kept_;  // vertices of the file that the mesh has
};

}  // namespace

std::optional<RobotDeformable> ReadMjcfFlexcomp(const XmlElement& flexcomp, MjcfModel* model) {
  return FlexcompReader(flexcomp, model).Read();
}

}  // namespace pliant::physics
