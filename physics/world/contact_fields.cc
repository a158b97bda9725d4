#include "physics/world/contact_fields.h"

#include <algorithm>
#include <cmath>

#include "physics/geometry/triangle_bvh.h"

namespace pliant::physics {

using Eigen::Vector3d;

ContactField CalcContactField(const Model& model, const State& state, const StepReport& report,
                              int body, double h) {
  const Body& given = model.bodies[body];
  const IndexRange nodes_of_body = model.abilities_of(given).nodes->nodes_of(given.part);
  const std::size_t num_nodes = nodes_of_body.count;
  const auto& triangles = given.surface.triangles;
  ContactField field;
  field.vertex_traction.assign(num_nodes, Vector3d::Zero());
  field.vertex_pressure.assign(num_nodes, 0.0);
  field.triangle_traction.assign(triangles.size(), Vector3d::Zero());
  field.triangle_pressure.assign(triangles.size(), 0.0);

  // forces on nodes, and their components along the contact normals
  std::vector<Vector3d> pressing(num_nodes, Vector3d::Zero());
  const auto spread = [&](const NodeWeights& nodes, const Vector3d& force, const Vector3d& inward) {
    const double normal = std::max(0.0, force.dot(inward));
    for (int k = 0; k < nodes.size(); ++k) {
      const int node = nodes.node(k) - nodes_of_body.first;
      field.vertex_traction[node] += nodes.weight(k) * force;
      pressing[node] += nodes.weight(k) * normal * inward;
    }
  };
  for (const ContactForce& contact : report.contacts) {
    const Vector3d force = contact.impulse_W / h;
    if (contact.body_a == body) spread(contact.nodes_a, -force, -contact.normal_W);
    if (contact.body_b == body) spread(contact.nodes_b, force, contact.normal_W);
  }

  // nodal areas: a third of each triangle's area, projected along the force
  const VertexPositions x = model.Positions(state, given.block)
                                .subspan(3 * static_cast<std::size_t>(nodes_of_body.first));
  std::vector<double> areas(num_nodes, 0.0);
  for (const auto& t : triangles) {
    const Vector3d a = VertexAt(x, t[0]);
    const Vector3d area = 0.5 * (VertexAt(x, t[1]) - a).cross(VertexAt(x, t[2]) - a);
    for (int v : t) {
      const double size = std::sqrt(pressing[v].squaredNorm());
      if (size > 0) areas[v] += std::max(0.0, -area.dot(pressing[v]) / size) / 3;
    }
  }
  for (std::size_t v = 0; v < num_nodes; ++v) {
    const double size = std::sqrt(pressing[v].squaredNorm());
    if (areas[v] > 0) {
      field.vertex_traction[v] /= areas[v];
      field.vertex_pressure[v] = size / areas[v];
    } else {
      // no area: a vertex that nothing presses, or whose triangles have no area
      field.vertex_traction[v].setZero();
    }
  }
  for (std::size_t i = 0; i < triangles.size(); ++i) {
    const auto& t = triangles[i];
    const Vector3d a = VertexAt(x, t[0]);
    const Vector3d area = (VertexAt(x, t[1]) - a).cross(VertexAt(x, t[2]) - a);
    for (int v : t) {
      // a wall that only ends at a pressed edge is not pressed itself
      const double facing = -area.dot(pressing[v]);
      if (!(facing * facing > 0.01 * area.squaredNorm() * pressing[v].squaredNorm()) || facing < 0)
        continue;
      field.triangle_traction[i] += field.vertex_traction[v] / 3;
      field.triangle_pressure[i] += field.vertex_pressure[v] / 3;
    }
  }
  return field;
}

}  // namespace pliant::physics
