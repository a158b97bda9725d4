#include "physics/scene/mesh_files/surface_mesh_files.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <Eigen/Geometry>

#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/geometry/meshing/surface/sample_surfaces.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Surface of a box whose coordinates are exact in single precision.
TriangleMesh MakeBoxSurface() {
  const TetrahedralMesh box = *MeshBox({1, 0.5, 2}, 0.5);
  return {box.vertices, ExtractBoundary(box).triangles};
}

std::string WriteTextStl(const TriangleMesh& mesh) {
  std::string out = "solid box of facets\n";
  for (const auto& t : mesh.triangles) {
    out += "  facet normal 0 0 nan\n    outer loop\n";
    for (const int v : t) {
      const Vector3d& p = mesh.vertices[v];
      absl::StrAppendFormat(&out, "      vertex %.9g %.9g %.9g\n", p.x(), p.y(), p.z());
    }
    out += "    endloop\n  endfacet\n";
  }
  return out + "endsolid box\n";
}

std::string WriteBinaryStl(const TriangleMesh& mesh) {
  std::string out(80, ' ');
  const auto put = [&out](auto value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(static_cast<std::uint32_t>(mesh.triangles.size()));
  for (const auto& t : mesh.triangles) {
    for (int i = 0; i < 3; ++i) put(0.0f);
    for (const int v : t) {
      for (int i = 0; i < 3; ++i) put(static_cast<float>(mesh.vertices[v][i]));
    }
    put(std::uint16_t{0});
  }
  return out;
}

std::string WriteMujocoMsh(const TriangleMesh& mesh) {
  std::string out;
  const auto put = [&out](auto value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto vertices = static_cast<std::int32_t>(mesh.vertices.size());
  // no normals, and texture coordinates that are skipped
  for (const std::int32_t count :
       {vertices, 0, vertices, static_cast<std::int32_t>(mesh.triangles.size())})
    put(count);
  for (const Vector3d& p : mesh.vertices)
    for (int i = 0; i < 3; ++i) put(static_cast<float>(p[i]));
  for (int i = 0; i < 2 * vertices; ++i) put(0.5f);
  for (const auto& t : mesh.triangles)
    for (const int v : t) put(static_cast<std::int32_t>(v));
  return out;
}

std::string WriteObj(const TriangleMesh& mesh) {
  std::string out = "# a box\no box\n";
  for (const Vector3d& p : mesh.vertices)
    absl::StrAppendFormat(&out, "v %.17g %.17g %.17g\n", p.x(), p.y(), p.z());
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    const auto& t = mesh.triangles[i];
    const int back = -static_cast<int>(mesh.vertices.size());
    // every way to reference a corner, and a line that continues on the next
    absl::StrAppend(&out, "f ", t[0] + 1, "/1/2 \\\n ", t[1] + 1, "//7 ",
                    i % 2 ? t[2] + 1 : back + t[2], " # face\n");
  }
  return out;
}

std::string WritePly(const TriangleMesh& mesh) {
  std::string out =
      absl::StrCat("ply\nformat ascii 1.0\nelement vertex ", mesh.vertices.size(),
                   "\nproperty float x\nproperty float y\nproperty float z\nelement face ",
                   mesh.triangles.size(), "\nproperty list uchar int vertex_indices\nend_header\n");
  for (const Vector3d& p : mesh.vertices)
    absl::StrAppendFormat(&out, "%.9g %.9g %.9g\n", p.x(), p.y(), p.z());
  for (const auto& t : mesh.triangles)
    absl::StrAppend(&out, "3 ", t[0], " ", t[1], " ", t[2], "\n");
  return out;
}

std::map<std::string, std::string> WriteAll(const TriangleMesh& mesh) {
  return {{"a.stl", WriteTextStl(mesh)},
          {"b.stl", WriteBinaryStl(mesh)},
          {"c.obj", WriteObj(mesh)},
          {"d.ply", WritePly(mesh)},
          {"e.msh", WriteMujocoMsh(mesh)}};
}

// One triangle as glTF, with its vertices in the buffer at `uri`.
std::string WriteGltf(const std::string& uri) {
  return R"({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
    "nodes": [{"mesh": 0}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
    "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0,
        0, 0], "max": [1, 1, 0]}],
    "bufferViews": [{"buffer": 0, "byteLength": 36}],
    "buffers": [{"uri": ")" +
         uri + R"(", "byteLength": 36}]})";
}

std::string SurfaceErrorOf(const std::string& bytes, const std::string& name) {
  const auto file = ReadSurfaceMesh(bytes, name);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(file.status().message());
}

TEST(SurfaceMeshFiles, AFaceOfAVertexThatDoesNotExistIsRefused) {
  // a square, which has to be divided, with a corner far beyond the vertices
  const std::string ply =
      "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float "
      "z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n"
      "4 0 1 2 2000000000\n";
  EXPECT_THAT(SurfaceErrorOf(ply, "t.ply"), HasSubstr("t.ply"));
}

TEST(SurfaceMeshFiles, APlyHeaderWithoutAnEndIsRefused) {
  EXPECT_THAT(SurfaceErrorOf("ply\nformat ascii 1.0\nelement vertex 4\nproperty flo", "cut.ply"),
              HasSubstr("cut.ply: expected a line \"end_header\""));
}

// The library reads such a file for ever.
TEST(SurfaceMeshFiles, ColladaIndicesThatAreNoWholeNumbersAreRefused) {
  const std::string dae =
      "<?xml version=\"1.0\"?><COLLADA version=\"1.4.1\"><library_geometries><geometry "
      "id=\"g\"><mesh><source id=\"p\"><float_array id=\"a\" count=\"9\">0 0 0 1 0 0 0 1 0"
      "</float_array><technique_common><accessor source=\"#a\" count=\"3\" stride=\"3\"/>"
      "</technique_common></source><vertices id=\"v\"><input semantic=\"POSITION\" "
      "source=\"#p\"/></vertices><triangles count=\"1\"><input semantic=\"VERTEX\" "
      "source=\"#v\" offset=\"0\"/><p>0 1e-3 2</p></triangles></mesh></geometry>"
      "</library_geometries></COLLADA>";
  EXPECT_THAT(SurfaceErrorOf(dae, "t.dae"),
              HasSubstr("expected whole numbers in <p>, found \"e-3"));
}

TEST(SurfaceMeshFiles, EveryFormatReadsTheSameClosedSurface) {
  const TriangleMesh box = MakeBoxSurface();
  for (const auto& [name, bytes] : WriteAll(box)) {
    const auto file = ReadSurfaceMesh(bytes, name);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_THAT(file->warnings, IsEmpty()) << name;
    EXPECT_EQ(file->mesh.vertices.size(), box.vertices.size()) << name;  // merged again
    ASSERT_EQ(file->mesh.triangles.size(), box.triangles.size()) << name;
    for (std::size_t i = 0; i < box.triangles.size(); ++i) {
      for (int j = 0; j < 3; ++j) {
        EXPECT_EQ(file->mesh.vertices[file->mesh.triangles[i][j]],
                  box.vertices[box.triangles[i][j]])
            << name;
      }
    }
    EXPECT_DOUBLE_EQ(CalcEnclosedVolume(file->mesh), 1) << name;
  }
}

TEST(SurfaceMeshFiles, PolygonsAreCutIntoTriangles) {
  const std::string cube =
      "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
      "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n";
  const auto file = ReadSurfaceMesh(cube, "cube.obj");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->mesh.triangles, SizeIs(12));
  EXPECT_DOUBLE_EQ(CalcEnclosedVolume(file->mesh), 1);
}

TEST(SurfaceMeshFiles, SurfacesThatFaceInwardsAreTurned) {
  TriangleMesh box = MakeBoxSurface();
  for (auto& t : box.triangles) std::swap(t[0], t[1]);
  const auto file = ReadSurfaceMesh(WriteObj(box), "box.obj");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_DOUBLE_EQ(CalcEnclosedVolume(file->mesh), 1);
  ASSERT_THAT(file->warnings, SizeIs(1));
  EXPECT_THAT(file->warnings[0], StartsWith("box.obj: turned the surface inside out"));
}

TEST(SurfaceMeshFiles, SingleTurnedTrianglesAreTurnedBackInEveryPart) {
  // two separate boxes: one with a flipped triangle, one facing inwards except for one triangle
  TriangleMesh boxes = MakeBoxSurface();
  const int count = static_cast<int>(boxes.vertices.size());
  const auto triangles = boxes.triangles;
  for (int v = 0; v < count; ++v) boxes.vertices.push_back(boxes.vertices[v] + Vector3d(5, 0, 0));
  for (const auto& t : triangles)
    boxes.triangles.push_back({t[0] + count, t[2] + count, t[1] + count});
  std::swap(boxes.triangles[3][0], boxes.triangles[3][1]);
  std::swap(boxes.triangles.back()[0], boxes.triangles.back()[1]);
  const auto file = ReadSurfaceMesh(WriteObj(boxes), "two.obj");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_NEAR(CalcEnclosedVolume(file->mesh), 2, 1e-13);  // sum of terms up to 30
  ASSERT_THAT(file->warnings, SizeIs(1));
  EXPECT_EQ(file->warnings[0], absl::StrCat("two.obj: reoriented ", triangles.size(),
                                            " triangles to agree with their neighbours"));
}

TEST(SurfaceMeshFiles, CavitiesOfAConsistentFileStayCavities) {
  TriangleMesh shell = MakeBoxSurface();
  const int count = static_cast<int>(shell.vertices.size());
  const auto triangles = shell.triangles;
  for (int v = 0; v < count; ++v) shell.vertices.push_back(shell.vertices[v] / 2);
  for (const auto& t : triangles)
    shell.triangles.push_back({t[0] + count, t[2] + count, t[1] + count});
  const auto file = ReadSurfaceMesh(WriteObj(shell), "shell.obj");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_NEAR(CalcEnclosedVolume(file->mesh), 1 - 0.125, 1e-14);
}

TEST(SurfaceMeshFiles, VerticesThatDifferInTheLastDigitsAreJoinedWhereThatCloses) {
  const TriangleMesh box = MakeBoxSurface();
  TriangleMesh loose;
  for (const auto& t : box.triangles) {
    std::array<int, 3> corners;
    for (int i = 0; i < 3; ++i) {
      corners[i] = static_cast<int>(loose.vertices.size());
      loose.vertices.push_back(box.vertices[t[i]] +
                               Vector3d::Constant(3e-8 * (loose.vertices.size() % 5)));
    }
    loose.triangles.push_back(corners);
  }
  const auto file = ReadSurfaceMesh(WriteObj(loose), "loose.obj");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->mesh.vertices.size(), box.vertices.size());
  ASSERT_THAT(file->warnings, SizeIs(1));
  EXPECT_THAT(file->warnings[0], HasSubstr("closer than a millionth of the size"));
}

TEST(SurfaceMeshFiles, OpenSurfacesAreRefusedForSolidsOnly) {
  TriangleMesh open = MakeBoxSurface();
  open.triangles.pop_back();
  const std::string error = SurfaceErrorOf(WriteObj(open), "open.obj");
  EXPECT_THAT(error, StartsWith("open.obj: expected a closed surface, found 3 edges with one "
                                "triangle, the first from ("));
  EXPECT_THAT(error, HasSubstr("set `convex: true`"));
  EXPECT_TRUE(ReadOpenSurfaceMesh(WriteObj(open), "open.obj").ok());

  TriangleMesh fin = MakeBoxSurface();  // a third triangle on an edge
  fin.vertices.emplace_back(9, 9, 9);
  fin.triangles.push_back(
      {fin.triangles[0][0], fin.triangles[0][1], static_cast<int>(fin.vertices.size()) - 1});
  EXPECT_THAT(SurfaceErrorOf(WriteObj(fin), "fin.obj"),
              HasSubstr("2 edges with one triangle and 1 edges with more than two"));
}

TEST(SurfaceMeshFiles, PointsWithoutTrianglesBecomeTheirConvexHull) {
  const auto file =
      ReadSurfaceMesh("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0.1 0.1 0.1\n", "points.obj");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->mesh.vertices, SizeIs(4));
  EXPECT_THAT(file->mesh.triangles, SizeIs(4));
  EXPECT_THAT(file->warnings, ElementsAre(HasSubstr("5 points and no triangles")));
  EXPECT_THAT(SurfaceErrorOf("v 0 0 0\nv 1 0 0\nv 0 1 0\n", "flat.obj"),
              HasSubstr("expected triangles, found none"));
}

TEST(SurfaceMeshFiles, ErrorsNameLineOrByteAndWhatWasFound) {
  EXPECT_EQ(SurfaceErrorOf("v 0 0 0\nv 1 x 0\n", "t.obj"),
            "t.obj:2: expected three finite coordinates after v, found \"x\"");
  EXPECT_EQ(SurfaceErrorOf("v 0 0 0\nv 1 0\n", "t.obj"),
            "t.obj:2: expected three finite coordinates after v, found the end of the line");
  EXPECT_EQ(SurfaceErrorOf("v 0 0 0\nf 1 2 3\n", "t.obj"),
            "t.obj:2: expected a vertex number from 1 to 1, found \"2\"");
  EXPECT_EQ(SurfaceErrorOf("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 inf\n", "t.stl"),
            "t.stl:4: expected a finite coordinate, found inf");
  EXPECT_EQ(SurfaceErrorOf("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0", "t.stl"),
            "t.stl:4: the file ends where a coordinate should be");
  EXPECT_EQ(SurfaceErrorOf("", "t.stl"), "t.stl: the file is empty; expected a surface mesh");
  EXPECT_THAT(SurfaceErrorOf("solid nothing\nendsolid nothing\n", "t.stl"),
              HasSubstr("expected triangles, found none"));
  EXPECT_THAT(SurfaceErrorOf(WriteBinaryStl(MakeBoxSurface()).substr(0, 500), "t.stl"),
              HasSubstr("the file may be cut off"));
  std::string msh = WriteMujocoMsh(MakeBoxSurface());
  EXPECT_THAT(SurfaceErrorOf(msh.substr(0, msh.size() - 4), "t.msh"),
              HasSubstr("t.msh: the file begins with"));
  msh[msh.size() - 1] = 0x40;
  EXPECT_THAT(SurfaceErrorOf(msh, "t.msh"), HasSubstr("names vertex"));
  EXPECT_THAT(SurfaceErrorOf("$MeshFormat\n2.2 0 8\n", "t.msh"),
              HasSubstr("t.msh: the file begins with \"$MeshFormat"));
  EXPECT_THAT(SurfaceErrorOf("ply\nformat\nend_header\n", "t.ply"),
              HasSubstr("t.ply: cannot be read as ply"));
}

TEST(SurfaceMeshFiles, OtherFilesNamedByAFileAreNotOpened) {
  EXPECT_THAT(SurfaceErrorOf(WriteGltf("/etc/passwd"), "t.gltf"),
              HasSubstr("Other files are not opened"));
  // (0, 0, 0), (1, 0, 0), (0, 1, 0)
  const auto inside = ReadOpenSurfaceMesh(
      WriteGltf(
          "data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"),
      "t.gltf");
  ASSERT_TRUE(inside.ok()) << inside.status();
  EXPECT_THAT(inside->mesh.vertices,
              testing::ElementsAre(Vector3d(0, 0, 0), Vector3d(1, 0, 0), Vector3d(0, 1, 0)));
}

TEST(SurfaceMeshFiles, MutatedFilesGiveAClosedSurfaceOrAnError) {
  std::uint64_t state = 7;
  const auto random = [&state](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  int read = 0;
  for (const auto& [name, original] : WriteAll(MakeBoxSurface())) {
    const int rounds = name == "d.ply" ? 100 : 1000;  // each in a process
    for (int round = 0; round < rounds; ++round) {
      std::string bytes = original;
      for (std::uint64_t n = 1 + random(3); n > 0 && !bytes.empty(); --n) {
        const std::size_t at = random(bytes.size());
        switch (random(4)) {
          case 0:
            bytes[at] = static_cast<char>(random(256));
            break;
          case 1:
            bytes.erase(at, 1 + random(30));
            break;
          case 2:
            bytes.insert(at, bytes.substr(random(bytes.size()), random(100)));
            break;
          default:
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << random(8)));
            break;
        }
      }
      const auto file = ReadSurfaceMesh(bytes, name);
      if (!file.ok()) {
        ASSERT_THAT(std::string(file.status().message()), StartsWith(name));
        continue;
      }
      ++read;
      // rounding decides about the sign if one vertex is very far away
      double farthest = 0;
      for (const Vector3d& p : file->mesh.vertices)
        farthest = std::max(farthest, p.cwiseAbs().maxCoeff());
      if (farthest < 1e6) {
        ASSERT_GT(CalcEnclosedVolume(file->mesh), 0);
      }
    }
  }
  EXPECT_GT(read, 30);
}

}  // namespace
}  // namespace pliant::physics
