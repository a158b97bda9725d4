#include "server/run/run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "server/run/check.h"
#include "server/run/exit_status.h"
#include "tests/server/run/temporary_folder.h"

namespace pliant::server {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

constexpr char kScene[] = R"(name: ball on a table
time_step: 0.01
bodies:
  - name: table
    rigid: {motion: FIXED, shapes: [{half_space: {}}]}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.03}
      pose: {position: [0, 0, 0.06]}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4,
          density: 1000}
  - name: cube
    rigid: {motion: FREE, density: 1000, pose: {position: [1, 0, 0.05]},
        shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}
probes:
  - {name: p, position: {body: ball}}
  - {name: e, energy: {kind: TOTAL}, rate: 25}
  - {name: force, contact_force: {body: cube, with: table}}
  - {name: pts, contact_points: {bodies: [cube, table]}}
)";

// A scene file in its own folder, run with the options of a test.
class RunTest : public ::testing::Test {
 protected:
  RunTest() {
    options_.scene = folder_.Write("scene.yaml", kScene);
    options_.duration = 0.2;
    options_.threads = 1;
    options_.json = "-";
    options_.version = "1.2.3";
  }

  int Execute() {
    out_.str("");
    err_.str("");
    return server::Run(options_, out_, err_);
  }
  Json Report() { return Json::parse(out_.str()); }

  TemporaryFolder folder_;
  RunOptions options_;
  std::ostringstream out_, err_;
};

TEST_F(RunTest, TheReportHasEveryKeyOfTheContract) {
  ASSERT_EQ(Execute(), kDone) << err_.str();
  const Json report = Report();
  const std::map<std::string, std::vector<std::string>> keys = {
      {"", {"scene",       "method",        "time_step", "steps",      "simulated_s",
            "wall_s",      "threads",       "version",   "model_hash", "state_hash",
            "model",       "participating", "step_ms",   "phases_ms",  "solver",
            "constraints", "contacts",      "memory_mb", "probes",     "fault"}},
      {"model",
       {"dofs", "rigid_bodies", "joints", "deformables", "vertices", "tetrahedra", "particles"}},
      {"participating", {"mean", "max"}},
      {"step_ms", {"mean", "median", "p95", "max"}},
      {"solver",
       {"iterations_mean",
        "iterations_max",
        "linear_iterations_mean",
        "converged_fraction",
        "stalled_fraction",
        "residual_max",
        "newton_iterations_max",
        "newton_residual_max",
        "projected_elements_mean",
        "projected_elements_max",
        "complementarity_max",
        "cone_violation_max",
        "refactorisations",
        "reasons",
        "newton_above_tolerance",
        "friction_clamped",
        "cone_iterations_over_budget",
        "redetection_limit",
        "relinearisation_limit",
        "manifold_points_dropped",
        "speculative_dropped",
        "collapsed_dropped",
        "travel_beyond_size",
        "impact_limit",
        "halved",
        "halved_in_vain"}},
      {"energy", {"start", "end", "work", "gain_max", "gain_sum"}},
      {"constraints", {"mean", "max"}},
      {"contacts", {"mean", "max"}},
      {"asleep", {"mean", "max"}}};
  for (const auto& [object, names] : keys) {
    for (const std::string& name : names) {
      EXPECT_TRUE((object.empty() ? report : report[object]).contains(name))
          << object << "." << name;
    }
  }
  EXPECT_EQ(report["steps"], 20);
  EXPECT_EQ(report["version"], "1.2.3");
  EXPECT_EQ(report["model"]["rigid_bodies"], 2);
  EXPECT_EQ(report["model"]["joints"], 0);
  EXPECT_EQ(report["solver"]["reasons"], Json({{"CONVERGED", 20}}));
  EXPECT_EQ(report["solver"]["converged_fraction"], 1.0);
  EXPECT_GT(report["energy"]["start"], report["energy"]["end"]);
  EXPECT_TRUE(report["fault"].is_null());
  EXPECT_GT(report["memory_mb"], 1);
}

TEST_F(RunTest, ReportCountsTheJointsOfRobots) {
  folder_.Write("arm.urdf", R"(<robot name="arm"><link name="base"/>
<link name="upper"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0"
ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0"
ixz="0" iyz="0"/></inertial></link>
<joint name="a" type="continuous"><parent link="base"/><child link="upper"/></joint>
<joint name="b" type="continuous"><parent link="upper"/><child link="lower"/></joint></robot>)");
  options_.scene = folder_.Write("arms.yaml", R"(name: arms
time_step: 0.01
robots:
  - {name: left, file: arm.urdf}
  - {name: right, file: arm.urdf, pose: {position: [5, 0, 0]}}
)");
  ASSERT_EQ(Execute(), kDone) << err_.str();
  EXPECT_EQ(Report()["model"]["joints"], 4);
}

// A ball of 2 cm that moves by 10 cm a step.
TEST_F(RunTest, StrictEndsARunWhereABodyMovesFartherThanItIsLong) {
  options_.scene = folder_.Write("fast.yaml", R"(name: fast
time_step: 0.01
bodies:
  - name: ball
    rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 0.01}}],
            velocity: {linear: [10, 0, 0]}}
)");
  ASSERT_EQ(Execute(), kDone) << err_.str();
  EXPECT_EQ(Report()["solver"]["travel_beyond_size"], 20);
  options_.strict = true;
  EXPECT_EQ(Execute(), kRunFault);
  EXPECT_EQ(Report()["fault"]["step"], 1);
  EXPECT_THAT(Report()["fault"]["reason"], HasSubstr("travel_beyond_size"));
}

// A heavy box on a light one takes more recursions than planned, to the same tolerance.
TEST_F(RunTest, StrictAcceptsAdditionalRecursions) {
  options_.scene = folder_.Write("stack.yaml", R"(name: stack
time_step: 0.01
method: {corrective: {}}
bodies:
  - {name: table, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: light
    rigid: {motion: FREE, mass: 1, pose: {position: [0, 0, 0.1]},
            shapes: [{box: {size: [0.2, 0.2, 0.2]}}]}
  - name: heavy
    rigid: {motion: FREE, mass: 1000, pose: {position: [0, 0, 0.3]},
            shapes: [{box: {size: [0.2, 0.2, 0.2]}}]}
)");
  options_.strict = true;
  ASSERT_EQ(Execute(), kDone) << err_.str();
  EXPECT_GT(Report()["solver"]["recursions_over_plan"], 0);
  EXPECT_EQ(Report()["solver"]["converged_fraction"], 1);
}

TEST_F(RunTest, StrictTakesWarningsForErrors) {
  options_.scene = folder_.Write("wide.yaml", R"(name: wide
contact: {margin: 1}
bodies:
  - {name: table, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
)");
  EXPECT_EQ(Execute(), kDone) << err_.str();
  options_.strict = true;
  EXPECT_EQ(Execute(), kInvalidScene);
  EXPECT_THAT(err_.str(), HasSubstr("contact.margin"));
}

TEST_F(RunTest, StepsThatDoNotConvergeAreTold) {
  // one iteration is not enough for a ball that slides and spins
  options_.scene = folder_.Write("hard.yaml", R"(name: hard
time_step: 0.01
method: {convex: {max_iterations: 1, tolerance: 1.0e-12, warm_start: false}}
bodies:
  - {name: table, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.04}
      pose: {position: [0, 0, 0.055]}
      velocity: {linear: [1, 0, -1], angular: [0, 20, 0]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
)");
  ASSERT_EQ(Execute(), kDone) << err_.str();
  const Json report = Report();
  const double fraction = report["solver"]["converged_fraction"];
  EXPECT_LT(fraction, 1);
  EXPECT_GT(report["solver"]["residual_max"], 1e-12);
  const int failed = static_cast<int>(std::lround(20 * (1 - fraction)));
  EXPECT_THAT(err_.str(), HasSubstr(std::to_string(failed) + " of 20 steps did not converge"));
  EXPECT_EQ(report["solver"]["reasons"]["MAX_ITERATIONS"], failed);

  // and in the text output
  options_.json.clear();
  ASSERT_EQ(Execute(), kDone) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("% of steps converged, worst residual"));
}

TEST_F(RunTest, ProbesAreSampledAtTheStartAndThenAtTheirRate) {
  ASSERT_EQ(Execute(), kDone) << err_.str();
  const Json probes = Report()["probes"];
  EXPECT_EQ(probes["p"]["t"].size(), 21u);
  EXPECT_NEAR(probes["p"]["value"][0][2].get<double>(), 0.06, 1e-12);
  EXPECT_EQ(probes["e"]["t"], Json({0.0, 0.04, 0.08, 0.12, 0.16, 0.2}));
  EXPECT_TRUE(probes["e"]["value"][0].is_number());
  // rows of ten numbers; the impulses carry the cube
  double impulse = 0;
  for (const Json& row : probes["pts"]["value"].back()) {
    ASSERT_EQ(row.size(), 10u);
    impulse -= row[9].get<double>();  // on the table, which is named second
  }
  EXPECT_NEAR(impulse, 1 * 9.81 * 0.01, 1e-3 * 9.81 * 0.01);
  EXPECT_NEAR(probes["force"]["value"].back()[2].get<double>(), 9.81, 1e-3 * 9.81);
}

TEST_F(RunTest, StepsAreTheDurationRoundedUp) {
  for (const auto& [duration, steps] :
       std::vector<std::pair<double, int>>{{0, 0}, {0.01, 1}, {0.07, 7}, {0.0701, 8}, {0.1, 10}}) {
    options_.duration = duration;
    ASSERT_EQ(Execute(), kDone);
    EXPECT_EQ(Report()["steps"], steps) << duration;
  }
}

TEST_F(RunTest, ARunCutInTwoByFilesEndsInTheSameState) {
  ASSERT_EQ(Execute(), kDone);
  const Json whole = Report();
  options_.duration = 0.13;
  options_.state_out = folder_.File("half.state");
  ASSERT_EQ(Execute(), kDone);
  options_.duration = 0.07;
  options_.state_in = options_.state_out;
  options_.state_out.clear();
  ASSERT_EQ(Execute(), kDone) << err_.str();
  EXPECT_EQ(Report()["state_hash"], whole["state_hash"]);
  EXPECT_EQ(Report()["probes"]["p"]["value"].back(), whole["probes"]["p"]["value"].back());
}

TEST_F(RunTest, TheStateHashDoesNotDependOnThreads) {
  ASSERT_EQ(Execute(), kDone);
  const Json hash = Report()["state_hash"];
  options_.threads = 2;
  ASSERT_EQ(Execute(), kDone);
  EXPECT_EQ(Report()["threads"], 2);
  EXPECT_EQ(Report()["state_hash"], hash);
}

TEST_F(RunTest, AStateOfAnotherSceneIsRefused) {
  options_.state_out = folder_.File("a.state");
  ASSERT_EQ(Execute(), kDone);
  options_.state_in = options_.state_out;
  options_.state_out.clear();
  options_.overrides = {"contact.friction=0.1"};
  EXPECT_EQ(Execute(), kInvalidScene);
  EXPECT_THAT(err_.str(), HasSubstr("a.state"));
}

TEST_F(RunTest, TheFolderHoldsProbesReportAndFields) {
  options_.out_folder = folder_.File("new/results");
  options_.json.clear();
  ASSERT_EQ(Execute(), kDone) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("20 steps"));

  std::istringstream csv(TemporaryFolder::Read(options_.out_folder + "/probes.csv"));
  std::string header, first, second;
  std::getline(csv, header);
  std::getline(csv, first);
  std::getline(csv, second);
  EXPECT_EQ(header, "time,p.x,p.y,p.z,e,force.x,force.y,force.z,pts.count");
  EXPECT_EQ(first.substr(0, 2), "0,");
  // 17 digits, and nothing where a probe was not sampled
  EXPECT_EQ(second.substr(0, 5), "0.01,");
  EXPECT_THAT(second, HasSubstr(",,"));

  const Json report = Json::parse(TemporaryFolder::Read(options_.out_folder + "/report.json"));
  EXPECT_EQ(report["steps"], 20);
  const std::string pvd = TemporaryFolder::Read(options_.out_folder + "/fields.pvd");
  EXPECT_THAT(pvd, HasSubstr("fields/frame_000010.vtu"));
}

// Reads an appended array of a VTU file as numbers.
template <typename T>
std::vector<T> ReadAppended(const std::string& vtu, const std::string& name) {
  const std::size_t tag = vtu.find("Name=\"" + name + "\"");
  EXPECT_NE(tag, std::string::npos) << name;
  const std::size_t offset = std::stoul(vtu.substr(vtu.find("offset=\"", tag) + 8));
  const char* data = vtu.data() + vtu.find("<AppendedData encoding=\"raw\">\n_") + 31 + offset;
  std::uint64_t bytes;
  std::memcpy(&bytes, data, 8);
  std::vector<T> values(bytes / sizeof(T));
  std::memcpy(values.data(), data + 8, bytes);
  return values;
}

TEST_F(RunTest, FramesHoldTheDeformedMeshAndItsFields) {
  options_.out_folder = folder_.File("results");
  ASSERT_EQ(Execute(), kDone) << err_.str();
  const Json report = Report();
  const std::string vtu = TemporaryFolder::Read(options_.out_folder + "/fields/frame_000010.vtu");

  const auto types = ReadAppended<std::uint8_t>(vtu, "types");
  EXPECT_EQ(std::count(types.begin(), types.end(), 10), report["model"]["tetrahedra"].get<int>());
  const auto bodies = ReadAppended<std::int32_t>(vtu, "body");
  ASSERT_EQ(bodies.size(), types.size());
  EXPECT_EQ(std::count(bodies.begin(), bodies.end(), 2), 12);  // the cube's triangles
  const auto offsets = ReadAppended<std::int64_t>(vtu, "offsets");
  const auto connectivity = ReadAppended<std::int64_t>(vtu, "connectivity");
  EXPECT_EQ(offsets.back(), static_cast<std::int64_t>(connectivity.size()));

  const auto points = ReadAppended<double>(vtu, "Points");
  EXPECT_LT(*std::max_element(connectivity.begin(), connectivity.end()),
            static_cast<std::int64_t>(points.size() / 3));
  const auto displacement = ReadAppended<double>(vtu, "displacement");
  ASSERT_EQ(displacement.size(), points.size());
  const auto traction = ReadAppended<double>(vtu, "contact_traction");
  const auto pressure = ReadAppended<double>(vtu, "contact_pressure");
  ASSERT_EQ(traction.size(), points.size());
  ASSERT_EQ(pressure.size(), points.size() / 3);
  EXPECT_GT(*std::max_element(pressure.begin(), pressure.end()), 0);
  // it has fallen by about a centimetre and is compressed at the bottom
  const auto strain = ReadAppended<double>(vtu, "von_mises_strain");
  const auto ratio = ReadAppended<double>(vtu, "volume_ratio");
  double lowest = 0;
  for (std::size_t c = 0, first = 0; c < types.size();
       first = static_cast<std::size_t>(offsets[c++])) {
    if (types[c] != 10) continue;
    lowest = std::min(lowest, displacement[3 * static_cast<std::size_t>(connectivity[first]) + 2]);
    EXPECT_GT(strain[c], 0);
    EXPECT_NEAR(ratio[c], 1, 0.2);
  }
  EXPECT_NEAR(lowest, -0.01, 0.004);
}

TEST_F(RunTest, FramesHoldTheFineSurfaceThatABodyCarries) {
  // a triangle within the body, and a corner of it outside
  folder_.Write("flag.obj", "v 0 0 0\nv 0.04 0 0\nv 0 0 0.07\nf 1 2 3\n");
  options_.scene = folder_.Write("flag.yaml", R"(name: flag
time_step: 0.01
bodies:
  - name: toy
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.1}
      velocity: {linear: [2, 0, 0]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
      visual: {file: flag.obj}
)");
  options_.duration = 0.1;
  options_.out_folder = folder_.File("results");
  ASSERT_EQ(Execute(), kDone) << err_.str();
  const std::string vtu = TemporaryFolder::Read(options_.out_folder + "/fields/frame_000005.vtu");
  const auto types = ReadAppended<std::uint8_t>(vtu, "types");
  EXPECT_EQ(types.back(), 5);
  EXPECT_EQ(std::count(types.begin(), types.end(), 5), 1);
  const auto points = ReadAppended<double>(vtu, "Points");
  const auto displacement = ReadAppended<double>(vtu, "displacement");
  const auto velocity = ReadAppended<double>(vtu, "velocity");
  ASSERT_EQ(displacement.size(), points.size());
  ASSERT_EQ(velocity.size(), points.size());
  EXPECT_EQ(ReadAppended<double>(vtu, "von_mises_strain").size(), types.size());
  // after 50 or 100 ms of free fall at 2 m/s it is where the body is; weights are floats
  const double* p = &points[points.size() - 9];
  const double* u = &displacement[displacement.size() - 9];
  EXPECT_NEAR(p[3] - p[0], 0.04, 1e-6);
  EXPECT_NEAR(p[8] - p[2], 0.07, 1e-6);
  for (int v = 0; v < 3; ++v) {
    EXPECT_NEAR(u[3 * v], p[0], 1e-6);
    EXPECT_NEAR(velocity[velocity.size() - 9 + 3 * v], 2, 1e-6);
  }
  EXPECT_GT(p[0], 0.05);
}

TEST_F(RunTest, FramesHoldParticlesAsVerticesWithTheirFields) {
  options_.scene = folder_.Write("particles.yaml", R"(name: dough and water
time_step: 0.01
grid: {cell_size: 0.05}
bodies:
  - name: dough
    particles:
      fill: {box: {size: [0.1, 0.1, 0.1]}}
      pose: {position: [0, 0, 0.2]}
      velocity: {linear: [0.5, 0, 0]}
      material: {model: VON_MISES, youngs_modulus: 1.0e4, poissons_ratio: 0.4, yield_stress: 1000,
          density: 1000}
  - name: water
    particles:
      fill: {sphere: {radius: 0.06}}
      pose: {position: [1, 0, 0.2]}
      material: {model: LIQUID, bulk_modulus: 1.0e4, density: 1000}
)");
  options_.duration = 0.1;
  options_.out_folder = folder_.File("results");
  ASSERT_EQ(Execute(), kDone) << err_.str();
  const std::size_t particles = Report()["model"]["particles"];
  const std::string vtu = TemporaryFolder::Read(options_.out_folder + "/fields/frame_000005.vtu");
  EXPECT_EQ(ReadAppended<std::uint8_t>(vtu, "types"), std::vector<std::uint8_t>(particles, 1));
  const auto bodies = ReadAppended<std::int32_t>(vtu, "body");
  EXPECT_EQ(bodies.front(), 0);
  EXPECT_EQ(bodies.back(), 1);

  // the points on the surfaces are left out, and each particle is a cell of its own
  const auto points = ReadAppended<double>(vtu, "Points");
  ASSERT_EQ(points.size(), 3 * particles);
  const auto connectivity = ReadAppended<std::int64_t>(vtu, "connectivity");
  const auto velocity = ReadAppended<double>(vtu, "velocity");
  const auto ratio = ReadAppended<double>(vtu, "volume_ratio");
  const auto plastic = ReadAppended<double>(vtu, "plastic_strain");
  ASSERT_EQ(ratio.size(), particles);
  ASSERT_EQ(plastic.size(), particles);
  for (std::size_t i = 0; i < particles; ++i) {
    ASSERT_EQ(connectivity[i], static_cast<std::int64_t>(i));
    // they fall without deforming
    EXPECT_NEAR(points[3 * i], bodies[i] == 0 ? 0.05 : 1, 0.07);
    EXPECT_NEAR(velocity[3 * i], bodies[i] == 0 ? 0.5 : 0, 1e-6);
    EXPECT_NEAR(velocity[3 * i + 2], -0.981, 1e-6);
    EXPECT_NEAR(ratio[i], 1, 1e-6);
    EXPECT_NEAR(plastic[i], 0, 1e-6);
  }
}

TEST_F(RunTest, AFaultKeepsWhatWasRecorded) {
  // the explicit step is too long for the stiffness: the motion grows until it overflows
  options_.scene = folder_.Write("fault.yaml", R"(name: fault
method: {convex: {theta: [0, 1]}}
bodies:
  - name: jelly
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.1}
      material: {model: LINEAR, youngs_modulus: 1.0e7, poissons_ratio: 0.4, density: 1000}
      velocity: {angular: [0, 10, 0]}
probes:
  - {name: p, position: {body: jelly}}
)");
  options_.duration = 10;
  options_.out_folder = folder_.File("results");
  options_.state_out = folder_.File("last.state");
  EXPECT_EQ(Execute(), kRunFault) << err_.str();
  const Json report = Report();
  const std::size_t steps = report["steps"];
  EXPECT_GT(steps, 10u);
  EXPECT_LT(steps, 1000u);
  EXPECT_EQ(report["fault"]["step"], steps + 1);
  EXPECT_EQ(report["fault"]["body"], "jelly");
  EXPECT_THAT(report["fault"]["reason"].get<std::string>(), HasSubstr("not finite"));
  EXPECT_EQ(report["probes"]["p"]["t"].size(), steps + 1);
  EXPECT_THAT(err_.str(), HasSubstr("fault in step"));

  // header, initial state, and every completed step
  const std::string csv = TemporaryFolder::Read(options_.out_folder + "/probes.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), static_cast<std::ptrdiff_t>(steps + 2));
  EXPECT_FALSE(TemporaryFolder::Read(options_.state_out).empty());
}

TEST_F(RunTest, ResidualsOfEveryIterationAreWritten) {
  options_.residuals = folder_.File("residuals.csv");
  ASSERT_EQ(Execute(), kDone);
  const std::string text = TemporaryFolder::Read(options_.residuals);
  EXPECT_EQ(text.rfind("step,iteration,residual\n", 0), 0u);
  EXPECT_GT(std::count(text.begin(), text.end(), '\n'), 5);
}

TEST_F(RunTest, APlaceThatCannotBeWrittenIsFoundBeforeTheRun) {
  options_.json = folder_.File("no/report.json");
  options_.duration = 1e6;  // would take hours
  EXPECT_EQ(Execute(), kEnvironment);
  EXPECT_THAT(err_.str(), HasSubstr("no/report.json"));
}

TEST_F(RunTest, AFullDiskIsNamedWithItsMend) {
  options_.json = "/dev/full";
  EXPECT_EQ(Execute(), kEnvironment);
  EXPECT_THAT(err_.str(), HasSubstr("Free some space"));
}

TEST_F(RunTest, AnInvalidSceneIsExplainedLineByLine) {
  options_.overrides = {"contact.friction=-1"};
  EXPECT_EQ(Execute(), kInvalidScene);
  EXPECT_THAT(err_.str(), HasSubstr("contact.friction"));
}

TEST_F(RunTest, TheMethodCanBeChosen) {
  options_.method = "corrective";
  ASSERT_EQ(Execute(), kDone) << err_.str();
  EXPECT_EQ(Report()["method"], "corrective");
}

TEST(Check, ListsMessagesWithTheirPlaces) {
  const TemporaryFolder folder;
  CheckOptions options;
  options.scene = folder.Write("bad.yaml", std::string(kScene) + "gravitation: 1\n");
  options.json = "-";
  std::ostringstream out, err;
  EXPECT_EQ(Check(options, out, err), kInvalidScene);
  const Json list = Json::parse(out.str());
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["severity"], "error");
  EXPECT_EQ(list[0]["line"], 20);
  for (const char* key : {"file", "column", "path", "message"})
    EXPECT_TRUE(list[0].contains(key)) << key;
}

TEST(Check, AValidSceneIsDone) {
  const TemporaryFolder folder;
  CheckOptions options;
  options.scene = folder.Write("good.yaml", kScene);
  std::ostringstream out, err;
  EXPECT_EQ(Check(options, out, err), kDone);
  EXPECT_THAT(out.str(), HasSubstr("ok"));
  EXPECT_EQ(err.str(), "");
}

TEST_F(RunTest, AContactProblemIsWrittenWithItsMatrices) {
  options_.contact_problem = folder_.File("problem.json");
  options_.at_step = 15;
  ASSERT_EQ(Execute(), kDone) << err_.str();
  const Json problem = Json::parse(TemporaryFolder::Read(folder_.File("problem.json")));
  const std::size_t contacts = problem["contacts"].size();
  ASSERT_GT(contacts, 4);  // those of the cube, and more of the ball
  const auto read = [&](const std::string& name, std::vector<std::vector<double>>* rows) {
    std::istringstream text(TemporaryFolder::Read(folder_.File(name)));
    std::string line;
    while (std::getline(text, line)) {
      if (line.starts_with("%")) continue;
      std::istringstream words(line);
      std::vector<double> row;
      for (double x; words >> x;) row.push_back(x);
      rows->push_back(row);
    }
  };
  std::vector<std::vector<double>> A, J;
  read("problem_A.mtx", &A);
  read("problem_J.mtx", &J);
  const std::size_t n = problem["v"].size();
  EXPECT_EQ(A[0], (std::vector<double>{double(n), double(n), double(A.size() - 1)}));
  EXPECT_EQ(J[0], (std::vector<double>{double(3 * contacts), double(n), double(J.size() - 1)}));

  // the solution balances momentum: A (v - v*) = J' impulse
  std::vector<double> balance(n, 0);
  double largest = 0;
  const auto change = [&](std::size_t i) {
    return problem["v"][i].get<double>() - problem["v_star"][i].get<double>();
  };
  for (std::size_t k = 1; k < A.size(); ++k) {
    const std::size_t i = std::size_t(A[k][0]) - 1, j = std::size_t(A[k][1]) - 1;
    EXPECT_GE(i, j);
    balance[i] += A[k][2] * change(j);
    if (i != j) balance[j] += A[k][2] * change(i);
  }
  for (const double x : balance) largest = std::max(largest, std::abs(x));
  for (std::size_t k = 1; k < J.size(); ++k) {
    const std::size_t row = std::size_t(J[k][0]) - 1;
    balance[std::size_t(J[k][1]) - 1] -=
        J[k][2] * problem["contacts"][row / 3]["impulse"][row % 3].get<double>();
  }
  for (const double x : balance) EXPECT_NEAR(x, 0, 1e-6 * largest);
}

TEST_F(RunTest, AContactProblemOfNoStepOfTheRunIsRefusedBeforeIt) {
  options_.contact_problem = folder_.File("problem.json");
  options_.at_step = 21;
  EXPECT_EQ(Execute(), kWrongUsage);
  EXPECT_EQ(err_.str(), "pliantd run: --at-step 21 is not among the steps 1 to 20 of this run\n");
}

}  // namespace
}  // namespace pliant::server
