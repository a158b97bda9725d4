#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/physics/scene/robot_files/robot_text.h"
#include "tests/physics/scene/textures/image_bytes.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

std::string WithMesh(const std::string& file, const std::string& more = "",
                     const std::string& element = "collision") {
  return absl::StrCat(
      "<robot name=\"r\"><link name=\"a\"><inertial><mass value=\"1\"/>"
      "<inertia ixx=\"1\" iyy=\"1\" izz=\"1\"/></inertial><",
      element, "><geometry><mesh filename=\"", file, "\">", more, "</mesh></geometry></", element,
      "></link></robot>");
}

TEST(RobotMeshes, AnAlmostConvexMeshIsItsHull) {
  const RobotFolder folder;
  folder.Write("cube.obj", CubeObj(1));
  const RobotFileResult result = ReadRobotFile(folder.Write("r.urdf", WithMesh("cube.obj")));
  ASSERT_TRUE(result.robot.has_value());
  const auto& shapes = result.robot->links[0].collisions;
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<ConvexMesh>(shapes[0].shape.geometry));
  // the mesh itself is kept, for soft bodies
  ASSERT_TRUE(shapes[0].surface.has_value());
  EXPECT_NE(shapes[0].surface->bvh, nullptr);
  EXPECT_EQ(shapes[0].mesh_file, folder.path() + "/cube.obj");
}

TEST(RobotMeshes, AConcaveMeshIsCutAndItIsSaid) {
  const RobotFolder folder;
  folder.Write("window.obj", WindowObj());
  const RobotFileResult result = ReadRobotFile(folder.Write("r.urdf", WithMesh("window.obj")));
  ASSERT_TRUE(result.robot.has_value());
  const auto& shapes = result.robot->links[0].collisions;
  // four bars suffice; a corner may stay whole, within the tolerance
  ASSERT_GE(shapes.size(), 4u);
  ASSERT_LE(shapes.size(), 6u);
  double volume = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    EXPECT_EQ(shapes[i].piece, static_cast<int>(i));
    EXPECT_EQ(shapes[i].surface.has_value(), i == 0);
    volume += CalcMassProperties(shapes[i].shape.geometry).volume;
  }
  EXPECT_GE(volume, 12 - 1e-9);
  EXPECT_LE(volume, 1.1 * 12);
  EXPECT_THAT(SayAll(result, false),
              Contains(HasSubstr("is concave, its hull would be 33 % larger: cut into")));
}

TEST(RobotMeshes, AFileMayAskForTheHull) {
  const RobotFolder folder;
  folder.Write("window.obj", WindowObj());
  const RobotFileResult result =
      ReadRobotFile(folder.Write("r.urdf", WithMesh("window.obj", "<drake:declare_convex/>")));
  ASSERT_TRUE(result.robot.has_value());
  EXPECT_EQ(result.robot->links[0].collisions.size(), 1u);
  EXPECT_THAT(SayAll(result, false), IsEmpty());
}

TEST(RobotMeshes, AFixedLinkKeepsItsTriangles) {
  const RobotFolder folder;
  folder.Write("window.obj", WindowObj());
  const RobotFileResult result =
      ReadRobotFile(folder.Write("r.urdf", WithMesh("window.obj")), {.fixed_base = true});
  ASSERT_TRUE(result.robot.has_value());
  const auto& shapes = result.robot->links[0].collisions;
  ASSERT_EQ(shapes.size(), 1u);
  const auto* mesh = std::get_if<SurfaceMesh>(&shapes[0].shape.geometry);
  ASSERT_NE(mesh, nullptr);
  EXPECT_NE(mesh->bvh, nullptr);
  EXPECT_EQ(mesh->mesh->triangles.size(), 32u);
}

TEST(RobotMeshes, AnOpenMeshIsItsHullAndItIsSaid) {
  const RobotFolder folder;
  folder.Write("open.obj", CubeObj(1, /*open=*/true));
  const RobotFileResult result = ReadRobotFile(folder.Write("r.urdf", WithMesh("open.obj")));
  ASSERT_TRUE(result.robot.has_value());
  const auto& shapes = result.robot->links[0].collisions;
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_NEAR(CalcMassProperties(shapes[0].shape.geometry).volume, 1, 1e-12);
  EXPECT_FALSE(shapes[0].surface.has_value());
  EXPECT_THAT(SayAll(result, false),
              Contains(testing::AllOf(HasSubstr("expected a closed surface, found 4 edges"),
                                      HasSubstr("Its convex hull is used"))));
}

TEST(RobotMeshes, AFlatMeshTouchesNothing) {
  const RobotFolder folder;
  folder.Write("flat.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n");
  const std::string path = folder.Write("r.urdf", WithMesh("flat.obj"));
  const RobotFileResult result = ReadRobotFile(path);
  EXPECT_THAT(SayAll(result, true), IsEmpty());
  EXPECT_THAT(
      SayAll(result, false),
      Contains(testing::AllOf(HasSubstr("link \"a\": collision mesh"),
                              HasSubstr("encloses no volume"), HasSubstr("touches nothing"))));
  ASSERT_TRUE(result.robot.has_value());
  EXPECT_TRUE(result.robot->links[0].collisions.empty());
  EXPECT_THAT(SayAll(ReadRobotFile(path, {.strict = true}), true),
              Contains(HasSubstr("encloses no volume")));
}

TEST(RobotMeshes, AFlatMeshOfMjcfIsShown) {
  const RobotFolder folder;
  folder.Write("flat.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n");
  for (const char* contact : {"contype=\"0\" conaffinity=\"0\"", ""}) {
    const RobotFileResult shown = ReadRobotFile(folder.Write(
        "r.xml",
        absl::StrCat("<mujoco><asset><mesh name=\"m\" file=\"flat.obj\"/></asset><worldbody><body "
                     "name=\"a\"><joint/><inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 1\"/>"
                     "<geom type=\"mesh\" mesh=\"m\" ",
                     contact, "/></body></worldbody></mujoco>")));
    EXPECT_THAT(SayAll(shown, true), IsEmpty());
    EXPECT_THAT(SayAll(shown, false), Contains(HasSubstr("it is shown, touches nothing")));
    ASSERT_TRUE(shown.robot.has_value());
    const auto& link = shown.robot->links.back();
    EXPECT_EQ(link.visuals.size(), 1u);
    EXPECT_TRUE(link.collisions.empty());
    EXPECT_EQ(link.mass, 1);
  }
}

TEST(RobotMeshes, AMissingCollisionMeshIsAnErrorAndAMissingVisualOneAWarning) {
  const RobotFolder folder;
  const RobotFileResult collision =
      ReadRobotFile(folder.Write("r.urdf", WithMesh("package://arm/none.obj")));
  EXPECT_FALSE(collision.robot.has_value());
  EXPECT_THAT(SayAll(collision, true),
              Contains(testing::AllOf(HasSubstr("no package \"arm\" was found in"),
                                      HasSubstr(folder.path()))));
  const RobotFileResult visual =
      ReadRobotFile(folder.Write("r.urdf", WithMesh("none.obj", "", "visual")));
  EXPECT_TRUE(visual.robot.has_value());
  EXPECT_THAT(SayAll(visual, false), Contains(HasSubstr("none.obj\": no such file")));
}

TEST(RobotMeshes, ASlashTooManyBeforeAPackageIsLeftOutAndItIsSaid) {
  const RobotFolder folder;
  folder.Write("arm/cube.obj", CubeObj(1));
  const std::string path = folder.Write("arm/r.urdf", WithMesh("package:///arm/cube.obj"));
  const RobotFileResult result = ReadRobotFile(path);
  EXPECT_THAT(SayAll(result, true), IsEmpty());
  EXPECT_THAT(SayAll(result, false),
              Contains(HasSubstr("package:// is followed by another /, which is left out")));
  ASSERT_TRUE(result.robot.has_value());
  EXPECT_EQ(result.robot->links[0].collisions.size(), 1u);
  EXPECT_FALSE(ReadRobotFile(path, {.strict = true}).robot.has_value());
}

TEST(RobotMeshes, FilesWhosePathIsOfAnotherMachineAreFoundBesideTheRobot) {
  const RobotFolder folder;
  folder.Write("arm/meshes/cube.obj", CubeObj(1));
  folder.Write("arm/urdf/beside.obj", CubeObj(1));
  const auto read = [&](const std::string& uri, const RobotFileOptions& options = {}) {
    return ReadRobotFile(folder.Write("arm/urdf/left/r.urdf", WithMesh(uri)), options);
  };
  for (const std::string beginning :
       {"../", "file://", "/home/someone/arm/", "C:\\arm\\", "../../../../elsewhere/", "/"}) {
    const RobotFileResult result = read(beginning + "meshes/cube.obj");
    EXPECT_THAT(SayAll(result, true), IsEmpty()) << beginning;
    EXPECT_THAT(SayAll(result, false), Contains(HasSubstr("are read from " + folder.path())))
        << beginning;
  }
  EXPECT_FALSE(read("../meshes/cube.obj", {.strict = true}).robot.has_value());
  EXPECT_FALSE(read("../meshes/ball.obj").robot.has_value());
  std::string deep;
  for (int i = 0; i < 300'000; ++i) deep += "a/";
  EXPECT_FALSE(read(deep + "ball.obj").robot.has_value());
  EXPECT_TRUE(read(deep + "meshes/cube.obj").robot.has_value());
  // a name alone may be that of another robot's mesh
  EXPECT_FALSE(read("cube.obj").robot.has_value());
  EXPECT_FALSE(read("beside.obj").robot.has_value());
  EXPECT_FALSE(read("/home/someone/beside.obj").robot.has_value());
}

TEST(RobotMeshes, FilesInOtherSubfoldersAreFoundByTheirName) {
  const RobotFolder folder;
  folder.Write("arm/parts/cube.obj", CubeObj(1));
  const auto read = [&](const std::string& uri) {
    return ReadRobotFile(folder.Write("arm/r.urdf", WithMesh(uri)));
  };
  for (const std::string uri :
       {"cube.obj", "meshes/cube.obj", "/home/someone/cube.obj", "package://hand/meshes/cube.obj",
        "package://arm/meshes/cube.obj", "file://cube.obj", "package://cube.obj"}) {
    const RobotFileResult result = read(uri);
    EXPECT_THAT(SayAll(result, true), IsEmpty()) << uri;
    EXPECT_THAT(SayAll(result, false),
                Contains(HasSubstr("are read from " + folder.path() + "/arm/parts.")))
        << uri;
  }
  // no single one of this name, unless a folder is the same
  folder.Write("arm/others/cube.obj", CubeObj(1));
  EXPECT_FALSE(read("cube.obj").robot.has_value());
  EXPECT_TRUE(read("/home/others/cube.obj").robot.has_value());
}

TEST(RobotMeshes, APackageInAFolderOfAnotherNameIsFound) {
  const RobotFolder folder;
  folder.Write("arm-main/meshes/cube.obj", CubeObj(1));
  const std::string path =
      folder.Write("arm-main/urdf/r.urdf", WithMesh("package://arm/meshes/cube.obj"));
  const RobotFileResult result = ReadRobotFile(path);
  EXPECT_THAT(SayAll(result, true), IsEmpty());
  EXPECT_THAT(SayAll(result, false),
              Contains(HasSubstr("files at \"package://arm/\" are not there")));
  ASSERT_TRUE(result.robot.has_value());
  EXPECT_EQ(result.robot->links[0].collisions.size(), 1u);
  EXPECT_FALSE(ReadRobotFile(path, {.strict = true}).robot.has_value());
  // another package that has the name, but not the file
  folder.Write("arm/package.xml", "<package><name>arm</name></package>");
  EXPECT_FALSE(ReadRobotFile(path).robot.has_value());
  // nothing outside the jail
  folder.Write("meshes/cube.obj", CubeObj(1));
  folder.Write("jail/r.urdf", WithMesh("package://hand/meshes/cube.obj"));
  EXPECT_TRUE(ReadRobotFile(folder.path() + "/jail/r.urdf").robot.has_value());
  EXPECT_FALSE(ReadRobotFile(folder.path() + "/jail/r.urdf", {.jail = folder.path() + "/jail"})
                   .robot.has_value());
}

TEST(RobotMeshes, NothingOutsideTheJailIsRead) {
  const RobotFolder folder;
  folder.Write("secret.obj", CubeObj(1));
  const std::string path = folder.Write("jail/r.urdf", WithMesh("../secret.obj"));
  const RobotFileOptions jailed{.jail = folder.path() + "/jail"};
  EXPECT_THAT(SayAll(ReadRobotFile(path, jailed), true),
              Contains(HasSubstr("leaves the folder that may be read")));
  std::filesystem::create_symlink(folder.path() + "/secret.obj", folder.path() + "/jail/link.obj");
  folder.Write("jail/r.urdf", WithMesh("link.obj"));
  EXPECT_THAT(SayAll(ReadRobotFile(path, jailed), true),
              Contains(HasSubstr("leaves the folder that may be read")));
  folder.Write("jail/r.urdf", WithMesh(folder.path() + "/secret.obj"));
  EXPECT_THAT(SayAll(ReadRobotFile(path, jailed), true),
              Contains(HasSubstr("leaves the folder that may be read")));
  EXPECT_THAT(SayAll(ReadRobotFile(folder.path() + "/secret.obj", jailed), true),
              Contains(HasSubstr("may not be read")));
}

TEST(RobotMeshes, NoFileIsReadWhereNoneIsAllowed) {
  EXPECT_THAT(ErrorsOf(WithMesh("/etc/passwd"), {.allow_files = false}),
              Contains(HasSubstr("names a file, but files may not be read here")));
}

// Two triangles of two colours as COLLADA: in centimetres, with an axis up.
std::string Collada(const std::string& up) {
  const auto effect = [](const std::string& name, const std::string& color) {
    return absl::StrCat("<effect id=\"", name,
                        "_fx\"><profile_COMMON><technique sid=\"common\"><lambert><diffuse><color>",
                        color,
                        "</color></diffuse></lambert></technique></profile_COMMON></effect>");
  };
  const auto material = [](const std::string& name) {
    return absl::StrCat("<material id=\"", name, "\" name=\"", name, "\"><instance_effect url=\"#",
                        name, "_fx\"/></material>");
  };
  const auto triangle = [](const std::string& name, const std::string& corners) {
    return absl::StrCat("<triangles count=\"1\" material=\"", name,
                        "\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><p>", corners,
                        "</p></triangles>");
  };
  const auto bind = [](const std::string& name) {
    return absl::StrCat("<instance_material symbol=\"", name, "\" target=\"#", name, "\"/>");
  };
  return absl::StrCat(
      "<?xml version=\"1.0\"?>\n<COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" "
      "version=\"1.4.1\"><asset><unit name=\"centimeter\" meter=\"0.01\"/><up_axis>",
      up, "</up_axis></asset><library_effects>", effect("red", "1 0 0 1"),
      effect("blue", "0 0 1 1"), "</library_effects><library_materials>", material("red"),
      material("blue"), "</library_materials><library_geometries><geometry id=\"g\"><mesh>",
      "<source id=\"p\"><float_array id=\"pa\" count=\"12\">0 0 0 100 0 0 0 200 0 0 0 300"
      "</float_array><technique_common><accessor source=\"#pa\" count=\"4\" stride=\"3\">"
      "<param name=\"X\" type=\"float\"/><param name=\"Y\" type=\"float\"/>"
      "<param name=\"Z\" type=\"float\"/></accessor></technique_common></source>"
      "<vertices id=\"v\"><input semantic=\"POSITION\" source=\"#p\"/></vertices>",
      triangle("red", "0 1 2"), triangle("blue", "0 1 3"),
      "</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id=\"s\">"
      "<node id=\"n\"><instance_geometry url=\"#g\"><bind_material><technique_common>",
      bind("red"), bind("blue"),
      "</technique_common></bind_material></instance_geometry></node></visual_scene>"
      "</library_visual_scenes><scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>");
}

TEST(RobotMeshes, ColladaVisualsHaveTheirUnitAxisAndColours) {
  const RobotFolder folder;
  for (const char* up : {"Z_UP", "Y_UP"}) {
    folder.Write("a.dae", Collada(up));
    const RobotFileResult result =
        ReadRobotFile(folder.Write("r.urdf", WithMesh("a.dae", "", "visual")));
    ASSERT_TRUE(result.robot.has_value());
    EXPECT_THAT(SayAll(result, false), IsEmpty());
    const auto& visuals = result.robot->links[0].visuals;
    ASSERT_EQ(visuals.size(), 2u) << up;
    AxisAlignedBox bounds;
    for (const RobotShape& shape : visuals) {
      const AxisAlignedBox own = CalcBounds(shape.shape.geometry, RigidTransform());
      bounds.Include(own.lower);
      bounds.Include(own.upper);
      // the red triangle reaches 2 m along the second axis, the blue one 3 m along the third
      ASSERT_TRUE(shape.color.has_value());
      const bool red = (*shape.color - Eigen::Vector4d(1, 0, 0, 1)).norm() < 1e-6;
      EXPECT_TRUE(red || (*shape.color - Eigen::Vector4d(0, 0, 1, 1)).norm() < 1e-6);
      EXPECT_NEAR((own.upper - own.lower).maxCoeff(), red ? 2 : 3, 1e-6);
    }
    // corners at 1 m along x, 2 m along the second and 3 m along the third axis of the file
    const bool y_up = std::string(up) == "Y_UP";
    const Vector3d lower = y_up ? Vector3d(0, -3, 0) : Vector3d(0, 0, 0);
    const Vector3d upper = y_up ? Vector3d(1, 0, 2) : Vector3d(1, 2, 3);
    // the library computes in single precision
    EXPECT_LT((bounds.lower - lower).norm(), 1e-6) << up;
    EXPECT_LT((bounds.upper - upper).norm(), 1e-6) << up;
  }
}

// A tetrahedron as glTF, with its buffer in a separate file.
TEST(RobotMeshes, GltfFindsItsBufferBesideItAndStandsUpright) {
  const RobotFolder folder;
  std::string buffer;
  const float points[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, 3}};
  const unsigned short corners[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2};
  buffer.append(reinterpret_cast<const char*>(points), sizeof(points));
  buffer.append(reinterpret_cast<const char*>(corners), sizeof(corners));
  folder.Write("meshes/t.bin", buffer);
  const std::string gltf =
      R"({"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],
      "meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":1}]}],
      "buffers":[{"uri":"BUFFER","byteLength":72}],
      "bufferViews":[{"buffer":0,"byteOffset":0,"byteLength":48},
                     {"buffer":0,"byteOffset":48,"byteLength":24}],
      "accessors":[{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3",
                    "min":[0,0,0],"max":[1,2,3]},
                   {"bufferView":1,"componentType":5123,"count":12,"type":"SCALAR"}]})";
  const auto with_buffer = [&](const std::string& uri) {
    std::string text = gltf;
    text.replace(text.find("BUFFER"), 6, uri);
    return text;
  };
  folder.Write("meshes/t.gltf", with_buffer("t.bin"));
  const std::string path = folder.Write("r.urdf", WithMesh("meshes/t.gltf"));
  const RobotFileResult result = ReadRobotFile(path, {.jail = folder.path()});
  EXPECT_THAT(SayAll(result, true), IsEmpty());
  ASSERT_TRUE(result.robot.has_value());
  // the file's y axis is up
  const Geometry& geometry = result.robot->links[0].collisions.at(0).shape.geometry;
  const AxisAlignedBox box = CalcBounds(geometry, RigidTransform());
  EXPECT_EQ(box.lower, Vector3d(0, -3, 0));
  EXPECT_EQ(box.upper, Vector3d(1, 0, 2));

  folder.Write("meshes/t.gltf", with_buffer("../../secret.bin"));
  EXPECT_THAT(SayAll(ReadRobotFile(path, {.jail = folder.path()}), true),
              Contains(HasSubstr("leaves the folder that may be read")));
  folder.Write("meshes/t.gltf", with_buffer("gone.bin"));
  EXPECT_THAT(SayAll(ReadRobotFile(path, {.jail = folder.path()}), true),
              Contains(HasSubstr("gone.bin")));
}

TEST(RobotMeshes, TexturesAreShownOrWarnedOf) {
  const RobotFolder folder;
  folder.Write("jail/meshes/a.obj",
               "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\n"
               "f 1/1 2/2 3/3\n");
  folder.Write("jail/meshes/a.mtl", "newmtl m\nmap_Kd ../textures/a.png\n");
  const std::string path = folder.Write("jail/r.urdf", WithMesh("meshes/a.obj", "", "visual"));
  const RobotFileOptions jailed{.jail = folder.path() + "/jail"};
  const RobotFileResult lost = ReadRobotFile(path, jailed);
  EXPECT_THAT(SayAll(lost, true), IsEmpty());
  EXPECT_THAT(SayAll(lost, false),
              Contains(testing::AllOf(HasSubstr("a.obj: texture"), HasSubstr("a.png"))));
  ASSERT_TRUE(lost.robot.has_value());
  EXPECT_EQ(lost.robot->links[0].visuals.at(0).appearance, nullptr);

  folder.Write("jail/textures/a.png", PngBytes(64, 32));
  const RobotFileResult shown = ReadRobotFile(path, jailed);
  EXPECT_THAT(SayAll(shown, false), IsEmpty());
  ASSERT_TRUE(shown.robot.has_value());
  const auto& appearance = shown.robot->links[0].visuals.at(0).appearance;
  ASSERT_NE(appearance, nullptr);
  EXPECT_EQ(appearance->image->width, 64);
  EXPECT_EQ(appearance->texture_coordinates.size(), 3u);
  // the texture does not affect the motion
  EXPECT_EQ(shown.files_hash, lost.files_hash);

  folder.Write("a.png", PngBytes(64, 32));
  folder.Write("jail/meshes/a.mtl", "newmtl m\nmap_Kd ../../a.png\n");
  std::filesystem::remove(folder.path() + "/jail/textures/a.png");
  EXPECT_THAT(SayAll(ReadRobotFile(path, jailed), false),
              Contains(HasSubstr("leaves the folder that may be read")));
}

TEST(RobotMeshes, MillimetresAreSuspected) {
  const RobotFolder folder;
  folder.Write("big.obj", CubeObj(80));
  // a body of 1 kg and 0.002 kg·m² is about 15 cm large
  const std::string text =
      "<robot name=\"r\"><link name=\"hand\"><inertial><mass value=\"1\"/><inertia ixx=\"0.002\" "
      "iyy=\"0.002\" izz=\"0.002\"/></inertial><collision><geometry><mesh filename=\"big.obj\"/>"
      "</geometry></collision></link></robot>";
  EXPECT_THAT(SayAll(ReadRobotFile(folder.Write("r.urdf", text)), false),
              Contains(testing::AllOf(HasSubstr("link \"hand\""), HasSubstr("138.564 m across"),
                                      HasSubstr("Is it in millimetres?"))));
  // scaled to metres, the mesh is accepted
  std::string mended = text;
  mended.insert(mended.find("/></geometry>"), " scale=\"0.001 0.001 0.001\"");
  EXPECT_THAT(SayAll(ReadRobotFile(folder.Write("r.urdf", mended)), false), IsEmpty());
}

TEST(RobotMeshes, MeshesBeyondAllMeasureAreRefused) {
  const RobotFolder folder;
  folder.Write("vast.obj", CubeObj(1e7));
  EXPECT_THAT(SayAll(ReadRobotFile(folder.Write("r.urdf", WithMesh("vast.obj"))), true),
              Contains(HasSubstr("extends beyond")));
}

}  // namespace
}  // namespace pliant::physics
