#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/geometry/meshing/mesh_checks.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"

namespace pliant::physics {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

TetrahedralMesh MakeSample() {
  TetrahedralMesh mesh = *MeshSphere(0.1, 0.05);
  for (std::size_t i = 0; i < mesh.tetrahedra.size(); ++i)
    mesh.labels.push_back(3 + static_cast<int>(i % 2));
  return mesh;
}

template <typename Number>
std::string Raw(Number value, bool big_endian) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return big_endian ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
}

// Writes numbers as text or binary, so that one writer below serves both.
struct Writer {
  bool binary = false;
  bool big_endian = false;
  std::string out;

  template <typename Number>
  void Put(Number value) {
    if (binary) {
      out += Raw(value, big_endian);
    } else if constexpr (std::is_floating_point_v<Number>) {
      out += absl::StrFormat("%.17g ", value);
    } else {
      absl::StrAppend(&out, value, " ");
    }
  }
  void Text(const std::string& text) { out += text; }
  void EndNumbers() { out += "\n"; }
};

// Writes form 4, with counts before corners, or form 5, with offsets and connectivity.
std::string WriteVtk(const TetrahedralMesh& mesh, bool binary, int form) {
  Writer w{binary, true, ""};
  const std::size_t cells = mesh.tetrahedra.size();
  w.Text(absl::StrCat("# vtk DataFile Version ", form == 5 ? "5.1" : "3.0", "\nsample\n",
                      binary ? "BINARY" : "ASCII", "\nDATASET UNSTRUCTURED_GRID\n"));
  w.Text(absl::StrCat("POINTS ", mesh.vertices.size(), " double\n"));
  for (const auto& p : mesh.vertices) {
    for (int i = 0; i < 3; ++i) w.Put(p[i]);
  }
  w.EndNumbers();
  if (form == 5) {
    w.Text(absl::StrCat("CELLS ", cells + 1, " ", 4 * cells, "\nOFFSETS vtktypeint64\n"));
    for (std::size_t i = 0; i <= cells; ++i) w.Put(static_cast<std::int64_t>(4 * i));
    w.EndNumbers();
    w.Text("CONNECTIVITY vtktypeint64\n");
    for (const auto& t : mesh.tetrahedra) {
      for (const int v : t) w.Put(static_cast<std::int64_t>(v));
    }
  } else {
    w.Text(absl::StrCat("CELLS ", cells, " ", 5 * cells, "\n"));
    for (const auto& t : mesh.tetrahedra) {
      w.Put(4);
      for (const int v : t) w.Put(v);
    }
  }
  w.EndNumbers();
  w.Text(absl::StrCat("CELL_TYPES ", cells, "\n"));
  for (std::size_t i = 0; i < cells; ++i) w.Put(10);
  w.EndNumbers();
  w.Text(absl::StrCat("POINT_DATA ", mesh.vertices.size(), "\nVECTORS wind float\n"));
  for (std::size_t i = 0; i < 3 * mesh.vertices.size(); ++i) w.Put(1.5f);
  w.EndNumbers();
  w.Text("METADATA\nINFORMATION 0\n\n");
  w.Text(absl::StrCat("CELL_DATA ", cells, "\nSCALARS material int 1\nLOOKUP_TABLE default\n"));
  for (const int label : mesh.labels) w.Put(label);
  w.EndNumbers();
  return w.out;
}

// Node tags with gaps: 10, 13, 16, …
int Tag(int v) {
  return 10 + 3 * v;
}

std::string WriteGmsh2(const TetrahedralMesh& mesh, bool binary, bool big_endian = false) {
  Writer w{binary, big_endian, ""};
  w.Text(absl::StrCat("$MeshFormat\n2.2 ", binary ? 1 : 0, " 8\n"));
  if (binary) w.Text(Raw(1, big_endian) + "\n");
  w.Text(
      absl::StrCat("$EndMeshFormat\n$PhysicalNames\n1\n3 3 \"stiff\"\n$EndPhysicalNames\n$Nodes\n",
                   mesh.vertices.size(), "\n"));
  for (std::size_t v = 0; v < mesh.vertices.size(); ++v) {
    w.Put(Tag(static_cast<int>(v)));
    for (int i = 0; i < 3; ++i) w.Put(mesh.vertices[v][i]);
  }
  w.Text(absl::StrCat("\n$EndNodes\n$Elements\n", mesh.tetrahedra.size() + 1, "\n"));
  const auto element = [&](int type, const std::vector<int>& tags, const std::vector<int>& nodes) {
    if (binary) {
      for (const int number : {type, 1, static_cast<int>(tags.size()), 1}) w.Put(number);
    } else {
      for (const int number : {1, type, static_cast<int>(tags.size())}) w.Put(number);
    }
    for (const int tag : tags) w.Put(tag);
    for (const int node : nodes) w.Put(Tag(node));
  };
  element(2, {7, 7}, {0, 1, 2});
  for (std::size_t i = 0; i < mesh.tetrahedra.size(); ++i) {
    const auto& t = mesh.tetrahedra[i];
    // half of the elements have their label as the physical tag, the others as the elementary one
    const int label = mesh.labels[i];
    element(4, i % 4 < 2 ? std::vector<int>{label, 99} : std::vector<int>{0, label},
            {t.begin(), t.end()});
  }
  w.Text("\n$EndElements\n");
  return w.out;
}

std::string WriteGmsh4(const TetrahedralMesh& mesh, bool binary) {
  using Size = std::int64_t;
  Writer w{binary, false, ""};
  w.Text(absl::StrCat("$MeshFormat\n4.1 ", binary ? 1 : 0, " 8\n"));
  if (binary) w.Text(Raw(1, false) + "\n");
  w.Text("$EndMeshFormat\n$Entities\n");
  // a point, a surface, and the volumes 1 (physical group 3) and 4 (no group)
  for (const Size count : {1, 0, 1, 2}) w.Put(count);
  w.Put(5);
  for (int i = 0; i < 3; ++i) w.Put(0.0);
  w.Put(Size{0});
  w.Put(6);
  for (int i = 0; i < 6; ++i) w.Put(0.0);
  w.Put(Size{1});
  w.Put(8);
  w.Put(Size{0});
  for (const int volume : {1, 4}) {
    w.Put(volume);
    for (int i = 0; i < 6; ++i) w.Put(0.0);
    w.Put(Size{volume == 1});
    if (volume == 1) w.Put(3);
    w.Put(Size{1});
    w.Put(-6);
  }
  w.Text("\n$EndEntities\n$Nodes\n");
  const Size nodes = static_cast<Size>(mesh.vertices.size());
  for (const Size number : {Size{2}, nodes, Size{Tag(0)}, Size{Tag(static_cast<int>(nodes) - 1)}})
    w.Put(number);
  const auto block = [&](int dimension, int parametric, Size begin, Size end) {
    for (const int number : {dimension, 1, parametric}) w.Put(number);
    w.Put(end - begin);
    for (Size v = begin; v < end; ++v) w.Put(Size{Tag(static_cast<int>(v))});
    for (Size v = begin; v < end; ++v) {
      for (int i = 0; i < 3; ++i) w.Put(mesh.vertices[v][i]);
      for (int i = 0; i < dimension * parametric; ++i) w.Put(0.5);
    }
  };
  block(2, 1, 0, 5);
  block(3, 0, 5, nodes);
  const Size cells = static_cast<Size>(mesh.tetrahedra.size());
  w.Text("\n$EndNodes\n$Elements\n");
  for (const Size number : {cells, cells, Size{1}, cells}) w.Put(number);
  for (Size i = 0; i < cells; ++i) {
    for (const int number : {3, mesh.labels[i] == 3 ? 1 : 4, 4}) w.Put(number);
    w.Put(Size{1});
    w.Put(i + 1);
    for (const int v : mesh.tetrahedra[i]) w.Put(Size{Tag(v)});
  }
  w.Text("\n$EndElements\n");
  return w.out;
}

std::string WriteMedit(const TetrahedralMesh& mesh) {
  Writer w;
  w.Text(absl::StrCat("MeshVersionFormatted 2\nDimension 3\n# made by a test\nVertices\n",
                      mesh.vertices.size(), "\n"));
  for (const auto& p : mesh.vertices) {
    for (int i = 0; i < 3; ++i) w.Put(p[i]);
    w.Put(0);
  }
  w.Text(absl::StrCat("\nTriangles 1\n1 2 3 7\nTetrahedra\n", mesh.tetrahedra.size(), "\n"));
  for (std::size_t i = 0; i < mesh.tetrahedra.size(); ++i) {
    for (const int v : mesh.tetrahedra[i]) w.Put(v + 1);
    w.Put(mesh.labels[i]);
  }
  w.Text("\nEnd       \n");
  return w.out;
}

std::map<std::string, std::string> MakeFiles() {
  const TetrahedralMesh mesh = MakeSample();
  return {{"vtk text", WriteVtk(mesh, false, 4)},
          {"vtk binary", WriteVtk(mesh, true, 4)},
          {"vtk 5 text", WriteVtk(mesh, false, 5)},
          {"vtk 5 binary", WriteVtk(mesh, true, 5)},
          {"gmsh 2 text", WriteGmsh2(mesh, false)},
          {"gmsh 2 binary", WriteGmsh2(mesh, true)},
          {"gmsh 2 big-endian", WriteGmsh2(mesh, true, true)},
          {"gmsh 4 text", WriteGmsh4(mesh, false)},
          {"gmsh 4 binary", WriteGmsh4(mesh, true)},
          {"medit", WriteMedit(mesh)}};
}

std::string ErrorOf(const std::string& bytes, const std::string& name = "ball.msh") {
  const auto file = ReadVolumeMesh(bytes, name);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(file.status().message());
}

constexpr char kTwoTetrahedra[] =
    "# vtk DataFile Version 3.0\r\ntwo\r\nASCII\r\nDATASET UNSTRUCTURED_GRID\r\n"
    "POINTS 5 float\r\n0 0 0  1 0 0  0 1 0\r\n0 0 1  1 1 1\r\n"
    "CELLS 3 14\r\n4 0 1 2 3\r\n3 0 1 2\r\n4 1 2 3 4\r\nCELL_TYPES 3\r\n10\r\n5\r\n10\r\n";

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(VolumeMeshFiles, EveryFormatReadsTheSameMeshBitForBit) {
  const TetrahedralMesh mesh = MakeSample();
  for (const auto& [format, bytes] : MakeFiles()) {
    const auto file = ReadVolumeMesh(bytes, format);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->mesh.vertices, mesh.vertices) << format;
    EXPECT_EQ(file->mesh.tetrahedra, mesh.tetrahedra) << format;
    EXPECT_EQ(file->mesh.labels, mesh.labels) << format;
  }
}

TEST(VolumeMeshFiles, OtherCellsAreLeftOutWithAWarning) {
  const auto file = ReadVolumeMesh(kTwoTetrahedra, "two.vtk");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(file->mesh.tetrahedra, SizeIs(2));
  ASSERT_THAT(file->warnings, SizeIs(1));
  EXPECT_EQ(file->warnings[0], "two.vtk: ignored 1 other cells (type 5)");
}

// A cell of each shape with its corners, volume and tetrahedra.
struct OneCell {
  const char* kind;
  int vtk, gmsh;  // types of second order
  const char* abaqus;
  std::vector<Eigen::Vector3d> corners;
  int second;  // nodes of the second order
  double volume;
};

std::vector<OneCell> MakeCells() {
  return {
      {"tetrahedron", 24, 11, "C3D10M", {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 10, 1 / 6.0},
      {"hexahedron",
       25,
       17,
       "C3D20R",
       {{0, 0, 0}, {2, 0, 0}, {2, 1, 0}, {0, 1, 0}, {0, 0, 1}, {2, 0, 1}, {2, 1, 1}, {0, 1, 1}},
       20,
       2},
      {"prism",
       26,
       18,
       "C3D15",
       {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 3}, {1, 0, 3}, {0, 1, 3}},
       15,
       1.5},
      {"pyramid", 27, 19, "C3D13", {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 3}}, 13, 1}};
}

TEST(VolumeMeshFiles, CellsOfSecondOrderAreReadByTheirCornersAndOthersDivided) {
  for (const OneCell& cell : MakeCells()) {
    // the nodes between the corners follow them, wherever they are
    std::string points, numbers, abaqus, gmsh, list;
    for (int i = 0; i < cell.second; ++i) {
      const Eigen::Vector3d p = i < static_cast<int>(cell.corners.size())
                                    ? cell.corners[i]
                                    : Eigen::Vector3d(0.01 * i, 0.5, 0.5);
      const std::string xyz = absl::StrCat(p.x(), " ", p.y(), " ", p.z(), "\n");
      points += xyz;
      absl::StrAppend(&gmsh, i + 1, " ", xyz);
      absl::StrAppend(&abaqus, i + 1, ", ", p.x(), ", ", p.y(), ",", p.z(), "\n");
      absl::StrAppend(&numbers, " ", i);
      // long elements continue on the next line
      absl::StrAppend(&list, i == 10 ? ",\n" : ", ", i + 1);
    }
    const std::string vtk =
        absl::StrCat("# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS ",
                     cell.second, " double\n", points, "CELLS 1 ", cell.second + 1, "\n",
                     cell.second, numbers, "\nCELL_TYPES 1\n", cell.vtk, "\n");
    std::string gmsh_numbers;
    for (int i = 0; i < cell.second; ++i) absl::StrAppend(&gmsh_numbers, " ", i + 1);
    const std::string msh = absl::StrCat("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n",
                                         cell.second, "\n", gmsh, "$EndNodes\n$Elements\n1\n1 ",
                                         cell.gmsh, " 2 1 1", gmsh_numbers, "\n$EndElements\n");
    const std::string inp =
        absl::StrCat("** a comment\n*Heading\nanything\n*NODE\n", abaqus,
                     "*ELEMENT, TYPE=", cell.abaqus, ", ELSET=All\n1", list, "\n*STEP\n");
    for (const std::string& bytes : {vtk, msh, inp}) {
      const auto file = ReadVolumeMesh(bytes, "cell");
      ASSERT_TRUE(file.ok()) << cell.kind << ": " << file.status();
      EXPECT_NEAR(CalcVolume(file->mesh), cell.volume, 1e-15) << cell.kind;
      for (const auto& t : file->mesh.tetrahedra) {
        TetrahedralMesh one{file->mesh.vertices, {t}, {}};
        EXPECT_GT(CalcVolume(one), 0.01) << cell.kind;
      }
      EXPECT_THAT(file->warnings, testing::Contains(HasSubstr("of higher order are read by")));
    }
  }
}

// A bent row of hexahedra, prisms and pyramids, numbered at random: each face inside belongs to two
// tetrahedra, each face outside to one, and the boundary is closed.
TEST(VolumeMeshFiles, DividedCellsOfNeighboursShareTheirFaces) {
  std::uint64_t state = 7;
  const auto random = [&state](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 50; ++round) {
    constexpr int kLayers = 6;
    // four corners to a layer, then the tip of a pyramid on the last
    std::vector<Eigen::Vector3d> points;
    for (int k = 0; k <= kLayers; ++k) {
      for (const auto& [x, y] : {std::pair(0.0, 0.0), {1.0, 0.0}, {1.0, 1.0}, {0.0, 1.0}})
        points.emplace_back(x + 0.1 * k * k, y, k);
    }
    points.emplace_back(0.1 * kLayers * kLayers + 0.5, 0.5, kLayers + 1.0);
    std::vector<int> number(points.size());
    for (std::size_t i = 0; i < number.size(); ++i) {
      number[i] = static_cast<int>(i);
      std::swap(number[i], number[random(i + 1)]);
    }
    std::vector<Eigen::Vector3d> placed(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) placed[number[i]] = points[i];
    std::string cells;
    const auto line = [&](std::vector<int> corners) {
      for (const int c : corners) absl::StrAppend(&cells, " ", number[c] + 1);
      cells += " 1\n";
    };
    std::string prisms;
    for (int k = 0; k < kLayers; ++k) {
      const int b = 4 * k, t = b + 4;
      if (k % 2 == 0) {
        line({b, b + 1, b + 2, b + 3, t, t + 1, t + 2, t + 3});
        continue;
      }
      std::swap(cells, prisms);
      // the cut leaves the quadrilaterals below and above whole
      line({b, b + 1, t, b + 3, b + 2, t + 3});
      line({b + 1, t + 1, t, b + 2, t + 2, t + 3});
      std::swap(cells, prisms);
    }
    std::string text =
        absl::StrCat("MeshVersionFormatted 2 Dimension 3\nVertices ", placed.size(), "\n");
    for (const auto& p : placed) absl::StrAppend(&text, p.x(), " ", p.y(), " ", p.z(), " 0\n");
    absl::StrAppend(&text, "Hexahedra ", kLayers / 2, "\n", cells, "Prisms ", kLayers, "\n", prisms,
                    "Pyramids 1\n");
    cells.clear();
    const int last = 4 * kLayers;
    line({last, last + 1, last + 2, last + 3, last + 4});
    const auto file = ReadVolumeMesh(text + cells + "End\n", "row.mesh");
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->mesh.tetrahedra.size(), 6u * (kLayers / 2) + 3u * kLayers + 2u);
    EXPECT_NEAR(CalcVolume(file->mesh), kLayers + 1 / 3.0, 1e-12);
    // 2 triangles to each quadrilateral outside, 4 at the tip; more where faces do not match
    const BoundarySurface boundary = ExtractBoundary(file->mesh);
    EXPECT_EQ(boundary.triangles.size(), 2u + 8u * kLayers + 4u);
  }
}

TEST(VolumeMeshFiles, AbaqusSetsAndPartsAreLabels) {
  const std::string nodes = "*Node\n1, 0,0,0\n2, 1,0,0\n3, 0,1,0\n4, 0,0,1\n";
  const std::string text = "*Part, name=A\n" + nodes +
                           "*Element, type=C3D4, elset=stiff\n1, 1,2,3,4\n*End Part\n"
                           "*Part, name=B\n" +
                           nodes +
                           "*Element, type=C3D4\n1, 1,2,3,4\n"
                           "*Element, type=S3\n2, 1,2,3\n*End Part\n";
  const auto file = ReadVolumeMesh(text, "two.inp");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->mesh.labels, std::vector<int>({1, 2}));
  EXPECT_EQ(file->mesh.vertices.size(), 8u);
  EXPECT_THAT(file->warnings, testing::UnorderedElementsAre(
                                  HasSubstr("ignored 1 other cells (type S3)"),
                                  HasSubstr("labels number the element sets: 1 is stiff, 2 is B")));
  EXPECT_THAT(ErrorOf(nodes + "*ELEMENT, TYPE=C3D4\n1, 1,2,3,9\n", "x.inp"),
              StartsWith("x.inp:7: expected the number of a node, found 9"));
  EXPECT_THAT(ErrorOf(nodes + "*ELEMENT, TYPE=C3D4\n1, 1,2,3\n", "x.inp"),
              StartsWith("x.inp:7: expected 4 nodes of an element of type C3D4, found 3"));
  EXPECT_THAT(ErrorOf("*NODE\n1, 0, 0\n", "x.inp"), StartsWith("x.inp:2: expected a node"));
  EXPECT_THAT(ErrorOf("*NODE\n1, 0, nan, 0\n", "x.inp"), StartsWith("x.inp:2: expected a node"));
  EXPECT_THAT(ErrorOf("*INCLUDE, INPUT=mesh.inp\n", "x.inp"), HasSubstr("is not followed"));
  EXPECT_THAT(ErrorOf(nodes, "x.inp"), HasSubstr("expected *ELEMENT of type C3D4"));
}

TEST(VolumeMeshFiles, EveryTruncationIsAnErrorThatNamesItsPlace) {
  for (const auto& [format, bytes] : MakeFiles()) {
    // cut before the last byte that matters: VTK files end with labels, Gmsh files with a keyword
    for (std::size_t size = 0; size + 12 < bytes.size(); size += 1 + size / 97) {
      const auto file = ReadVolumeMesh(bytes.substr(0, size), "cut");
      const bool mesh_complete = bytes.substr(0, size).find("POINT_DATA") != std::string::npos;
      if (file.ok()) {
        // a VTK file may end between the sections after its cells
        ASSERT_TRUE(mesh_complete) << format << " cut at " << size << " of " << bytes.size();
        continue;
      }
      ASSERT_THAT(std::string(file.status().message()), StartsWith("cut:")) << format;
    }
  }
}

TEST(VolumeMeshFiles, ErrorsOfTextFilesNameTheLineAndBothValues) {
  const std::string vtk = kTwoTetrahedra;
  EXPECT_EQ(ErrorOf(Replace(vtk, "0 1 0", "0 x 0"), "t.vtk"),
            "t.vtk:6: expected a coordinate, found \"x\"");
  EXPECT_EQ(ErrorOf(Replace(vtk, "0 1 0", "0 nan 0"), "t.vtk"),
            "t.vtk:6: expected a finite coordinate, found nan");
  EXPECT_EQ(ErrorOf(Replace(vtk, "4 1 2 3 4", "4 1 2 3 9"), "t.vtk"),
            "t.vtk:11: cell 2: expected a point number from 0 to 4, found 9");
  EXPECT_EQ(ErrorOf(Replace(vtk, "POINTS 5", "POINTS -5"), "t.vtk"),
            "t.vtk:5: expected a number of points from 0 to 2147483647, found -5");
  EXPECT_THAT(ErrorOf(Replace(vtk, "POINTS 5", "POINTS 2000000000"), "t.vtk"),
              HasSubstr("t.vtk:5: the file is too short for 2000000000 points"));
  EXPECT_THAT(ErrorOf(Replace(vtk, "CELL_TYPES 3", "CELL_TYPES 2"), "t.vtk"),
              HasSubstr("expected 3 cell types, one per cell, found 2"));
  EXPECT_THAT(
      ErrorOf(Replace(vtk, "UNSTRUCTURED_GRID", "POLYDATA"), "t.vtk"),
      HasSubstr(
          "t.vtk:4: expected DATASET UNSTRUCTURED_GRID, found \"POLYDATA\", which is a surface"));

  const std::string gmsh = WriteGmsh2(MakeSample(), false);
  EXPECT_THAT(ErrorOf(Replace(gmsh, "2.2 0", "3.1 0")),
              HasSubstr("ball.msh:2: MSH format 3.1 is not read; expected 2.2 or 4.1"));
  EXPECT_THAT(ErrorOf("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 "
                      "0\n4 0 0 1\n$EndNodes\n"
                      "$Elements\n1\n1 4 2 1 1 1 2 3 5\n$EndElements\n"),
              StartsWith("ball.msh:13: expected the number of a node, found 5"));
  EXPECT_THAT(ErrorOf("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 "
                      "0\n4 0 0 1\n$EndNodes\n"
                      "$Elements\n1\n1 4 2 1 1 1 2 3\n$EndElements\n"),
              StartsWith("ball.msh:14: expected a node of an element, found \"$EndElements\""));
}

TEST(VolumeMeshFiles, ErrorsOfBinaryFilesNameTheByte) {
  std::string bytes = WriteVtk(MakeSample(), true, 4);
  const std::size_t points = bytes.find("double\n") + 7;
  const double infinity = std::numeric_limits<double>::infinity();
  bytes.replace(points + 16, 8, Raw(infinity, true));
  EXPECT_EQ(ErrorOf(bytes, "b.vtk"),
            absl::StrCat("b.vtk: byte ", points + 16, ": expected a finite coordinate, found inf"));
}

TEST(VolumeMeshFiles, WhatIsNoTetrahedralMeshIsNamed) {
  const std::string mend = "; a deformable body needs a tetrahedral mesh. ";
  EXPECT_THAT(ErrorOf("solid a\nfacet normal 0 0 1\n"),
              HasSubstr("this is an STL surface" + mend + "Fill it with tetrahedra"));
  EXPECT_THAT(ErrorOf("# made by hand\nv 0 0 0\nv 1 0 0\n"),
              HasSubstr("this is an OBJ surface" + mend));
  EXPECT_THAT(ErrorOf("<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\">"),
              HasSubstr("this is a VTK XML file" + mend + "Save it as legacy VTK"));
  EXPECT_THAT(ErrorOf("<robot name=\"arm\">"), HasSubstr("this is a URDF robot"));
  EXPECT_THAT(ErrorOf("hello"), HasSubstr("the file begins with \"hello\"" + mend));
  EXPECT_THAT(ErrorOf(std::string("\x00\xff", 2)),
              HasSubstr("the file begins with \"\\x00\\xff\""));
  EXPECT_THAT(ErrorOf(""), HasSubstr("ball.msh: the file is empty"));
  EXPECT_THAT(
      ErrorOf(
          "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n3\n1 0 0 0\n2 1 0 0\n3 0 1 0\n$EndNodes\n"
          "$Elements\n1\n1 2 2 1 1 1 2 3\n$EndElements\n"),
      HasSubstr("expected tetrahedra (element type 4) or other solid elements, found 1 other cells "
                "(type 2). Mesh the volume"));
}

TEST(VolumeMeshFiles, MutatedFilesGiveASoundMeshOrAnError) {
  std::uint64_t state = 1;
  const auto random = [&state](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  const std::vector<std::string> words = {"-1",         "0",       "4",     "99999999999999999999",
                                          "2147483648", "nan",     "1e999", "$Nodes",
                                          "POINTS",     "OFFSETS", "\n",    "\0"};
  int read = 0;
  for (const auto& [format, original] : MakeFiles()) {
    for (int round = 0; round < 400; ++round) {
      std::string bytes = original;
      for (std::uint64_t n = 1 + random(4); n > 0 && !bytes.empty(); --n) {
        const std::size_t at = random(bytes.size());
        switch (random(5)) {
          case 0:
            bytes[at] = static_cast<char>(random(256));
            break;
          case 1:
            bytes.erase(at, 1 + random(40));
            break;
          case 2:
            bytes.insert(at, bytes.substr(random(bytes.size()), random(200)));
            break;
          case 3:
            bytes.replace(at, 1, words[random(words.size())]);
            break;
          default:
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << random(8)));
            break;
        }
      }
      const auto file = ReadVolumeMesh(bytes, "m");
      if (!file.ok()) {
        ASSERT_THAT(std::string(file.status().message()), StartsWith("m:")) << format;
        continue;
      }
      ++read;
      for (const MeshDefect& defect : FindDefects(file->mesh)) {
        ASSERT_NE(defect.kind, MeshDefectKind::kMissingVertex) << format;
        ASSERT_NE(defect.kind, MeshDefectKind::kNonFiniteVertex) << format;
      }
      ASSERT_TRUE(file->mesh.labels.empty() ||
                  file->mesh.labels.size() == file->mesh.tetrahedra.size());
    }
  }
  EXPECT_GT(read, 100);  // otherwise the mutations were too coarse to test anything
}

TEST(MeshFileBytes, ErrorsNameThePath) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / absl::StrCat("pliant_mesh_files_", ::getpid());
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return (folder / name).string();
  };
  EXPECT_EQ(*ReadMeshFileBytes(write("good", "abc")), "abc");
  EXPECT_EQ(ReadMeshFileBytes((folder / "none").string()).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadMeshFileBytes((folder / "none").string()).status().message()),
              HasSubstr("none: no such file"));
  EXPECT_THAT(std::string(ReadMeshFileBytes(folder.string()).status().message()),
              HasSubstr("is a folder"));
  EXPECT_THAT(std::string(ReadMeshFileBytes(write("empty", "")).status().message()),
              HasSubstr("the file is empty"));
  EXPECT_THAT(std::string(ReadMeshFileBytes(write("long", "abcd"), 3).status().message()),
              HasSubstr("has 4 bytes; expected at most 3"));
  EXPECT_THAT(std::string(ReadMeshFileBytes("/dev/null").status().message()),
              HasSubstr("is not a regular file"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace pliant::physics
