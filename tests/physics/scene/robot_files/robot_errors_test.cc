#include <chrono>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/scene/robot_files/parts/defects.h"
#include "physics/scene/robot_files/parts/xml_tree.h"
#include "physics/spatial/trig.h"
#include "tests/physics/scene/robot_files/robot_text.h"

namespace pliant::physics {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

std::string LinkText(const std::string& name, const std::string& inertial = "") {
  return absl::StrCat("<link name=\"", name, "\">",
                      inertial.empty() ? "<inertial><mass value=\"2\"/><inertia ixx=\"0.1\" "
                                         "iyy=\"0.1\" izz=\"0.1\"/></inertial>"
                                       : inertial,
                      "</link>\n");
}
std::string JointText(const std::string& name, const std::string& parent, const std::string& child,
                      const std::string& more = "<axis xyz=\"0 0 1\"/>",
                      const std::string& type = "continuous") {
  return absl::StrCat("<joint name=\"", name, "\" type=\"", type, "\"><parent link=\"", parent,
                      "\"/><child link=\"", child, "\"/>", more, "</joint>\n");
}
std::string RobotText(const std::string& body) {
  return "<robot name=\"r\">\n" + body + "</robot>\n";
}

// ---- files that are not robots

TEST(RobotErrors, OtherFilesAreNamed) {
  EXPECT_THAT(ErrorsOf(""), Contains(HasSubstr("is no robot file")));
  EXPECT_THAT(ErrorsOf("solid x\nfacet normal 0 0 0\nendsolid"),
              Contains(HasSubstr("is an STL surface, not a robot file")));
  EXPECT_THAT(ErrorsOf("<html/>"), Contains(HasSubstr("its first element is <html>")));
  EXPECT_THAT(ErrorsOf("<robot><link></robot>"), Contains(HasSubstr("is not well-formed XML")));
  EXPECT_THAT(ErrorsOf("<robot name=\"a\" name=\"b\"/>"),
              Contains(HasSubstr("an attribute is malformed or given twice")));
  EXPECT_THAT(ErrorsOf("<robot name=\"r\"/>"), Contains(HasSubstr("has no links")));
  EXPECT_THAT(ErrorsOf("<sdf version=\"1.8\"/>"), Contains(HasSubstr("has no links")));
  EXPECT_THAT(ErrorsOf("<mujoco/>"), Contains(HasSubstr("has no bodies")));
  EXPECT_THAT(SayAll(ReadRobotFile("/nowhere/r.urdf"), true), ElementsAre("0: no such file"));
}

TEST(RobotErrors, MalformedXmlNamesItsLine) {
  EXPECT_THAT(ErrorsOf("<robot name=\"r\">\n<link name=\"a\"/>\n<link name=b/>\n</robot>"),
              ElementsAre(StartsWith("3: is not well-formed XML")));
}

TEST(RobotErrors, EntitiesAreRefused) {
  EXPECT_THAT(ErrorsOf("<?xml version=\"1.0\"?>\n<!DOCTYPE r [\n<!ENTITY a \"ha\">\n<!ENTITY b "
                       "\"&a;&a;&a;&a;\">\n]>\n<robot name=\"&b;\"/>"),
              ElementsAre(AllOf(StartsWith("2: "), HasSubstr("declarations of entities"))));
  EXPECT_THAT(ErrorsOf("<!ENTITY a \"ha\"><robot name=\"&a;\"/>"),
              ElementsAre(HasSubstr("declarations of entities")));
  // undeclared entities are not expanded either
  EXPECT_THAT(WarningsOf(RobotText("<link name=\"&b;\"/>")), Contains(HasSubstr("\"&b;\"")));
}

TEST(RobotErrors, DeclarationsMayComeAnywhere) {
  EXPECT_THAT(ErrorsOf("<!-- licence -->\n<?xml version=\"1.0\"\n?>\n<robot name=\"r\">\n"
                       "<?include a > b?><link name=\"a\"/></robot>"),
              IsEmpty());
  EXPECT_THAT(ErrorsOf("<!-- licence -->\n<?xml\n?>\n<robot name=\"r\"><link name=a/></robot>"),
              ElementsAre(StartsWith("4: is not well-formed XML")));
  EXPECT_THAT(ErrorsOf("<robot name=\"r\"><?include </robot>"),
              ElementsAre(HasSubstr("not well-formed XML")));
}

TEST(RobotErrors, TheFileOfADoctypeIsNotRead) {
  const std::string doctype =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE r PUBLIC \"-//a>\"\n \"file:///etc/passwd\">\n";
  EXPECT_THAT(ErrorsOf(doctype + RobotText("<link name=\"a\"/>")), IsEmpty());
  EXPECT_THAT(ErrorsOf(doctype + "<robot name=\"r\"><link name=a/></robot>"),
              ElementsAre(StartsWith("4: is not well-formed XML")));
}

std::string Nested(int depth, const std::string& inside = "") {
  std::string text;
  for (int i = 0; i < depth; ++i) absl::StrAppend(&text, "<body name=\"b", i, "\">\n");
  text += inside;
  for (int i = 0; i < depth; ++i) text += "</body>";
  return "<mujoco><worldbody>\n" + text + "</worldbody></mujoco>";
}

TEST(RobotErrors, NestingHasAnEnd) {
  const RobotDescription robot = ReadGood(Nested(kMaxNesting - 3, "<geom size=\"0.1\"/>"));
  ASSERT_EQ(robot.links.size(), kMaxNesting - 3);
  // line numbers continue across the parts that deep trees are read in
  EXPECT_EQ(robot.links.back().line, kMaxNesting - 2);
  EXPECT_EQ(robot.links.back().parent, kMaxNesting - 5);
  EXPECT_THAT(ErrorsOf(Nested(kMaxNesting + 10)), Contains(HasSubstr("nested more than 256")));
  EXPECT_THAT(ErrorsOf(Nested(1'000'000)), Contains(HasSubstr("nested more than 256")));
}

TEST(RobotErrors, MistakesDeepInsideAreFound) {
  EXPECT_THAT(ErrorsOf(Nested(200, "<geom size=\"oops\"/>")),
              ElementsAre(AllOf(StartsWith("202: "), HasSubstr("\"oops\" is not a number"))));
  EXPECT_THAT(ErrorsOf(Nested(200, "</body><body>")), testing::Not(Contains(HasSubstr("crash"))));
  EXPECT_THAT(ErrorsOf(Nested(200, "<geom size=")), Contains(HasSubstr("not well-formed")));
}

TEST(RobotErrors, NumbersMustBeNumbers) {
  const auto box = [](const std::string& size) {
    return RobotText("<link name=\"a\"><collision><geometry><box size=\"" + size +
                     "\"/></geometry></collision></link>");
  };
  EXPECT_THAT(ErrorsOf(box("1 2")), ElementsAre("2: <box> size: \"1 2\" has 2 numbers; expected 3 "
                                                "numbers, each metres, above 0 and at most 1e6"));
  EXPECT_THAT(ErrorsOf(box("1 2 x")), ElementsAre(HasSubstr("\"x\" is not a number")));
  EXPECT_THAT(ErrorsOf(box("1 2 -3")), ElementsAre(HasSubstr("\"-3\" is not allowed")));
  EXPECT_THAT(ErrorsOf(box("1 2 nan")), ElementsAre(HasSubstr("\"nan\" is not allowed")));
  EXPECT_THAT(ErrorsOf(box("1 2 1e300")), ElementsAre(HasSubstr("\"1e300\" is not allowed")));
  EXPECT_THAT(ErrorsOf(box("1,5 2 3")), ElementsAre(HasSubstr("\"1,5\" is not a number")));
  EXPECT_THAT(ErrorsOf(RobotText(LinkText("a") + LinkText("b") +
                                 JointText("j", "a", "b", "<origin rpy=\"0 0 1e9\"/>"))),
              ElementsAre(HasSubstr("an angle of at most 1e5")));
}

// ---- link graphs

TEST(RobotErrors, CyclesAreNamed) {
  const auto errors = ErrorsOf(RobotText(LinkText("root") + LinkText("a") + LinkText("b") +
                                         LinkText("c") + JointText("ab", "a", "b") +
                                         JointText("bc", "b", "c") + JointText("ca", "c", "a")));
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(errors[0], AllOf(HasSubstr("closes a cycle of 3 links"), HasSubstr("\"a\""),
                               HasSubstr("\"b\""), HasSubstr("\"c\"")));
  EXPECT_THAT(ErrorsOf(RobotText(LinkText("a") + JointText("aa", "a", "a"))),
              ElementsAre(HasSubstr("closes a cycle of 1 link: \"a\"")));
}

TEST(RobotErrors, TwoParentsAreNamed) {
  EXPECT_THAT(ErrorsOf(RobotText(LinkText("a") + LinkText("b") + LinkText("c") +
                                 JointText("ac", "a", "c") + JointText("bc", "b", "c"))),
              ElementsAre(AllOf(StartsWith("6: "),
                                HasSubstr("link \"c\", is already attached by joint \"ac\" "
                                          "(line 5)"))));
}

TEST(RobotErrors, DisconnectedLinksAreNamed) {
  EXPECT_THAT(ErrorsOf(RobotText(LinkText("a") + LinkText("b") + LinkText("c") +
                                 JointText("ab", "a", "b"))),
              ElementsAre(AllOf(StartsWith("4: "), HasSubstr("link \"c\" is not connected"),
                                HasSubstr("\"a\", \"c\""))));
  // SDF models may consist of several pieces
  EXPECT_EQ(ReadGood("<sdf version=\"1.7\"><model name=\"m\"><link name=\"a\"/><link name=\"b\"/>"
                     "</model></sdf>")
                .links.size(),
            2u);
}

TEST(RobotErrors, MissingParentsAndChildrenAreNamed) {
  EXPECT_THAT(ErrorsOf(RobotText(LinkText("a") + JointText("j", "ghost", "a"))),
              ElementsAre("3: joint \"j\": its parent link \"ghost\" does not exist. Define it, or "
                          "correct the name"));
  EXPECT_THAT(ErrorsOf(RobotText(LinkText("a") + JointText("j", "a", "ghost"))),
              ElementsAre(HasSubstr("its child link \"ghost\" does not exist")));
  EXPECT_THAT(ErrorsOf("<sdf version=\"1.7\"><model name=\"m\"><link name=\"a\"/><joint "
                       "name=\"j\" type=\"fixed\"><parent>ghost</parent><child>a</child></joint>"
                       "</model></sdf>"),
              ElementsAre(HasSubstr("its parent \"ghost\" does not exist")));
}

TEST(RobotErrors, DuplicateNamesAreNamed) {
  EXPECT_THAT(ErrorsOf(RobotText(LinkText("a") + LinkText("a"))),
              ElementsAre("3: link \"a\": the name is already taken, on line 2. Rename one"));
  // joints that nothing refers to are renamed
  const std::string twice = LinkText("a") + LinkText("b") + LinkText("c") +
                            JointText("j", "a", "b") + JointText("j", "b", "c");
  EXPECT_THAT(WarningsOf(RobotText(twice)),
              ElementsAre(HasSubstr("the name is already taken; it is called \"j_2\"")));
  EXPECT_EQ(LinkOf(ReadGood(RobotText(twice)), "c").joint.name, "j_2");
  EXPECT_THAT(
      ErrorsOf(RobotText(twice + LinkText("d") + JointText("k", "c", "d", "<mimic joint=\"j\"/>"))),
      ElementsAre(HasSubstr("may be one of several joints of this name")));
}

TEST(RobotErrors, LimitsTheWrongWayRoundLeaveTheJointFree) {
  const std::string expected = "its lower limit 2 is above the upper limit 1; it is free";
  const std::string urdf =
      RobotText(LinkText("a") + LinkText("b") +
                JointText("j", "a", "b", "<limit lower=\"2\" upper=\"1\"/>", "revolute"));
  EXPECT_THAT(WarningsOf(urdf), ElementsAre("4: joint \"j\": " + expected + ", without limits"));
  EXPECT_EQ(JointOf(ReadGood(urdf), "j").lower, -kInfinity);
  EXPECT_EQ(JointOf(ReadGood(urdf), "j").upper, kInfinity);
  EXPECT_THAT(ErrorsOf(urdf, {.strict = true}), Contains(HasSubstr(expected)));
  EXPECT_THAT(
      WarningsOf("<sdf version=\"1.7\"><model name=\"m\"><link name=\"a\"/><link name=\"b\"/>"
                 "<joint name=\"j\" type=\"prismatic\"><parent>a</parent><child>b</child>"
                 "<axis><xyz>0 0 1</xyz><limit><lower>2</lower><upper>1</upper></limit>"
                 "</axis></joint></model></sdf>"),
      Contains(HasSubstr(expected)));
  EXPECT_THAT(WarningsOf("<mujoco><compiler angle=\"radian\"/><worldbody><body><joint name=\"j\" "
                         "range=\"2 1\"/><geom size=\"1\"/></body></worldbody></mujoco>"),
              Contains(HasSubstr(expected)));
}

TEST(RobotErrors, AxesAreScaledOrRefused) {
  EXPECT_THAT(ErrorsOf(RobotText(LinkText("a") + LinkText("b") +
                                 JointText("j", "a", "b", "<axis xyz=\"0 0 0\"/>"))),
              ElementsAre(HasSubstr("the axis is zero; expected a direction")));
  const std::string text =
      RobotText(LinkText("a") + LinkText("b") + JointText("j", "a", "b", "<axis xyz=\"0 0 3\"/>"));
  EXPECT_EQ(JointOf(ReadGood(text), "j").axis, Eigen::Vector3d::UnitZ());
  EXPECT_THAT(WarningsOf(text), ElementsAre(HasSubstr("has length 3, not 1")));
  // an axis that only lacks digits gives no warning
  EXPECT_THAT(WarningsOf(RobotText(LinkText("a") + LinkText("b") +
                                   JointText("j", "a", "b", "<axis xyz=\"0.577 0.577 0.577\"/>"))),
              IsEmpty());
}

// ---- inertia

std::string Inertial(double mass, double ixx, double iyy, const std::string& izz) {
  return absl::StrCat("<inertial><mass value=\"", mass, "\"/><inertia ixx=\"", ixx, "\" iyy=\"",
                      iyy, "\" izz=\"", izz,
                      "\"/></inertial><collision><geometry><box size=\"1 1 1\"/></geometry>"
                      "</collision>");
}

TEST(RobotErrors, InertiaThatNoBodyHasIsReplacedByTheNearest) {
  const std::string text = RobotText(LinkText("a") + LinkText("wrist", Inertial(6, 1, 1, "2.02")) +
                                     JointText("j", "a", "wrist"));
  const auto said = AllOf(StartsWith("3: link \"wrist\": inertia is not physical"),
                          HasSubstr("exceeds the sum of the others by 0.02"),
                          HasSubstr("set `recompute_inertia: true`"));
  EXPECT_THAT(WarningsOf(text), ElementsAre(said));
  EXPECT_THAT(ErrorsOf(text, {.strict = true}), ElementsAre(said));
  // the excess of 0.02 is spread evenly over the three moments
  const Eigen::Vector3d moments(1 + 0.02 / 3, 1 + 0.02 / 3, 2.02 - 0.02 / 3);
  EXPECT_LT(
      (LinkOf(ReadGood(text), "wrist").inertia - Eigen::Matrix3d(moments.asDiagonal())).norm(),
      kUlps);
  const RobotDescription robot = ReadGood(text, {.recompute_inertia = true});
  // the inertia is that of a cube, with the file's mass of 6 kg
  EXPECT_EQ(LinkOf(robot, "wrist").mass, 6);
  EXPECT_LT((LinkOf(robot, "wrist").inertia - Eigen::Matrix3d::Identity()).norm(), 1e-14);
  const std::string negative = RobotText(LinkText("a", Inertial(1, 1, 2, "-1")));
  EXPECT_THAT(WarningsOf(negative), Contains(HasSubstr("smallest principal moment is -1")));
  // the nearest tensor is that of a rod along z
  const Eigen::Matrix3d rod = Eigen::Vector3d(1.5, 1.5, 0).asDiagonal();
  EXPECT_LT((NearestInertia(Eigen::Matrix3d(Eigen::Vector3d(1, 2, -1).asDiagonal())) - rod).norm(),
            kUlps);
}

// No tensor of a mass distribution is nearer: those around the projection are all farther away.
TEST(RobotErrors, NearestInertiaIsAProjection) {
  const Eigen::Matrix3d turn =
      RotationFromVector(Eigen::Vector3d(0.3, -0.8, 0.5)).toRotationMatrix();
  for (const Eigen::Vector3d& moments :
       {Eigen::Vector3d(1, 1, 3), Eigen::Vector3d(0.1, 0.2, 5), Eigen::Vector3d(-1, 2, 4),
        Eigen::Vector3d(-3, -2, -1), Eigen::Vector3d(2, 3, 4)}) {
    const Eigen::Matrix3d tensor = turn * moments.asDiagonal() * turn.transpose();
    const Eigen::Matrix3d nearest = NearestInertia(tensor);
    const double distance = (nearest - tensor).norm();
    for (double a = 0; a <= 4; a += 0.5) {
      for (double b = 0; b <= 4; b += 0.5) {
        for (double c = 0; c <= 4; c += 0.5) {
          // of the mass a, b, c at unit distance along each axis
          const Eigen::Vector3d own(b + c, a + c, a + b);
          const Eigen::Matrix3d other = turn * own.asDiagonal() * turn.transpose();
          EXPECT_GE((other - tensor).norm(), distance - 1e-13);
        }
      }
    }
    // a decomposition is exact to a few ulp of the norm
    EXPECT_LT((NearestInertia(nearest) - nearest).norm(), kUlps * tensor.norm());
  }
}

TEST(RobotErrors, InertiaWithoutMassIsLeftOut) {
  const std::string text =
      RobotText(LinkText("a") + LinkText("b", Inertial(0, 1, 1, "1")) + LinkText("c") +
                JointText("j", "a", "b") + JointText("k", "b", "c", "<axis xyz=\"0 1 0\"/>"));
  EXPECT_THAT(WarningsOf(text), ElementsAre(HasSubstr("link \"b\": has inertia but no mass")));
  EXPECT_EQ(LinkOf(ReadGood(text), "b").inertia.norm(), 0);
  EXPECT_THAT(ErrorsOf(text, {.strict = true}), SizeIs(1));
}

TEST(RobotMends, TheFirstOfSeveralInertialElementsIsUsed) {
  const std::string text =
      RobotText(LinkText("a", Inertial(6, 1, 1, "1") + "\n" + Inertial(5, 2, 2, "2")));
  EXPECT_EQ(LinkOf(ReadGood(text), "a").mass, 6);
  EXPECT_EQ(LinkOf(ReadGood(text), "a").inertia(0, 0), 1);
  const auto said = StartsWith("3: link \"a\": has more than one <inertial>; the one on line 2 is");
  EXPECT_THAT(WarningsOf(text), ElementsAre(said));
  EXPECT_THAT(ErrorsOf(text, {.strict = true}), ElementsAre(said));
}

TEST(RobotErrors, RoundedInertiaIsPhysical) {
  EXPECT_THAT(WarningsOf(RobotText(LinkText("a", Inertial(1, 1, 1, "2.000001")))), IsEmpty());
  EXPECT_THAT(WarningsOf(RobotText(LinkText("a", Inertial(1, 1, 1, "2.000003")))), SizeIs(1));
}

TEST(RobotErrors, InertiaDoesNotMatterWhereNothingMoves) {
  const std::string text = RobotText(LinkText("a", Inertial(6, 1, 1, "3")));
  EXPECT_THAT(WarningsOf(text), ElementsAre(HasSubstr("The nearest that a body can have")));
  EXPECT_THAT(WarningsOf(text, {.fixed_base = true}),
              ElementsAre(HasSubstr("It does not matter where the link is fixed")));
}

TEST(RobotMends, JointsThatMoveNoMassGetThatOfShapes) {
  const std::string bare = "<collision><geometry><box size=\"1 1 1\"/></geometry></collision>";
  const std::string text =
      RobotText(LinkText("a") + LinkText("tip", bare) + JointText("j", "a", "tip"));
  const auto said = AllOf(StartsWith("3: link \"tip\": moves, but has no mass. 10 kg"),
                          HasSubstr("Give it an <inertial> element"));
  EXPECT_THAT(WarningsOf(text, {.default_density = 10}), ElementsAre(said));
  EXPECT_THAT(ErrorsOf(text, {.default_density = 10, .strict = true}), ElementsAre(said));
  const RobotLink& tip = LinkOf(ReadGood(text, {.default_density = 10}), "tip");
  EXPECT_EQ(tip.mass, 10);
  EXPECT_LT((tip.inertia - 10.0 / 6 * Eigen::Matrix3d::Identity()).norm(), 1e-14);
  // all links of a finger do, not only its tip
  const RobotDescription finger =
      ReadGood(RobotText(LinkText("a") + LinkText("b", bare) + LinkText("c", bare) +
                         JointText("j", "a", "b") + JointText("k", "b", "c")));
  EXPECT_EQ(LinkOf(finger, "b").mass, LinkOf(finger, "c").mass);
  EXPECT_GT(LinkOf(finger, "b").mass, 0);
  // links between others, or fixed, may be massless
  const std::string heavy = Inertial(1, 1, 1, "1");
  EXPECT_THAT(WarningsOf(RobotText(LinkText("a") + LinkText("b", bare) + LinkText("c", heavy) +
                                   JointText("j", "a", "b") +
                                   JointText("k", "b", "c", "<axis xyz=\"0 1 0\"/>"))),
              IsEmpty());
  EXPECT_THAT(WarningsOf(RobotText(LinkText("a", heavy) + LinkText("b", bare) +
                                   JointText("j", "a", "b", "", "fixed"))),
              IsEmpty());
}

TEST(RobotMends, JointsThatMoveNothingGetASmallBall) {
  const std::string empty = "<link name=\"b\"/><link name=\"c\"/>";
  const std::string text = RobotText(LinkText("a") + empty + JointText("j", "a", "b") +
                                     JointText("k", "b", "c", "", "prismatic"));
  EXPECT_THAT(
      WarningsOf(text),
      Contains(AllOf(HasSubstr("link \"c\": moves with joint \"k\", but neither"),
                     HasSubstr("taken to be a ball of 0.001 kg with a radius of 0.01 m. "))));
  // one mass is enough for both joints
  EXPECT_EQ(LinkOf(ReadGood(text), "b").mass, 0);
  EXPECT_EQ(LinkOf(ReadGood(text), "c").mass, 1e-3);
}

TEST(RobotMends, LinksThatTurnWithTheirChildrenGetInertia) {
  // the second of two joints about one axis can turn back as far as the first one turns
  const std::string heavy = Inertial(2, 1, 1, "1");
  const std::string text = RobotText(LinkText("a") + "<link name=\"b\"/>" + LinkText("c", heavy) +
                                     JointText("j", "a", "b") + JointText("k", "b", "c"));
  EXPECT_THAT(WarningsOf(text), Contains(HasSubstr("link \"b\": moves with joint \"j\"")));
  EXPECT_EQ(LinkOf(ReadGood(text), "b").mass, 1e-3);
  // nor has a point inertia that carries a ball on a ball joint at its centre
  const std::string mjcf =
      "<mujoco><worldbody><body name=\"a\"><freejoint/><inertial pos=\"0 0 0\" mass=\"1\"/>"
      "<body name=\"b\"><joint type=\"ball\"/><geom size=\"0.1\"/></body></body></worldbody>"
      "</mujoco>";
  EXPECT_NEAR(LinkOf(ReadGood(mjcf), "a").inertia(0, 0), 4e-5, 1e-19);
  // a joint that slides on another one
  const std::string slides =
      RobotText(LinkText("a") + "<link name=\"b\"/>" + LinkText("c", heavy) +
                JointText("j", "a", "b", "<axis xyz=\"1 0 0\"/>", "prismatic") +
                JointText("k", "b", "c", "<axis xyz=\"0.6 0.8 0\"/>", "prismatic"));
  EXPECT_EQ(LinkOf(ReadGood(slides), "b").mass, 0);
}

TEST(RobotMends, JointsOfSeveralAxesGetInertia) {
  const auto with = [](const std::string& type, const std::string& inertial) {
    return RobotText(LinkText("a") + LinkText("b", inertial) +
                     JointText("j", "a", "b", "<axis xyz=\"0 0 1\"/>", type));
  };
  const std::string none = "<inertial><mass value=\"0\"/></inertial>";
  EXPECT_EQ(LinkOf(ReadGood(with("planar", none)), "b").mass, 1e-3);
  // a point that can turn
  const std::string point = "<inertial><mass value=\"1\"/></inertial>";
  EXPECT_NEAR(LinkOf(ReadGood(with("planar", point)), "b").inertia(0, 0), 4e-5, 1e-19);
  EXPECT_THAT(WarningsOf(with("planar", Inertial(1, 0.5, 0.5, "1"))), IsEmpty());
  const std::string universal =
      "<sdf version=\"1.9\"><model name=\"m\"><static>false</static><link name=\"a\"/><link "
      "name=\"b\"><inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia>"
      "</inertial></link><joint name=\"j\" type=\"universal\"><parent>a</parent><child>b</child>"
      "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint></model></sdf>";
  EXPECT_EQ(LinkOf(ReadGood(universal), "b").mass, 1e-3);
}

TEST(RobotMends, PointsOnAnAxisGetInertia) {
  const std::string point = "<inertial><mass value=\"1\"/></inertial>";
  const std::string text =
      RobotText(LinkText("a") + LinkText("b", point) + JointText("j", "a", "b"));
  EXPECT_THAT(WarningsOf(text),
              Contains(AllOf(HasSubstr("joint \"j\", alone or with joints of links"),
                             HasSubstr("taken to be a ball of 1 kg with a radius of 0.01 m. "))));
  EXPECT_EQ(LinkOf(ReadGood(text), "b").mass, 1);
  EXPECT_NEAR(LinkOf(ReadGood(text), "b").inertia(0, 0), 4e-5, 1e-19);
  const std::string ball =
      point + "<collision><geometry><sphere radius=\"0.5\"/></geometry></collision>";
  const RobotDescription robot =
      ReadGood(RobotText(LinkText("a") + LinkText("b", ball) + JointText("j", "a", "b")));
  EXPECT_NEAR(LinkOf(robot, "b").inertia(0, 0), 0.1, 1e-15);
  // a rod that turns about its own axis, with a rounding error about it
  const std::string rod =
      RobotText(LinkText("a") +
                LinkText("b",
                         "<inertial><mass value=\"1\"/><inertia ixx=\"1e-18\" iyy=\"0.1\" "
                         "izz=\"0.1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial>") +
                JointText("j", "a", "b", "<axis xyz=\"1 0 0\"/>"));
  EXPECT_NEAR(LinkOf(ReadGood(rod), "b").inertia(0, 0), 4e-5, 1e-19);
  const std::string beside = "<inertial><origin xyz=\"0.1 0 0\"/><mass value=\"1\"/></inertial>";
  EXPECT_EQ(
      LinkOf(ReadGood(RobotText(LinkText("a") + LinkText("b", beside) + JointText("j", "a", "b"))),
             "b")
          .inertia.norm(),
      0);
  const std::string mjcf =
      "<mujoco><worldbody><body name=\"b\"><freejoint/><inertial pos=\"0 0 0\" mass=\"2\"/>"
      "</body></worldbody></mujoco>";
  EXPECT_THAT(WarningsOf(mjcf),
              ElementsAre(HasSubstr("its mass is a point"), HasSubstr("without moving any mass")));
  EXPECT_EQ(LinkOf(ReadGood(mjcf), "b").mass, 2);
}

// ---- files with common defects

std::string BoxText(const std::string& size) {
  return RobotText("<link name=\"a\"><collision><geometry><box size=\"" + size +
                   "\"/></geometry></collision></link>");
}

TEST(RobotMends, ListsMayHaveCommasAndTooManyNumbers) {
  for (const char* size : {"1, 2, 3", "1 , 2 ,3", "1,2,3", "1, 2 3,"}) {
    const RobotDescription robot = ReadGood(BoxText(size));
    EXPECT_EQ(std::get<Box>(robot.links[0].collisions.at(0).shape.geometry).half_size,
              Eigen::Vector3d(0.5, 1, 1.5))
        << size;
    EXPECT_THAT(WarningsOf(BoxText(size)), Contains(HasSubstr("commas between numbers")));
    EXPECT_THAT(ErrorsOf(BoxText(size), {.strict = true}), SizeIs(1));
  }
  EXPECT_THAT(WarningsOf(BoxText("1 2 3 4")),
              Contains(HasSubstr("has 4 numbers; the first 3 are used")));
  // a decimal comma, or four numbers for three angles, may mean anything
  EXPECT_THAT(ErrorsOf(BoxText("0,5 0,3 0,2")), ElementsAre(HasSubstr("is not a number")));
  EXPECT_THAT(ErrorsOf(RobotText(LinkText("a") + LinkText("b") +
                                 JointText("j", "a", "b", "<origin rpy=\"0 0 0 1\"/>"))),
              ElementsAre(HasSubstr("has 4 numbers; expected 3")));
}

TEST(RobotMends, FourAnglesAreThreeUnlessTheyMayBeAQuaternion) {
  const auto with = [](const std::string& rpy) {
    return RobotText(LinkText("a") + LinkText("b") +
                     JointText("j", "a", "b", "<origin rpy=\"" + rpy + "\"/>"));
  };
  EXPECT_THAT(WarningsOf(with("0 1.57079 0 0")), ElementsAre(HasSubstr("the first 3 are used")));
  EXPECT_THAT(ErrorsOf(with("0 0.7071 0 0.7071")), ElementsAre(HasSubstr("has 4 numbers")));
}

TEST(RobotMends, ASecondPointAtTheEndOfANumberIsIgnored) {
  const std::string urdf =
      RobotText(LinkText("a") + LinkText("b") +
                JointText("j", "a", "b", "<limit lower=\"-1.57.\" upper=\"1\"/>", "revolute"));
  EXPECT_THAT(WarningsOf(urdf),
              ElementsAre(HasSubstr("lower: the point after \"-1.57\" is ignored")));
  EXPECT_EQ(JointOf(ReadGood(urdf), "j").lower, -1.57);
  RobotFileOptions options;
  options.strict = true;
  EXPECT_FALSE(ReadRobotText(urdf, "r.urdf", options).robot.has_value());
}

TEST(RobotMends, AMimicThatCannotFollowIsLeftOut) {
  const std::string links = LinkText("a") + LinkText("b") + LinkText("c");
  const std::string fixed = RobotText(links + JointText("j", "a", "b") +
                                      JointText("k", "b", "c", "<mimic joint=\"j\"/>", "fixed"));
  EXPECT_THAT(WarningsOf(fixed), ElementsAre(HasSubstr("<mimic> of a joint without one degree")));
  EXPECT_TRUE(ReadGood(fixed).couplers.empty());
  const std::string lost = RobotText(links + JointText("j", "a", "b") +
                                     JointText("k", "b", "c", "<mimic joint=\"ghost\"/>"));
  EXPECT_THAT(WarningsOf(lost),
              ElementsAre(HasSubstr("\"ghost\" does not exist; the joint moves")));
  EXPECT_TRUE(ReadGood(lost).couplers.empty());
}

TEST(RobotMends, AReductionWithoutANumberIsOne) {
  const std::string urdf =
      RobotText(LinkText("a") + LinkText("b") + JointText("j", "a", "b") +
                "<transmission name=\"t\"><type>transmission_interface/SimpleTransmission</type>"
                "<joint name=\"j\"/><actuator name=\"m\"><mechanicalReduction>reduction"
                "</mechanicalReduction></actuator></transmission>");
  EXPECT_THAT(WarningsOf(urdf), ElementsAre(HasSubstr("the reduction is taken to be 1")));
  EXPECT_EQ(JointOf(ReadGood(urdf), "j").gear_ratio, 1);
}

TEST(RobotMends, ATransmissionOfNoJointIsLeftOut) {
  const std::string urdf =
      RobotText(LinkText("a") + LinkText("b") + JointText("j", "a", "b") +
                "<transmission name=\"t\"><type>transmission_interface/SimpleTransmission</type>"
                "<joint name=\"ghost\"/><actuator name=\"m\"/></transmission>");
  EXPECT_THAT(WarningsOf(urdf),
              ElementsAre(HasSubstr("is left out, because there is no joint \"ghost\"")));
  EXPECT_TRUE(ReadGood(urdf).actuators.empty());
  EXPECT_THAT(ErrorsOf(urdf, {.strict = true}), SizeIs(1));
}

TEST(RobotMends, ADefaultClassOutsideTheMainOneIsReadAsOneInside) {
  const auto with = [](const std::string& more) {
    return "<mujoco><default><geom density=\"10\"/></default><default class=\"c\"><geom "
           "size=\"0.5\"/></default>" +
           more +
           "<worldbody><body><geom class=\"c\" type=\"box\" size=\"1 1 1\"/></body>"
           "</worldbody></mujoco>";
  };
  EXPECT_THAT(WarningsOf(with("")), ElementsAre(HasSubstr("is outside the main <default>")));
  EXPECT_NEAR(ReadGood(with("")).links[0].mass, 80, 1e-12);
  EXPECT_THAT(ErrorsOf(with("<default class=\"c\"/>")),
              Contains(HasSubstr("\"c\" is already taken")));
}

TEST(RobotMends, ShapesWithoutSizeAreLeftOut) {
  EXPECT_THAT(WarningsOf(BoxText("1 0 1")), Contains(HasSubstr("size of 0 is left out")));
  EXPECT_THAT(ReadGood(BoxText("1 0 1")).links[0].collisions, IsEmpty());
  EXPECT_THAT(ErrorsOf(BoxText("1 0 1"), {.strict = true}), SizeIs(1));
  const std::string mjcf =
      "<mujoco><worldbody><body><geom size=\"0\"/><geom type=\"box\" size=\"1 1 1\"/></body>"
      "</worldbody></mujoco>";
  EXPECT_THAT(ReadGood(mjcf).links[0].collisions, SizeIs(1));
  EXPECT_THAT(WarningsOf(mjcf), ElementsAre(HasSubstr("with a size of 0 is left out")));
}

TEST(RobotMends, UnknownShapesAndAttributesAreLeftOut) {
  const std::string text = RobotText(
      "<link name=\"a\" colour=\"red\"><collision><geometry><blob/></geometry></collision></link>");
  EXPECT_THAT(
      WarningsOf(text),
      testing::IsSupersetOf({HasSubstr("geometry <blob> is unknown, and left out"),
                             HasSubstr("attribute colour of <link> is unknown and left out")}));
  EXPECT_THAT(ErrorsOf(text, {.strict = true}), SizeIs(2));
  const std::string mjcf =
      "<mujoco><default><geom colour=\"1 0 0 1\"/></default><worldbody><body name=\"a\"><joint "
      "name=\"j\" damp=\"1\" actuatorgravcomp=\"true\"/><geom size=\"1\"/></body></worldbody>"
      "</mujoco>";
  EXPECT_THAT(WarningsOf(mjcf), testing::UnorderedElementsAre(
                                    HasSubstr("attribute colour of <geom> is unknown and left out"),
                                    HasSubstr("attribute damp of <joint> is unknown and left out"),
                                    HasSubstr("actuatorgravcomp of a joint is left out")));
  EXPECT_THAT(ErrorsOf(mjcf, {.strict = true}), SizeIs(2));
}

TEST(RobotMends, ZeroBytesAfterTheEndAreIgnored) {
  const std::string text = RobotText(LinkText("a"));
  EXPECT_THAT(WarningsOf(text + std::string("\0\n\0", 3)),
              ElementsAre(HasSubstr("zero bytes after the end")));
  EXPECT_THAT(ErrorsOf(text.substr(0, 10) + std::string(1, '\0') + text.substr(10)),
              ElementsAre(HasSubstr("contains a zero byte")));
}

TEST(RobotMends, AllErrorsOfAFileComeAtOnce) {
  EXPECT_THAT(
      ErrorsOf(RobotText(LinkText("a") + LinkText("b") +
                         JointText("j", "a", "b", "<origin xyz=\"x 0 0\"/>") +
                         "<link name=\"c\"/>")),
      ElementsAre(HasSubstr("\"x\" is not a number"), HasSubstr("link \"c\" is not connected")));
  EXPECT_THAT(
      ErrorsOf("<mujoco><worldbody><body name=\"a\"><geom size=\"x\"/><body name=\"b\">"
               "<joint axis=\"0 0 0\"/><geom size=\"y\"/></body></body></worldbody></mujoco>"),
      testing::IsSupersetOf(
          {HasSubstr("\"x\" is not"), HasSubstr("axis is zero"), HasSubstr("\"y\" is not")}));
}

TEST(RobotMends, XacroNeedsItsProgram) {
  const std::string text =
      "<robot name=\"r\" xmlns:xacro=\"http://ros.org/wiki/xacro\">"
      "<xacro:arm/><link name=\"a\"/></robot>";
  EXPECT_THAT(ErrorsOf(text, {.allow_files = false}),
              ElementsAre(AllOf(HasSubstr("is a xacro file"), HasSubstr("> robot.urdf"))));
  EXPECT_THAT(ErrorsOf(text, {.jail = "/tmp"}), ElementsAre(HasSubstr("not expanded here")));
  // a file that was expanded keeps the declaration alone
  EXPECT_EQ(ReadGood("<robot name=\"r\" xmlns:xacro=\"http://ros.org/wiki/xacro\">" +
                     LinkText("a") + "</robot>")
                .links.size(),
            1u);
  // so may one with the heading that xacro writes and calls of macros that it did not know
  const std::string written =
      "<!-- This document was autogenerated by xacro from a.xacro -->" + text;
  EXPECT_EQ(ReadGood(written).links.size(), 1u);
  EXPECT_THAT(SayAll(ReadRobotText(written, "r.urdf"), false), Contains(HasSubstr("<xacro:arm>")));
}

TEST(RobotMends, XacroIsExpandedByTheProgramOfThatName) {
  const RobotFolder folder;
  const std::string program = folder.Write("bin/xacro", "#!/bin/sh\nsed 's/xacro:arm/link/' $1\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string file = folder.Write("arm.xacro", RobotText("<xacro:arm name=\"made\"/>"));
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder.path() + "/bin:" + path).c_str(), 1);
  const RobotFileResult result = ReadRobotFile(file);
  setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(result.robot.has_value());
  EXPECT_EQ(result.robot->links.at(0).name, "made");
}

// The same pendulum of two links, given with poses in the world and in the parents.
TEST(RobotMends, GlobalCoordinatesAreConverted) {
  const auto text = [](const char* coordinate, const char* upper, const char* lower) {
    return absl::StrCat("<mujoco><compiler coordinate=\"", coordinate,
                        "\" angle=\"radian\"/><worldbody>"
                        "<body name=\"a\" pos=\"1 0 2\" euler=\"0 0 1.5707963267948966\">",
                        upper, "<body name=\"b\" ", lower, "</body></body></worldbody></mujoco>");
  };
  const RobotDescription global =
      ReadGood(text("global",
                    "<joint name=\"j\" pos=\"1 0 2\" axis=\"0 1 0\"/><geom type=\"capsule\" "
                    "size=\"0.1\" fromto=\"1 0 2 1 0 1\"/>",
                    "pos=\"1 0.5 1\"><joint name=\"k\" pos=\"1 0.5 1\" axis=\"1 0 0\"/>"
                    "<geom size=\"0.2\" pos=\"1 0.5 0.5\"/>"));
  const RobotDescription local = ReadGood(
      text("local",
           "<joint name=\"j\" axis=\"1 0 0\"/><geom type=\"capsule\" size=\"0.1\" "
           "fromto=\"0 0 0 0 0 -1\"/>",
           "pos=\"0.5 0 -1\" euler=\"0 0 -1.5707963267948966\"><joint name=\"k\" axis=\"1 0 0\"/>"
           "<geom size=\"0.2\" pos=\"0 0 -0.5\"/>"));
  ASSERT_EQ(global.links.size(), local.links.size());
  for (const char* link : {"a", "b"}) {
    const RobotLink& one = LinkOf(global, link);
    const RobotLink& other = LinkOf(local, link);
    EXPECT_LT((PoseOf(global, link).p - PoseOf(local, link).p).norm(), kUlps) << link;
    EXPECT_LT((PoseOf(global, link).R - PoseOf(local, link).R).norm(), kUlps) << link;
    EXPECT_LT((one.joint.axis - other.joint.axis).norm(), kUlps) << link;
    EXPECT_LT((one.joint.X_BM.p - other.joint.X_BM.p).norm(), kUlps) << link;
    EXPECT_LT((one.p_BoBcm - other.p_BoBcm).norm(), kUlps) << link;
    EXPECT_LT((one.inertia - other.inertia).norm(), 10 * kUlps * other.inertia.norm()) << link;
  }
}

TEST(RobotMends, ARootWithoutAJointBecomesFreeWhereTheSceneAsksForIt) {
  const std::string arm =
      "<body name=\"arm\"><geom size=\"0.1\"/><body name=\"tip\" pos=\"0 0 1\">"
      "<joint name=\"j\"/><geom size=\"0.1\" pos=\"1 0 0\"/></body></body>";
  const std::string text = "<mujoco><worldbody><geom type=\"plane\" size=\"1 1 1\"/>" + arm +
                           "<body name=\"box\"><geom size=\"0.1\"/></body></worldbody></mujoco>";
  EXPECT_EQ(LinkOf(ReadGood(text), "arm").joint.type, JointType::kFixed);
  const RobotDescription free = ReadGood(text, {.free_base = true});
  EXPECT_EQ(LinkOf(free, "arm").joint.type, JointType::kFree);
  EXPECT_EQ(LinkOf(free, "world").joint.type, JointType::kFixed);
  EXPECT_EQ(LinkOf(free, "box").joint.type, JointType::kFixed);  // furniture
  EXPECT_THAT(WarningsOf("<mujoco><worldbody><body><joint/><geom size=\"1\" pos=\"1 0 0\"/></body>"
                         "</worldbody></mujoco>",
                         {.free_base = true}),
              ElementsAre(HasSubstr("a free base has no effect")));
}

TEST(RobotMends, UrdfHasPlanesAndSphericalJoints) {
  const RobotDescription robot = ReadGood(
      RobotText("<link name=\"ground\"><collision><geometry><plane normal=\"1 0 0\"/></geometry>"
                "</collision></link>" +
                LinkText("ball") + JointText("j", "ground", "ball", "", "spherical")),
      {.fixed_base = true});
  const Shape& plane = LinkOf(robot, "ground").collisions.at(0).shape;
  EXPECT_TRUE(std::holds_alternative<HalfSpace>(plane.geometry));
  EXPECT_LT((plane.X_BS.R.col(2) - Eigen::Vector3d::UnitX()).norm(), kUlps);
  EXPECT_EQ(JointOf(robot, "j").type, JointType::kBall);
}

// ---- size

std::string Chain(int links) {
  std::string text;
  for (int i = 0; i < links; ++i) {
    text += LinkText(absl::StrCat("l", i));
    if (i > 0)
      text += JointText(absl::StrCat("j", i), absl::StrCat("l", i - 1), absl::StrCat("l", i),
                        "<origin xyz=\"0 0 0.1\"/><axis xyz=\"1 0 0\"/>");
  }
  return RobotText(text);
}

double SecondsFor(const std::string& text, std::size_t links) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(ReadGood(text).links.size(), links);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(RobotErrors, LongChainsTakeTimeInProportion) {
  const std::string ten = Chain(10'000);
  EXPECT_LT(SecondsFor(ten, 10'000), 5);  // takes about 0.2 s; quadratic work would take minutes
  std::string sdf = "<sdf version=\"1.8\"><model name=\"m\">\n";
  for (int i = 0; i < 10'000; ++i) {
    absl::StrAppend(&sdf, "<link name=\"l", i, "\"><pose");
    if (i > 0) absl::StrAppend(&sdf, " relative_to=\"l", i - 1, "\"");
    absl::StrAppend(&sdf, ">0 0 0.1 0 0 0</pose></link>");
    if (i > 0)
      absl::StrAppend(&sdf, "<joint name=\"j", i, "\" type=\"revolute\"><parent>l", i - 1,
                      "</parent><child>l", i, "</child><axis><xyz>1 0 0</xyz></axis></joint>\n");
  }
  EXPECT_LT(SecondsFor(sdf + "</model></sdf>", 10'000), 5);
}

TEST(RobotErrors, TooManyLinksAreRefused) {
  std::string text;
  for (int i = 0; i < 100'001; ++i) absl::StrAppend(&text, "<link name=\"", i, "\"/>");
  EXPECT_THAT(ErrorsOf("<sdf version=\"1.8\"><model name=\"m\">" + text + "</model></sdf>"),
              ElementsAre(HasSubstr("has 100001 links; expected at most 100000")));
}

TEST(RobotErrors, ErrorsOfAKindAreCountedNotRepeatedForEver) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "<link name=\"a\"/>";
  const auto errors = ErrorsOf(RobotText(text));
  EXPECT_THAT(errors, SizeIs(101));
  EXPECT_THAT(errors.back(), HasSubstr("and 4899 more errors"));
}

}  // namespace
}  // namespace pliant::physics
