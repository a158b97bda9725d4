#include "physics/world/contact_fields.h"

#include <cmath>
#include <string>

#include "physics/geometry/triangle_bvh.h"
#include "physics/world/probes.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

std::string RestingBox(const std::string& patches, double degrees) {
  return R"(
name: rest
time_step: 0.01
contact: {friction: 0.8, patches: )" +
         patches + R"(}
bodies:
  - {name: slope, rigid: {motion: FIXED, pose: {rpy_degrees: [0, )" +
         std::to_string(degrees) + R"(, 0]}, shapes: [{half_space: {}}]}}
  - name: box
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.025}
      pose: {position: [)" +
         std::to_string(0.05 * std::sin(degrees * kPi / 180)) + ", 0, " +
         std::to_string(0.05 * std::cos(degrees * kPi / 180)) + R"(], rpy_degrees: [0, )" +
         std::to_string(degrees) + R"(, 0]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
)";
}

Vector3d SumTractions(const World& world, const ContactField& field, double* pressure_force) {
  const Body& body = world.model().bodies[1];
  const std::span<const double> q = world.model().Positions(world.state(), body.block);
  Vector3d sum = Vector3d::Zero();
  *pressure_force = 0;
  for (std::size_t i = 0; i < body.surface.triangles.size(); ++i) {
    const auto& t = body.surface.triangles[i];
    const Vector3d a = VertexAt(q, t[0]), b = VertexAt(q, t[1]), c = VertexAt(q, t[2]);
    const double area = 0.5 * (b - a).cross(c - a).norm();
    sum += area * field.triangle_traction[i];
    *pressure_force += area * field.triangle_pressure[i];
  }
  return sum;
}

TEST(ContactField, ProbesReadIt) {
  World world = LoadWorld(RestingBox("VERTICES", 0) + R"(
probes:
  - {name: mean, field: {body: box, measure: CONTACT_TRACTION, reduce: MEAN}}
  - {name: least, field: {body: box, measure: CONTACT_PRESSURE, reduce: MIN}}
  - {name: most, field: {body: box, measure: CONTACT_PRESSURE, reduce: MAX}}
)");
  EXPECT_EQ(Read(world, "most"), std::vector<double>{0});
  RunUntil(1, &world);
  // a box of 1 kg on one of its six sides
  const double pressure = 9.81 / 0.01;
  EXPECT_NEAR(Read(world, "mean").at(2), pressure / 6, 0.02 * pressure / 6);
  EXPECT_EQ(Read(world, "least"), std::vector<double>{0});
  EXPECT_GT(Read(world, "most").at(0), pressure);
  EXPECT_LT(Read(world, "most").at(0), 5 * pressure);
  // the vertex field, which streams carry, has the same values
  const std::vector<double> tractions = CalcVertexField(
      world.model(), world.state(), world.report(), 1, FieldMeasure::kContactTraction, 0.01);
  const ContactField field =
      CalcContactField(world.model(), world.state(), world.report(), 1, 0.01);
  ASSERT_EQ(tractions.size(), 3 * field.vertex_traction.size());
  for (std::size_t i = 0; i < tractions.size(); ++i)
    EXPECT_EQ(tractions[i], field.vertex_traction[i / 3][static_cast<int>(i % 3)]);
}

TEST(ContactField, BoxOnASlopeIsBorneByTractionsThatSumToItsWeight) {
  for (const std::string patches : {"VERTICES", "POLYGONS"}) {
    for (const double degrees : {0.0, 20.0}) {
      World world = LoadWorld(RestingBox(patches, degrees));
      for (int step = 0; step < 100; ++step) ASSERT_TRUE(world.Step().ok());
      const ContactField field =
          CalcContactField(world.model(), world.state(), world.report(), 1, 0.01);
      const double weight = 9.81, angle = degrees * kPi / 180;
      double pressing = 0;
      const Vector3d force = SumTractions(world, field, &pressing);
      // strains of a percent tilt the bottom and its triangles
      EXPECT_NEAR(force.z(), weight, 0.01 * weight) << patches << degrees;
      EXPECT_NEAR(force.head<2>().norm(), 0, 0.01 * weight) << patches << degrees;
      EXPECT_NEAR(pressing, weight * std::cos(angle), 0.01 * weight) << patches << degrees;
      // there is no pressure on the top, although its mean pressure would be as large
      const Body& body = world.model().bodies[1];
      for (std::size_t v = 0; v < body.mesh.vertices.size(); ++v) {
        EXPECT_GE(field.vertex_pressure[v], 0);
        if (body.mesh.vertices[v].z() > 0) {
          EXPECT_EQ(field.vertex_pressure[v], 0);
        }
      }
    }
  }
}

TEST(ContactField, WrenchOfAPairIsOppositeOnItsBodiesAndOfAllTheSumOverPairs) {
  World world = LoadWorld(R"(
name: stack
time_step: 0.01
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: box
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: [0, 0, 0.05]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000}
      self_contact: true
  - name: lid
    rigid: {motion: FREE, density: 500, pose: {position: [0.01, 0, 0.11]},
            shapes: [{box: {size: [0.1, 0.1, 0.02]}}]}
)");
  for (int step = 0; step < 50; ++step) ASSERT_TRUE(world.Step().ok());
  const auto wrench = [&](int body, int other) {
    return CalcContactWrench(world.model(), world.state(), world.report(), body, other, 0.01);
  };
  const ContactWrench on_lid = wrench(2, 1), on_box = wrench(1, 2), of_ground = wrench(1, 0);
  EXPECT_GT(on_lid.contacts, 0);
  EXPECT_EQ(on_lid.force, -on_box.force);
  EXPECT_NEAR((wrench(1, -1).force - on_box.force - of_ground.force).norm(), 0, 1e-12);
  EXPECT_NEAR((wrench(1, -1).torque - on_box.torque - of_ground.torque).norm(), 0, 1e-12);
}

}  // namespace
}  // namespace pliant::physics
