// The Jacobian of the smooth balance, against central differences of its residual.

#include "physics/stepping/smooth/smooth_balance.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

constexpr double kJacobianStep = 0.01;

// A balance at the start of a scene, with all contacts of a given law.
class Posed {
 public:
  Posed(const std::string& bodies, bool is_anchored, bool is_barrier, bool uses_mean_rates = false,
        const char* patches = "VERTICES")
      : world_(LoadWorld(absl::StrCat("sleeping: false\nmethod: {smooth: {}}\ncontact: {margin: "
                                      "0.004, patches: ",
                                      patches, "}\nbodies:\n", bodies))),
        stages_(world_.model(), Terms::kMass),
        balance_(world_.model()) {
    const State& state = world_.state();
    EXPECT_TRUE(PoseStep({}, ThetaMethod(kJacobianStep), state, &stages_).ok());
    balance_.Start(stages_, state, kJacobianStep, &contacts_, 1);
    balance_.UseMeanRates(uses_mean_rates);
    balance_.StartStage(state.q, state.v, 0, 0);
    v_.assign(state.v.begin(), state.v.end());
    v_.resize(balance_.size(), 0.0);
    balance_.PlaceAll(v_);
    for (const ContactPoint& point : stages_.contacts.points) {
      SmoothContact& contact = contacts_.emplace_back(SmoothContact{
          &point, ContactKinematics(world_.model(), point, balance_.configuration()), {}});
      contact.law = {.is_barrier = is_barrier,
                     .distance = 3e-3,
                     .stiffness = point.area > 0 ? 1e8 * point.area : 3e4,
                     .stick_speed = 0.05,
                     .friction = 0.4,
                     .static_friction = 0.7,
                     .stribeck_speed = 0.6,
                     .viscous = 2};
      contact.is_anchored = is_anchored;
      contact.anchor_W = contact.stretch_W = Eigen::Vector3d(0.2, -0.3, 0.1);
      contact.stage_length = 0.7;
    }
    balance_.StartStage(state.q, state.v, 0.7 * kJacobianStep, 0.7 * kJacobianStep);
  }

  int num_touching() {
    std::vector<double> r(balance_.size());
    EXPECT_TRUE(balance_.CalcResidual(v_, r));
    int count = 0;
    for (const SmoothContactForce& force : balance_.contact_forces())
      count += force.normal_force > 0;
    return count;
  }

  // Largest difference of J d and the difference quotient along d, relative to J d.
  double CompareAlong(const std::vector<double>& d) {
    const int n = balance_.size();
    std::vector<double> r(n), low(n), high(n), v(n);
    EXPECT_TRUE(balance_.CalcResidual(v_, r));
    solvers::BlockSum jacobian;
    jacobian.Clear(n);
    balance_.CalcJacobian(&jacobian);
    std::vector<double> product(n, 0.0);
    jacobian.Multiply(d, product);
    // the error of the quotient falls as its square, down to rounding
    const double step = 2e-6;
    for (int i = 0; i < n; ++i) v[i] = v_[i] - step * d[i];
    EXPECT_TRUE(balance_.CalcResidual(v, low));
    for (int i = 0; i < n; ++i) v[i] = v_[i] + step * d[i];
    EXPECT_TRUE(balance_.CalcResidual(v, high));
    double error = 0, size = 0;
    for (int i = 0; i < n; ++i) {
      error = std::max(error, std::abs((high[i] - low[i]) / (2 * step) - product[i]));
      size = std::max(size, std::abs(product[i]));
    }
    return error / size;
  }

  // Largest |J_ij − J_ji|, with or without the one-sided parts, relative to the largest |J_ij|.
  double CalcAsymmetry(bool with_one_sided) {
    std::vector<double> r(balance_.size());
    EXPECT_TRUE(balance_.CalcResidual(v_, r));
    solvers::BlockSum jacobian;
    jacobian.Clear(balance_.size());
    balance_.CalcJacobian(&jacobian);
    Eigen::MatrixXd J = Eigen::MatrixXd::Zero(balance_.size(), balance_.size());
    for (const auto& entry : jacobian.entries) J(entry.row, entry.column) += entry.value;
    for (const auto& part : jacobian.one_sided) {
      const auto& entry = jacobian.entries[part.entry];
      if (!with_one_sided) J(entry.row, entry.column) -= part.value;
    }
    return (J - J.transpose()).cwiseAbs().maxCoeff() / J.cwiseAbs().maxCoeff();
  }

  std::vector<double>& v() { return v_; }
  int size() const { return balance_.size(); }

 private:
  World world_;
  StepStages stages_;
  std::vector<SmoothContact> contacts_;
  SmoothBalance balance_;
  std::vector<double> v_;
};

void ExpectExactJacobian(const std::string& bodies, int min_contacts, bool is_barrier = false,
                         const char* patches = "VERTICES") {
  for (const bool is_anchored : {false, true}) {
    Posed posed(bodies, is_anchored, is_barrier, is_anchored, patches);
    EXPECT_GE(posed.num_touching(), min_contacts);
    // a fixed sequence of directions
    std::uint64_t seed = 12345;
    for (int k = 0; k < 10; ++k) {
      std::vector<double> d(posed.size());
      for (double& x : d) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x = static_cast<double>(seed >> 11) / 9007199254740992.0 - 0.5;
      }
      EXPECT_LT(posed.CompareAlong(d), 1e-6) << k << ", anchored " << is_anchored;
    }
  }
}

std::string TumblingBox(const char* height) {
  return Fill(R"(
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: box
    rigid:
      motion: FREE
      density: 500
      pose: {position: [0, 0, $Z], rpy_degrees: [0.4, 0.2, 20]}
      velocity: {linear: [0.1, 0.05, -0.02], angular: [0.3, 2, 1]}
      shapes: [{box: {size: [0.3, 0.2, 0.1]}}]
)",
              {{"$Z", height}});
}

TEST(SmoothJacobian, OfATumblingBoxOnTheGround) {
  ExpectExactJacobian(TumblingBox("0.0505"), 2);
}

TEST(SmoothJacobian, OfATumblingBoxAboveABarrier) {
  ExpectExactJacobian(TumblingBox("0.0545"), 1, true);
}

TEST(SmoothJacobian, OfABallOnAMovingBox) {
  ExpectExactJacobian(R"(
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: box
    rigid:
      motion: FREE
      density: 500
      pose: {position: [0, 0, 0.0505], rpy_degrees: [0, 0, 20]}
      velocity: {linear: [0.1, 0.05, 0], angular: [0.5, 0.3, 1]}
      shapes: [{box: {size: [0.3, 0.2, 0.1]}}]
  - name: ball
    rigid:
      motion: FREE
      density: 500
      pose: {position: [0.03, 0.02, 0.151]}
      velocity: {linear: [0, 0.2, 0], angular: [3, 1, 2]}
      shapes: [{sphere: {radius: 0.05}}]
)",
                      5);
}

TEST(SmoothJacobian, OfRoundBodiesThatTurnOnEachOther) {
  const std::string two = R"(
  - name: lower
    rigid:
      motion: FREE
      density: 500
      pose: {position: [0, 0, 0], rpy_degrees: [$ROLL, 0, 0]}
      velocity: {linear: [0.1, 0.05, 0], angular: [2, 1, 3]}
      shapes: [{$LOWER}]
  - name: upper
    rigid:
      motion: FREE
      density: 500
      pose: {position: [0.004, 0.003, $Z], rpy_degrees: [20, 30, 40]}
      velocity: {linear: [0, 0.2, -0.05], angular: [3, 1, 2]}
      shapes: [{$UPPER}]
)";
  const std::string ball = "sphere: {radius: 0.05}", rod = "capsule: {radius: 0.02, length: 0.2}",
                    egg = "ellipsoid: {radii: [0.05, 0.04, 0.03]}",
                    can = "cylinder: {radius: 0.05, length: 0.1}",
                    box = "box: {size: [0.3, 0.2, 0.1]}";
  struct Case {
    std::string lower, upper;
    double height;
    const char* roll = "0";
  };
  for (const Case& one :
       {Case{ball, rod, 0.0805}, Case{ball, egg, 0.0865}, Case{box, egg, 0.0855},
        Case{box, can, 0.1175}, Case{ball, can, 0.1125}, Case{rod, rod, 0.0405, "90"},
        Case{can, ball, 0.1005, "90"}, Case{egg, egg, 0.0665}, Case{ball, ball, 0.1005}}) {
    // some poses touch only from a little nearer
    double height = one.height;
    const auto scene = [&] {
      return Fill(two, {{"$LOWER", one.lower},
                        {"$UPPER", one.upper},
                        {"$Z", Number(height)},
                        {"$ROLL", one.roll}});
    };
    while (Posed(scene(), false, false).num_touching() == 0 && height > 0.5 * one.height)
      height -= 5e-4;
    SCOPED_TRACE(one.lower + " / " + one.upper);
    ExpectExactJacobian(scene(), 1);
  }
}

constexpr char kSoftBoxUnderPlate[] = R"(
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: soft
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: [0, 0, 0.0505]}
      velocity: {linear: [0.02, 0.01, 0], angular: [0.5, 0.3, 1]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
      damping: {alpha: 0.1, beta: 0.01}
  - name: plate
    rigid:
      motion: FREE
      density: 500
      pose: {position: [0.01, 0.02, 0.1115], rpy_degrees: [0.3, 0.2, 10]}
      velocity: {linear: [0, 0.1, 0], angular: [0.2, 0.1, 0.5]}
      shapes: [{box: {size: [0.2, 0.2, 0.02]}}]
)";

TEST(SmoothJacobian, OfASoftBoxUnderARigidOne) {
  ExpectExactJacobian(kSoftBoxUnderPlate, 8);
}

TEST(SmoothJacobian, OfASoftBoxBetweenBarriers) {
  ExpectExactJacobian(kSoftBoxUnderPlate, 8, true);
}

TEST(SmoothJacobian, OfALinearCorotationalBoxThatTurns) {
  ExpectExactJacobian(R"(
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: soft
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: [0, 0, 0.0505]}
      velocity: {linear: [0.02, 0.01, 0], angular: [2, 3, 5]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.3,
                 density: 1000}
      damping: {alpha: 0.1, beta: 0.01}
)",
                      4);
}

TEST(SmoothJacobian, OfABallFullOfAirOnTheGround) {
  ExpectExactJacobian(R"(
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: ball
    deformable:
      mesh: {hollow_sphere: {radius: 0.1, wall_thickness: 0.02}, edge_length: 0.06}
      pose: {position: [0, 0, 0.099]}
      velocity: {linear: [0.02, 0.01, -0.3], angular: [2, 3, 5]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
      damping: {beta: 0.01}
constraints:
  - {name: air, volume: {body: ball, cavity: true, law: IDEAL_GAS, gauge_pressure: 5.0e4}}
)",
                      1);
}

// Friction changes with the normal force, but not the other way round. On a plane nothing else is
// not symmetric.
TEST(SmoothJacobian, OfASlidingBoxIsSymmetricButForItsOneSidedParts) {
  Posed posed(R"(
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: soft
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: [0, 0, 0.0505]}
      velocity: {linear: [0.2, 0.1, 0], angular: [0.5, 0.3, 1]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
      damping: {alpha: 0, beta: 0}
)",
              false, false);
  EXPECT_GE(posed.num_touching(), 4);
  EXPECT_GT(posed.CalcAsymmetry(true), 1e-3);
  EXPECT_LT(posed.CalcAsymmetry(false), 1e-13);
}

TEST(SmoothJacobian, OfSoftBallsOnEachOther) {
  const std::string bodies = R"(
  - name: lower
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.025}
      pose: {position: [0, 0, 0.0505]}
      velocity: {linear: [0.02, 0.01, 0], angular: [0.5, 0.3, 1]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
  - name: upper
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.025}
      pose: {position: [0.004, 0.003, 0.1505], rpy_degrees: [20, 30, 40]}
      velocity: {linear: [0, 0.1, 0], angular: [2, 0.1, 0.5]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
)";
  for (const char* patches : {"VERTICES", "SMOOTH"}) {
    SCOPED_TRACE(patches);
    ExpectExactJacobian(bodies, 2, false, patches);
  }
}

}  // namespace
}  // namespace pliant::physics
