// Exact messages for each mistake in a scene: place, field, value, expectation and remedy.

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/scene/scene.h"
#include "pliant/v1/scene.pb.h"
#include "tests/physics/scene/scene_text.h"

namespace pliant::physics {
namespace {

using testing::HasSubstr;

MATCHER_P(IsOneLineWith, part, "") {
  return std::ranges::count(arg, '\n') == 1 && arg.find(part) != std::string::npos;
}

// A valid body for scenes whose error is elsewhere.
constexpr char kCube[] =
    "bodies:\n- name: cube\n  rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: "
    "1}}]}\n";

// A scene of one cube with `shape` as its shape; it begins at column 7 of line 6.
std::string WithShape(const std::string& shape) {
  return "bodies:\n- name: cube\n  rigid:\n    motion: FIXED\n    shapes:\n    - " + shape + "\n";
}

// A scene of one deformable ball; `material` begins at column 15 of line 4.
std::string WithMaterial(const std::string& material) {
  return "bodies:\n- name: ball\n  deformable:\n    material: " + material +
         "\n    mesh: {sphere: {radius: 1}, edge_length: 1}\n";
}

TEST(SceneErrors, SoundScenesSayNothing) {
  EXPECT_EQ(Messages(kCube), "");
  EXPECT_EQ(Messages(WithShape("box: {size: [1, 1, 1]}")), "");
  EXPECT_EQ(Messages(WithMaterial("{youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}")),
            "");
}

TEST(SceneErrors, UnknownFieldNamesTheOneMeant) {
  EXPECT_EQ(Messages(std::string("gravty: [0, 0, -9.81]\n") + kCube),
            "s.yaml:1:1: gravty: \"gravty\" is not a known field; did you mean `gravity`?\n");
  EXPECT_EQ(Messages(WithMaterial("{young_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}")),
            "s.yaml:4:16: bodies[0].deformable.material.young_modulus: \"young_modulus\" is not a "
            "known field; did you mean "
            "`youngs_modulus`?\n");
  EXPECT_EQ(
      Messages(WithShape("{sphere: {radius: 1, colour: red}}")),
      "s.yaml:6:28: bodies[0].rigid.shapes[0].sphere.colour: \"colour\" is not a known field; "
      "expected one of radius\n");
}

TEST(SceneErrors, UnitIsNoPartOfANumber) {
  EXPECT_EQ(Messages(WithShape("sphere: {radius: 5 cm}")),
            "s.yaml:6:24: bodies[0].rigid.shapes[0].sphere.radius: \"5 cm\" carries a unit (cm); "
            "expected a plain number in metres\n");
}

TEST(SceneErrors, WrongTypeSaysWhatIsThereAndWhatIsExpected) {
  EXPECT_EQ(Messages(WithShape("sphere: {radius: true}")),
            "s.yaml:6:24: bodies[0].rigid.shapes[0].sphere.radius: \"true\" is a boolean; "
            "expected a plain number in metres\n");
  EXPECT_EQ(Messages(WithShape("sphere: {radius: \"1\"}")),
            "s.yaml:6:24: bodies[0].rigid.shapes[0].sphere.radius: \"1\" in quotes is text; "
            "expected a plain number in metres\n");
  EXPECT_EQ(Messages(WithShape("sphere: {radius: [1]}")),
            "s.yaml:6:24: bodies[0].rigid.shapes[0].sphere.radius: \"[1]\" is a list; expected a "
            "plain number in metres\n");
  EXPECT_EQ(
      Messages(WithShape("box: {size: 1}")),
      "s.yaml:6:19: bodies[0].rigid.shapes[0].box.size: \"1\" is a single value; expected a list "
      "of numbers in metres\n");
  EXPECT_EQ(
      Messages(std::string("method: convex\n") + kCube),
      "s.yaml:1:9: method: \"convex\" is a single value; expected a map of convex, corrective, "
      "nonsmooth, smooth. Write "
      "{convex: {}}\n");
  EXPECT_EQ(
      Messages(WithShape("{sphere: }")),
      "s.yaml:6:8: bodies[0].rigid.shapes[0].sphere: has no value; expected a map of radius\n");
}

TEST(SceneErrors, OnlyPlainDecimalNumbersAreRead) {
  const auto why = [](const std::string& number) {
    const std::string all = Messages("time_step: " + number + "\n" + kCube);
    const std::string head = "s.yaml:1:12: time_step: \"" + number + "\" ",
                      tail = "; expected a plain number in seconds\n";
    EXPECT_TRUE(all.starts_with(head) && all.ends_with(tail)) << all;
    return all.size() < head.size() + tail.size()
               ? all
               : all.substr(head.size(), all.size() - head.size() - tail.size());
  };
  EXPECT_EQ(why("0x10"), "is not decimal");
  EXPECT_EQ(why("0o17"), "is not decimal");
  EXPECT_EQ(why("017"), "has a leading zero");
  EXPECT_EQ(why("1_000"), "contains a separator");
  EXPECT_EQ(why("1e999"), "is beyond the range of a double");
  EXPECT_EQ(why("5ms"), "carries a unit (ms)");
  EXPECT_EQ(why("5 %"), "carries a unit (%)");
  EXPECT_EQ(why("1.0.0"), "is not a number");
  EXPECT_EQ(why("fast"), "is not a number");
  EXPECT_EQ(why(".nan"), "is not finite");
  EXPECT_EQ(why("-.inf"), "is not finite");
  EXPECT_EQ(why("NaN"), "is not finite");
}

TEST(SceneErrors, NanIsRefusedInAFileAndInAMessageAlike) {
  EXPECT_EQ(Messages(WithShape("{pose: {position: [0, .nan, 0]}, sphere: {radius: 1}}")),
            "s.yaml:6:29: bodies[0].rigid.shapes[0].pose.position[1]: \".nan\" is not finite; "
            "expected a plain number in metres\n");
  v1::Scene scene;
  v1::Body* body = scene.add_bodies();
  body->set_name("cube");
  body->mutable_rigid()->set_motion(v1::RigidBody::MOTION_FIXED);
  body->mutable_rigid()->add_shapes()->mutable_sphere()->set_radius(
      std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(Messages(LoadScene(scene, "request")),
            "request: bodies[0].rigid.shapes[0].sphere.radius: \"nan\" is not finite; expected a "
            "plain number in metres\n");
}

TEST(SceneErrors, DensityHasToBePositive) {
  const auto scene = [](const std::string& density) {
    return "bodies:\n- name: cube\n  rigid:\n    motion: FREE\n    density: " + density +
           "\n    shapes: [{sphere: {radius: 1}}]\n";
  };
  EXPECT_EQ(Messages(scene("-1000")),
            "s.yaml:5:14: bodies[0].rigid.density: -1000 is not allowed; expected a positive "
            "density in kg/m³\n");
  EXPECT_EQ(Messages(scene("0")),
            "s.yaml:5:14: bodies[0].rigid.density: 0 is not allowed; expected a positive density "
            "in kg/m³\n");
  EXPECT_EQ(Messages(WithMaterial("{youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: -1}")),
            "s.yaml:4:69: bodies[0].deformable.material.density: -1 is not allowed; expected a "
            "positive density in kg/m³\n");
}

TEST(SceneErrors, AWrongShapeHidesNoWrongMass) {
  const auto scene = [](const std::string& mass) {
    return "bodies:\n- name: cube\n  rigid:\n    motion: FREE\n" + mass +
           "    shapes: [{sphere: {radius: -1}}]\n";
  };
  const std::string radius =
      "bodies[0].rigid.shapes[0].sphere.radius: -1 is not allowed; expected a positive radius in "
      "metres\n";
  EXPECT_EQ(Messages(scene("    density: -2\n")),
            "s.yaml:5:14: bodies[0].rigid.density: -2 is not allowed; expected a positive density "
            "in kg/m³\n"
            "s.yaml:6:32: " +
                radius);
  EXPECT_EQ(Messages(scene("")),
            "s.yaml:3:3: bodies[0].rigid.density: is missing; expected a density in kg/m³, or a "
            "mass in kilograms: the body is FREE\n"
            "s.yaml:5:32: " +
                radius);
  // with a valid mass, only the shape is reported
  EXPECT_EQ(Messages(scene("    mass: 2\n")), "s.yaml:6:32: " + radius);
}

TEST(SceneErrors, YoungsModulusHasToBePositive) {
  for (const char* value : {"0", "-1000"}) {
    EXPECT_EQ(Messages(WithMaterial(std::string("{youngs_modulus: ") + value +
                                    ", poissons_ratio: 0.4, density: 1000}")),
              std::string("s.yaml:4:32: bodies[0].deformable.material.youngs_modulus: ") + value +
                  " is not allowed; expected a positive modulus in pascals\n");
  }
}

TEST(SceneErrors, PoissonsRatioLiesBetweenMinusOneAndOneHalf) {
  EXPECT_EQ(Messages(WithMaterial("{youngs_modulus: 1.0e5, poissons_ratio: 0.5, density: 1000}")),
            "s.yaml:4:55: bodies[0].deformable.material.poissons_ratio: 0.5 is not allowed; "
            "expected a number in (-1, 0.5). "
            "A nearly incompressible body: use 0.49\n");
  EXPECT_EQ(Messages(WithMaterial("{youngs_modulus: 1.0e5, poissons_ratio: -1, density: 1000}")),
            "s.yaml:4:55: bodies[0].deformable.material.poissons_ratio: -1 is not allowed; "
            "expected a number in (-1, 0.5)\n");
  EXPECT_EQ(
      Messages(WithMaterial("{youngs_modulus: 1.0e5, poissons_ratio: -0.999, density: 1000}")), "");
}

TEST(SceneErrors, StepHasToBePositiveAndShort) {
  const auto scene = [](const std::string& step) {
    return "name: s\ntime_step: " + step + "\n" + kCube;
  };
  EXPECT_EQ(
      Messages(scene("-0.005")),
      "s.yaml:2:12: time_step: -0.005 is not allowed; expected a positive number of seconds\n");
  EXPECT_EQ(Messages(scene("0")),
            "s.yaml:2:12: time_step: 0 is not allowed; expected a positive number of seconds\n");
  EXPECT_EQ(Messages(scene("5")),
            "s.yaml:2:12: time_step: 5 is not allowed; expected a number of seconds of at most 1. "
            "Is the unit right?\n");
  EXPECT_EQ(Messages(scene("0.5")),
            "s.yaml:2:12: warning: time_step: 0.5 s is long: contact will be coarse. Most scenes "
            "use 0.001 to 0.02\n");
  EXPECT_TRUE(LoadSceneYaml(scene("0.5"), "s.yaml").ok());
}

TEST(SceneErrors, BodiesWithTheSameNameAreTold) {
  EXPECT_EQ(Messages(std::string(kCube) +
                     "- name: cube\n  rigid: {motion: FIXED, shapes: [{half_space: {}}]}\n"),
            "s.yaml:4:9: bodies[1].name: \"cube\" is also the name of bodies[0]; expected a unique "
            "name\n");
}

TEST(SceneErrors, NamesAreGivenAndPlain) {
  EXPECT_EQ(Messages("bodies: [{rigid: {motion: FIXED, shapes: [{half_space: {}}]}}]"),
            "s.yaml:1:10: bodies[0].name: is missing; expected a name\n");
  EXPECT_EQ(Messages("bodies: [{name: a/b, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}]"),
            "s.yaml:1:17: bodies[0].name: \"a/b\" contains a '/', which separates a robot from its "
            "link; expected a name without it\n");
  EXPECT_EQ(Messages("bodies: [{name: world, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}]"),
            "s.yaml:1:17: bodies[0].name: \"world\" is reserved for the world itself; expected "
            "another name\n");
}

TEST(SceneErrors, KeyGivenTwiceNamesBothLines) {
  EXPECT_EQ(Messages(std::string("time_step: 0.01\ntime_step: 0.02\n") + kCube),
            "s.yaml:2:1: time_step: is given twice, first on line 1; keep one\n");
}

TEST(SceneErrors, OfAChoiceOneMemberIsGiven) {
  EXPECT_EQ(
      Messages(WithShape("{sphere: {radius: 1}, box: {size: [1, 1, 1]}}")),
      "s.yaml:6:29: bodies[0].rigid.shapes[0].box: conflicts with `sphere`; expected only one "
      "of box, sphere, capsule, "
      "cylinder, ellipsoid, half_space or mesh\n");
  EXPECT_EQ(Messages(WithShape("{friction: 0.5}")),
            "s.yaml:6:7: bodies[0].rigid.shapes[0]: has no geometry; expected box, sphere, "
            "capsule, cylinder, ellipsoid, "
            "half_space or mesh\n");
}

TEST(SceneErrors, FrictionIsOfAMillionAtMost) {
  EXPECT_EQ(Messages(WithShape("{friction: 1.0e6, sphere: {radius: 1}}")), "");
  EXPECT_EQ(
      Messages(WithShape("{friction: 2.0e6, sphere: {radius: 1}}")),
      "s.yaml:6:18: bodies[0].rigid.shapes[0].friction: 2e+06 is not allowed; expected a number "
      "of at most 1e+06. Is the unit right?\n");
  EXPECT_EQ(
      Messages(WithShape("{friction: -1, sphere: {radius: 1}}")),
      "s.yaml:6:18: bodies[0].rigid.shapes[0].friction: -1 is not allowed; expected a number of "
      "0 or more\n");
}

TEST(SceneErrors, EnumValuesAreInCapitals) {
  EXPECT_EQ(
      Messages("bodies:\n- name: a\n  rigid: {motion: Free, density: 1, shapes: [{sphere: "
               "{radius: 1}}]}\n"),
      "s.yaml:3:19: bodies[0].rigid.motion: \"Free\" is not a valid choice (did you mean FREE?); "
      "expected FIXED, KINEMATIC or FREE\n");
}

TEST(SceneErrors, SizesAreCountedAndPositive) {
  EXPECT_EQ(Messages(WithShape("box: {size: [1, 1]}")),
            "s.yaml:6:19: bodies[0].rigid.shapes[0].box.size: 2 numbers are given; expected 3: the "
            "full length in metres along x, "
            "y and z\n");
  EXPECT_EQ(Messages(WithShape("box: {size: [1, -1, 1]}")),
            "s.yaml:6:23: bodies[0].rigid.shapes[0].box.size[1]: -1 is not allowed; expected a "
            "positive full length in metres\n");
  EXPECT_EQ(Messages(WithShape("capsule: {radius: 1}")),
            "s.yaml:6:16: bodies[0].rigid.shapes[0].capsule.length: is missing; expected a "
            "positive length in metres\n");
}

TEST(SceneErrors, QuaternionOfLengthZeroIsNoRotation) {
  EXPECT_EQ(Messages(WithShape("{pose: {quaternion: [0, 0, 0, 0]}, sphere: {radius: 1}}")),
            "s.yaml:6:27: bodies[0].rigid.shapes[0].pose.quaternion: a quaternion of length zero "
            "is not a rotation; expected [w, x, y, "
            "z]. The identity is [1, 0, 0, 0]\n");
}

TEST(SceneErrors, FreeBodyNeedsAMass) {
  EXPECT_EQ(
      Messages(
          "bodies:\n- name: a\n  rigid:\n    motion: FREE\n    shapes: [{sphere: {radius: 1}}]\n"),
      "s.yaml:3:3: bodies[0].rigid.density: is missing; expected a density in kg/m³, or a mass in "
      "kilograms: the body is "
      "FREE\n");
  EXPECT_EQ(
      Messages(
          "bodies: [{name: a, rigid: {motion: FREE, density: 1, shapes: [{half_space: {}}]}}]"),
      "s.yaml:1:51: bodies[0].rigid.density: cannot be spread over the shapes: they enclose no "
      "volume. Give `mass` and "
      "`inertia`, or a closed shape\n");
  EXPECT_EQ(
      Messages("bodies: [{name: a, rigid: {motion: FREE, mass: 1, density: 1, shapes: [{sphere: "
               "{radius: 1}}]}}]"),
      "s.yaml:1:60: bodies[0].rigid.density: conflicts with `mass`; expected only one of the "
      "two\n");
}

TEST(SceneErrors, InertiaHasToBePhysical) {
  const auto scene = [](const std::string& inertia) {
    return "bodies:\n- name: a\n  rigid:\n    motion: FREE\n    mass: 1\n    inertia: " + inertia +
           "\n    shapes: [{sphere: {radius: 1}}]\n";
  };
  EXPECT_EQ(Messages(scene("[1, 1, 3, 0, 0, 0]")),
            "s.yaml:6:14: bodies[0].rigid.inertia: is not physical: one principal moment exceeds "
            "the sum of the other two by 1 "
            "kg·m²; expected at most their sum. Leave it out to compute it from the shapes\n");
  EXPECT_EQ(Messages(scene("[1, 1, 0, 0, 0, 0]")),
            "s.yaml:6:14: bodies[0].rigid.inertia: is not physical: its smallest principal moment "
            "is 0 kg·m²; expected all three "
            "positive. Leave it out to compute it from the shapes\n");
  EXPECT_EQ(Messages(scene("[1, 1]")),
            "s.yaml:6:14: bodies[0].rigid.inertia: 2 numbers are given; expected 6: ixx, iyy, izz, "
            "ixy, ixz and iyz\n");
  EXPECT_EQ(Messages(scene("[1, 1, 2, 0, 0, 0]")), "");
}

TEST(SceneErrors, TextThatIsNoSceneIsTold) {
  EXPECT_EQ(Messages(""), "s.yaml:1:1: is empty; expected a scene\n");
  EXPECT_EQ(Messages("# nothing\n"), "s.yaml:1:1: is empty; expected a scene\n");
  EXPECT_EQ(
      Messages("- a\n- b\n"),
      "s.yaml:1:1: is a list; expected a scene: a map of gravity, time_step, bodies and so on\n");
  EXPECT_EQ(Messages("name: x\nbodies: [\n"),
            "s.yaml:3:1: not YAML: end of sequence flow not found\n");
  EXPECT_EQ(Messages(std::string("name: x\n\x01", 9)),
            "s.yaml:2:1: byte 0x01 is not text; expected a scene in YAML, encoded as UTF-8\n");
  EXPECT_EQ(Messages(std::string(kCube) + "---\n" + kCube),
            "s.yaml:4:1: a second document begins here; expected one scene per file. Remove the "
            "`---`\n");
  EXPECT_EQ(
      Messages("name: x\n"),
      "s.yaml:1:1: bodies: is missing; expected a list with at least one body, or `robots`\n");
}

TEST(SceneErrors, TextBeyondTheLimitIsRefused) {
  SceneOptions options;
  options.limits.max_text_bytes = 10;
  EXPECT_EQ(Messages("name: abcdef\n", options),
            "s.yaml: has 13 bytes; expected at most 10. Put meshes into separate files\n");
}

TEST(SceneErrors, AliasesCannotExpandWithoutEnd) {
  EXPECT_THAT(Messages("bodies: &a [*a]\n"),
              HasSubstr("s.yaml:1:13: an alias names a value that contains it"));
  // ten levels of ten merges each would be 10¹⁰ names
  std::string yaml = "x0: &x0 {name: a}\n";
  for (int i = 1; i <= 10; ++i) {
    absl::StrAppend(&yaml, "x", i, ": &x", i, " {<<: [");
    for (int k = 0; k < 10; ++k) absl::StrAppend(&yaml, k > 0 ? ", " : "", "*x", i - 1);
    absl::StrAppend(&yaml, "]}\n");
  }
  EXPECT_THAT(Messages(yaml + "bodies: [*x10]\n"),
              HasSubstr("aliases expand to more than 1000000 values"));
}

TEST(SceneErrors, DeepNestingIsRefused) {
  EXPECT_THAT(Messages("bodies: " + std::string(500, '[')),
              HasSubstr("is nested more than 64 levels deep"));
  EXPECT_THAT(Messages("bodies: " + std::string(100'000, '[')), HasSubstr("s.yaml:1:"));
}

TEST(SceneErrors, BudgetsAndSchemesOfTheCorrectiveMethodHaveToMeanSomething) {
  const auto line = [](const std::string& options) {
    return Messages("method: {corrective: {" + options + "}}\n" + kCube);
  };
  for (const char* budget : {"recursions: 0", "sweeps: 0", "max_iterations: 0", "sweeps: -3"}) {
    EXPECT_THAT(line(budget), HasSubstr("is not allowed; expected")) << budget;
  }
  EXPECT_EQ(
      line("scheme: SINGLE, recursions: 3"),
      "s.yaml:1:51: method.corrective.recursions: 3 is not allowed; SINGLE has 1. Use FAST\n");
  EXPECT_EQ(line("scheme: STANDARD, directions: SWEEP"),
            "s.yaml:1:53: method.corrective.directions: needs the scheme FAST: the other schemes "
            "do not update frames within a recursion. Leave one of the two out\n");
  EXPECT_EQ(line("recursions: 4, max_iterations: 4"),
            "s.yaml:1:54: method.corrective.max_iterations: conflicts with `recursions`, which "
            "sets the same limit; keep one\n");
  EXPECT_THAT(line("scheme: QUICK"), HasSubstr("FAST"));
  EXPECT_EQ(line("scheme: FAST, directions: CONTACT, recursions: 3, sweeps: 7"), "");
}

TEST(SceneErrors, MaxSubstepsIsAPowerOfTwo) {
  for (const char* count : {"0", "3", "128", "-2"}) {
    EXPECT_THAT(Messages("max_substeps: " + std::string(count) + "\n" + kCube),
                HasSubstr("max_substeps: " + std::string(count) +
                          " is not allowed; expected a power of two from 1 to 64"));
  }
  EXPECT_EQ(Messages(std::string("max_substeps: 16\n") + kCube), "");
}

TEST(SceneErrors, BudgetsOfTheNonsmoothMethodHaveToMeanSomething) {
  const auto line = [](const std::string& options) {
    return Messages("method: {nonsmooth: {" + options + "}}\n" + kCube);
  };
  for (const char* budget : {"newton_iterations: 0", "linear_iterations: 0", "max_iterations: -1",
                             "step_length: 0", "step_length: 1.5", "tolerance: 0"}) {
    EXPECT_THAT(line(budget), HasSubstr("is not allowed; expected")) << budget;
  }
  EXPECT_EQ(line("newton_iterations: 4, max_iterations: 4"),
            "s.yaml:1:60: method.nonsmooth.max_iterations: conflicts with `newton_iterations`, "
            "which sets the same limit; keep one\n");
  EXPECT_THAT(line("linear_solver: LU"), HasSubstr("GAUSS_SEIDEL"));
  EXPECT_EQ(line("ncp: MINIMUM_MAP, preconditioner: TIME_STEP, linear_solver: DIRECT, "
                 "newton_iterations: 6, linear_iterations: 40, step_length: 0.5, coordinates: "
                 "REDUCED, warm_start: false"),
            "");
  EXPECT_EQ(line("coordinates: MAXIMAL, normal_scaling: BOTH_SIDES, geometric_stiffness: false"),
            "");
}

TEST(SceneErrors, InvalidOptionsOfTheSmoothMethodAreNamed) {
  const auto line = [](const std::string& options) {
    return Messages("method: {smooth: {" + options + "}}\n" + kCube);
  };
  EXPECT_EQ(line("integrator: TR_BDF2, linear_solver: ITERATIVE, friction: LAGGED, passes: 3"), "");
  EXPECT_THAT(line("integrator: RK4"), HasSubstr("SDIRK2"));
  EXPECT_THAT(line("stick_speed: 0"), HasSubstr("method.smooth.stick_speed: 0 is not allowed"));
  EXPECT_THAT(line("contact_distance: -1"), HasSubstr("method.smooth.contact_distance: -1"));
  EXPECT_THAT(line("passes: 3"), HasSubstr("has no effect: implicit friction needs none"));
}

TEST(SceneErrors, ContactParametersThatAMethodLacksAreNamed) {
  const std::string rigid = std::string("contact: {restitution: 0.5}\n") + kCube;
  const std::string soft =
      "contact: {restitution: 0.5}\n" +
      WithMaterial("{youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}");
  const std::string smooth = "method: {smooth: {}}\n",
                    maximal = "method: {nonsmooth: {coordinates: MAXIMAL}}\n";
  EXPECT_THAT(Messages(smooth + rigid),
              HasSubstr("warning: method.smooth: has no restitution; use convex"));
  EXPECT_THAT(Messages(smooth + "contact: {stiffness: 1.0e5}\n" + kCube),
              HasSubstr("warning: method.smooth: takes no `stiffness` of contacts; use its own"));
  EXPECT_EQ(Messages(smooth + kCube), "");
  EXPECT_THAT(Messages(maximal + soft),
              HasSubstr("warning: method.nonsmooth.coordinates: MAXIMAL has no restitution for "
                        "ball; it bounces with REDUCED"));
  EXPECT_EQ(Messages(maximal + rigid), "");
  EXPECT_EQ(Messages("method: {nonsmooth: {}}\n" + soft), "");
}

TEST(SceneErrors, WhatThisVersionLacksIsRefusedByName) {
  const auto line = [](const std::string& yaml) { return Messages(yaml + kCube); };
  EXPECT_EQ(line("method: {convex: {model: LAGGED}}\ncontact: {anchored: true}\n"),
            "s.yaml:2:21: contact.anchored: applies to contacts of the SAP model only; leave it "
            "out with other models\n");
  EXPECT_EQ(line("contact: {patches: POLYGONS, patch_divisions: 9}\n"),
            "s.yaml:1:47: contact.patch_divisions: is 9; give 1 to 8\n");
  EXPECT_EQ(line("contact: {patch_divisions: 2}\n"),
            "s.yaml:1:28: contact.patch_divisions: applies to polygons only; also give `patches: "
            "POLYGONS`\n");
  EXPECT_EQ(
      line("method: {convex: {custom_model: GLUE}}\n"),
      "s.yaml:1:33: method.convex.custom_model: \"GLUE\" is not a contact model; expected one of "
      "SIMILAR, LAGGED\n");
  EXPECT_EQ(line("method: {convex: {custom_model: LAGGED, model: SAP}}\n"),
            "s.yaml:1:33: method.convex.custom_model: conflicts with `model`; expected only one of "
            "the two\n");
  EXPECT_EQ(line("cameras: []\n"),
            "s.yaml:1:1: cameras: is reserved: it is not supported yet. Remove it\n");
  EXPECT_EQ(Messages("bodies:\n- name: a\n  shell: {}\n"),
            "s.yaml:3:3: bodies[0].shell: is reserved: it is not supported yet. Remove it\n");
}

TEST(SceneErrors, NamesThatMeanNothingAreTold) {
  EXPECT_EQ(
      Messages(std::string(kCube) + "probes: [{name: p, position: {body: cub}}]\n"),
      "s.yaml:4:37: probes[0].position.body: no body is called \"cub\"; did you mean `cube`?\n");
  EXPECT_EQ(Messages(std::string(kCube) + "probes: [{name: p, position: {body: arm/hand}}]\n"),
            "s.yaml:4:37: probes[0].position.body: no body is called \"arm/hand\"\n");
  EXPECT_EQ(Messages(std::string(kCube) + "robots: [{name: arm, file: arm.urdf}]\n"),
            "s.yaml:4:28: robots[0].file: arm.urdf: no such file\n");
  EXPECT_EQ(Messages(std::string(kCube) + "constraints: [{name: w, weld: {a: cube, b: cube}}]\n"),
            "s.yaml:4:44: constraints[0].weld.b: \"cube\" is named twice; expected two different "
            "bodies\n");
  EXPECT_EQ(Messages(std::string(kCube) + "pairs: [{bodies: [cube], friction: 1}]\n"),
            "s.yaml:4:18: pairs[0].bodies: 1 name is given; expected 2: of bodies or groups\n");
}

TEST(SceneErrors, ScriptsAreCheckedAgainstTheirBody) {
  const auto script = [](const std::string& entry) {
    return Messages(std::string(kCube) + "script: [" + entry + "]\n");
  };
  EXPECT_EQ(script("{target: {pose: cube}, times: [0], values: [[0, 0, 0]]}"),
            "s.yaml:4:26: script[0].target.pose: \"cube\" is FREE; expected a KINEMATIC body\n");
  EXPECT_EQ(
      script(
          "{target: {force: cube}, times: [0, 1, 0.5], values: [[0, 0, 0], [0, 0, 0], [0, 0, 0]]}"),
      "s.yaml:4:48: script[0].times[2]: 0.5 comes after 1; expected times that do not decrease\n");
  EXPECT_EQ(script("{target: {force: cube}, times: [0, 1], values: [[0, 0, 0]]}"),
            "s.yaml:4:57: script[0].values: 1 entry is given for 2 times; expected one for each\n");
  EXPECT_EQ(
      script("{target: {force: cube}, times: [0], values: [[0, 0]]}"),
      "s.yaml:4:55: script[0].values[0]: 2 numbers are given; expected 3, along x, y and z\n");
  EXPECT_EQ(script("{target: {force: cube, vertex: 0}, times: [0], values: [[0, 0, 0]]}"),
            "s.yaml:4:41: script[0].target.vertex: \"cube\" is rigid and has no vertices. Name a "
            "`point` in its frame instead\n");
}

TEST(SceneErrors, ProbesAreCheckedAgainstTheirBody) {
  const auto probe = [](const std::string& entry) {
    return Messages(std::string(kCube) + "probes: [" + entry + "]\n");
  };
  EXPECT_EQ(probe("{name: \"a,b\", energy: {}}"),
            "s.yaml:4:17: probes[0].name: \"a,b\" contains a comma or a quote, which separate the "
            "columns of a table; expected a name without them\n");
  EXPECT_EQ(
      probe("{name: a, energy: {}}, {name: a, momentum: {}}"),
      "s.yaml:4:40: probes[1].name: \"a\" is also the name of probes[0]; expected a unique name\n");
  EXPECT_EQ(probe("{name: a, volume: {body: cube}}"),
            "s.yaml:4:35: probes[0].volume.body: \"cube\" is rigid; expected a deformable body\n");
  EXPECT_EQ(probe("{name: a, energy: {}, rate: 0}"),
            "s.yaml:4:38: probes[0].rate: 0 is not allowed; expected a positive rate in hertz\n");
  EXPECT_EQ(probe("{name: a, reaction: {joint: arm/j}}"),
            "s.yaml:4:38: probes[0].reaction.joint: no joint is called \"arm/j\"; expected "
            "robot/joint\n");
}

TEST(SceneErrors, MeanDilatationNeedsAMaterialThatKnowsItsVolume) {
  const auto message = [](const std::string& material) {
    return Messages(
        "bodies:\n- name: b\n  deformable:\n    mean_dilatation: true\n    mesh: {box: "
        "{size: [2, 2, 2]}, edge_length: 1}\n    material: {" +
        material + ", density: 1}\n");
  };
  EXPECT_EQ(
      message("youngs_modulus: 1.0e5, poissons_ratio: 0.4"),
      "s.yaml:4:22: bodies[0].deformable.mean_dilatation: needs a material with its own volumetric "
      "stiffness, which LINEAR_COROTATIONAL does not have; expected NEO_HOOKEAN or "
      "MOONEY_RIVLIN\n");
  EXPECT_EQ(message("model: NEO_HOOKEAN, youngs_modulus: 1.0e5, poissons_ratio: 0.4"), "");
}

TEST(SceneErrors, AttachmentsHoldSomethingToWhatIsRigid) {
  const auto attach = [](const std::string& attachment) {
    return Messages("bodies:\n- name: b\n  deformable:\n    attachments: [" + attachment +
                    "]\n    mesh: {box: {size: [2, 2, 2]}, edge_length: 1}\n    material: "
                    "{youngs_modulus: 1.0e5, poissons_ratio: 0, "
                    "density: 1}\n- name: free\n  rigid: {motion: FREE, mass: 1, shapes: [{sphere: "
                    "{radius: 1}}]}\n");
  };
  EXPECT_EQ(attach("{to: world, within: {box: {size: [1, 1, 1], pose: {position: [5, 0, 0]}}}}"),
            "s.yaml:4:39: bodies[0].deformable.attachments[0].within: contains no vertex; expected "
            "some: the body reaches from [-1, "
            "-1, -1] to [1, 1, 1] in its frame\n");
  EXPECT_EQ(attach("{to: free, vertices: [0]}"), "");
  EXPECT_EQ(attach("{to: b, vertices: [0]}"),
            "s.yaml:4:24: bodies[0].deformable.attachments[0].to: \"b\" is deformable; expected "
            "`world`, a rigid body or a link\n");
  EXPECT_EQ(attach("{to: arm/hand, vertices: [0, 1]}"),
            "s.yaml:4:24: bodies[0].deformable.attachments[0].to: no body is called "
            "\"arm/hand\"\n");
  EXPECT_EQ(attach("{to: world, vertices: [27]}"),
            "s.yaml:4:42: bodies[0].deformable.attachments[0].vertices[0]: 27 is not a vertex of "
            "\"b\"; expected a number from 0 to "
            "26\n");
  EXPECT_EQ(attach("{to: world, within: {box: {size: [3, 3, 3]}}}"),
            "s.yaml:4:18: bodies[0].deformable.attachments: attach every vertex, so nothing can "
            "deform. Select fewer, or make the "
            "body rigid\n");
}

TEST(SceneErrors, AllAreReportedInTheOrderOfTheText) {
  EXPECT_EQ(
      Messages("gravty: 1\ntime_step: -1\nbodies:\n- name: a\n  rigid: {motion: FIXED, shapes: "
               "[{sphere: {radius: 5 cm}}]}\n"
               "- name: a\n  rigid: {motion: FIXED, shapes: [{sphere: {radius: 0}}]}\n"),
      "s.yaml:1:1: gravty: \"gravty\" is not a known field; did you mean `gravity`?\n"
      "s.yaml:2:12: time_step: -1 is not allowed; expected a positive number of seconds\n"
      "s.yaml:5:53: bodies[0].rigid.shapes[0].sphere.radius: \"5 cm\" carries a unit (cm); "
      "expected a plain number in metres\n"
      "s.yaml:6:9: bodies[1].name: \"a\" is also the name of bodies[0]; expected a unique name\n"
      "s.yaml:7:53: bodies[1].rigid.shapes[0].sphere.radius: 0 is not allowed; expected a positive "
      "radius in metres\n");
}

// Robots, drives and constraints are not built after an error. Names of these are not reported.
TEST(SceneErrors, WhatIsNotBuiltAfterAnErrorIsNotReportedAsMissing) {
  const std::string scene = "time_step: $STEP\n" + std::string(kCube) + R"(- name: soft
  deformable:
    mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
    pose: {position: [0, 9, 9]}
    material: {youngs_modulus: 3.0e4, poissons_ratio: 0.4, density: 500}
    activations: [{name: up}]
constraints:
- {name: hook, weld: {a: world, b: cube}$HOOK}
- {name: fluid, volume: {body: soft, law: LIQUID, bulk_modulus: 1.0e5}}
robots:
- name: arm
  file: )" PLIANT_SOURCE_DIR R"(/scenes/robots/iiwa14.urdf
  pose: {position: [5, 0, 0]}
  actuators: [{joint: "$DRIVEN", pd: {stiffness: 2000, damping: 100}}]
  controllers: [{name: tool, differential_ik: {link: iiwa_flange}}]
groups: [{name: both, members: [cube, arm/iiwa_link_3]}]
pairs: [{bodies: [cube, arm/iiwa_link_3], friction: 1}]
script:
- {target: {joint: arm/iiwa_joint_2}, times: [0], values: [0]}
- {target: {torque: arm/iiwa_joint_3}, times: [0], values: [0]}
- {target: {twist: arm/tool}, times: [0], values: [[0, 0, 0, 0, 0, 0]]}
- {target: {activation: soft/up}, times: [0], values: [0]}
- {target: {pressure: fluid}, times: [0], values: [0]}
probes:
- {name: a, reaction: {constraint: hook}}
- {name: b, reaction: {joint: arm/iiwa_joint_2}}
- {name: c, joint: {robot: arm, joint: iiwa_joint_3}}
- {name: d, pressure: {constraint: fluid}}
- {name: e, position: {link: arm/iiwa_link_3}}
)";
  const auto messages = [&](const std::string& step, const std::string& driven,
                            const std::string& hook) {
    return Messages(
        absl::StrReplaceAll(scene, {{"$STEP", step}, {"$DRIVEN", driven}, {"$HOOK", hook}}));
  };
  EXPECT_EQ(messages("0.01", "iiwa_joint_.*", ""), "");
  EXPECT_EQ(messages("-1", "iiwa_joint_.*", ""),
            "s.yaml:1:12: time_step: -1 is not allowed; expected a positive number of seconds\n");
  EXPECT_THAT(messages("0.01", "iiwa_joint_.*\", pd: {stiffness: 9}}, {joint: \"joint", ""),
              IsOneLineWith("matches no joint"));
  EXPECT_THAT(messages("0.01", "iiwa_joint_.*", ", damping: -1"),
              IsOneLineWith("constraints[0].damping: -1 is not allowed"));
}

TEST(SceneErrors, AMessageSaysTheSameAsAFileWithoutLines) {
  v1::Scene scene;
  scene.set_time_step(-0.005);
  v1::Body* body = scene.add_bodies();
  body->set_name("ball");
  body->mutable_deformable()->mutable_mesh()->mutable_sphere()->set_radius(1);
  v1::Material* material = body->mutable_deformable()->mutable_material();
  material->set_youngs_modulus(1e5);
  material->set_poissons_ratio(0.5);
  material->set_density(1000);
  EXPECT_EQ(Messages(LoadScene(scene, "request")),
            "request: time_step: -0.005 is not allowed; expected a positive number of seconds\n"
            "request: bodies[0].deformable.material.poissons_ratio: 0.5 is not allowed; expected a "
            "number in (-1, 0.5). A nearly "
            "incompressible body: use 0.49\n");
  const SceneResult file =
      LoadSceneYaml("time_step: -0.005\n" +
                        WithMaterial("{youngs_modulus: 1.0e5, poissons_ratio: 0.5, density: 1000}"),
                    "request");
  EXPECT_EQ(
      Messages(file),
      "request:1:12: time_step: -0.005 is not allowed; expected a positive number of seconds\n"
      "request:5:55: bodies[0].deformable.material.poissons_ratio: 0.5 is not allowed; expected a "
      "number in (-1, 0.5). A "
      "nearly incompressible body: use 0.49\n");
}

TEST(SceneWarnings, BodiesThatStartInsideEachOther) {
  const auto messages = [](const char* z) {
    return Messages(absl::StrCat(R"(
name: overlap
time_step: 0.01
bodies:
  - {name: table, rigid: {motion: FIXED, shapes: [{box: {size: [1, 1, 0.2]}}]}}
  - {name: cube, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, )",
                                 z, R"(]},
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.02}
      pose: {position: [0.3, 0, )",
                                 z, R"(]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
)"));
  };
  EXPECT_EQ(messages("0.15"), "");
  EXPECT_EQ(messages("0.145"), "");  // contact takes care of that
  EXPECT_EQ(
      messages("0.11"),
      "s.yaml:6:5: warning: bodies[1]: \"cube\" starts 40 mm inside \"table\"; they part at "
      "contact.recovery_speed. Move one of them, or disable contact between the two in `pairs`\n"
      "s.yaml:8:5: warning: bodies[2]: \"ball\" starts 39 mm inside \"table\"; they part at "
      "contact.recovery_speed. Move one of them, or disable contact between the two in `pairs`\n");
}

// A thousand balls in one place overlap in 499,500 pairs, and 45,000 would need more memory than
// there is.
TEST(SceneErrors, CrowdsAreRefused) {
  std::string scene = "bodies:\n";
  for (int i = 0; i < 1000; ++i)
    absl::StrAppend(&scene, "- {name: b", i,
                    ", rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 1}}]}}\n");
  EXPECT_EQ(Messages(scene),
            "s.yaml:1:1: bodies: more than 294144 pairs of bodies overlap or may meet within the "
            "step; place the bodies apart\n");
}

TEST(SceneProgress, ASingleBodyIsCancelledHalfway) {
  constexpr char kCapsule[] = R"(
bodies:
  - name: capsule
    deformable:
      mesh: {capsule: {radius: 0.1, length: 0.2}, edge_length: 0.01}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
)";
  int all = 0, asked = 0;
  SceneOptions options;
  options.progress = [&](double) {
    ++all;
    return true;
  };
  EXPECT_TRUE(LoadSceneYaml(kCapsule, "scene.yaml", options).ok());
  EXPECT_GE(all, 20);
  options.progress = [&](double) { return ++asked < all / 2; };
  const SceneResult cancelled = LoadSceneYaml(kCapsule, "scene.yaml", options);
  EXPECT_FALSE(cancelled.ok());
  EXPECT_EQ(asked, all / 2);
  ASSERT_EQ(cancelled.messages.size(), 1);
  EXPECT_EQ(cancelled.messages[0].message, "was cancelled");
}

}  // namespace
}  // namespace pliant::physics
