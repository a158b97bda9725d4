#include "server/run/recording/contact_problem_files.h"

#include <cmath>
#include <filesystem>

#include "absl/strings/str_format.h"
#include <nlohmann/json.hpp>

#include "server/files/files.h"

namespace pliant::server {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity, which is written as null.
Json FiniteOrNull(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

std::string MatrixHeader(const char* symmetry, std::size_t rows, std::size_t columns,
                         std::size_t elements) {
  return absl::StrFormat("%%%%MatrixMarket matrix coordinate real %s\n%d %d %d\n", symmetry, rows,
                         columns, elements);
}

std::string FormatA(const physics::ContactProblem& problem) {
  std::string elements;
  std::size_t count = 0;
  for (const auto& block : problem.blocks) {
    for (int j = 0; j < block.size; ++j) {
      // lower triangle only
      for (int i = j; i < block.size; ++i) {
        const double value = block.A[static_cast<std::size_t>(j) * block.size + i];
        if (value == 0) continue;
        absl::StrAppendFormat(&elements, "%d %d %.17g\n", block.first + i + 1, block.first + j + 1,
                              value);
        ++count;
      }
    }
  }
  return MatrixHeader("symmetric", problem.v_star.size(), problem.v_star.size(), count) + elements;
}

std::string FormatJ(const physics::ContactProblem& problem) {
  std::string text = MatrixHeader("general", 3 * problem.contacts.size() + problem.rows.size(),
                                  problem.v_star.size(), problem.J.size());
  for (const auto& element : problem.J) {
    absl::StrAppendFormat(&text, "%d %d %.17g\n", element.row + 1, element.column + 1,
                          element.value);
  }
  return text;
}

}  // namespace

absl::Status WriteContactProblem(const physics::ContactProblem& problem, const std::string& path) {
  const std::filesystem::path file(path);
  const std::string stem = (file.parent_path() / file.stem()).string();
  const std::string a = stem + "_A.mtx", j = stem + "_J.mtx";
  Json json;
  json["about"] =
      "A (v - v_star) = J' impulse; v_c = J v + bias; contacts: rows t1, t2, n each, n from A into "
      "B; then one row per constraint. SI units";
  json["A"] = std::filesystem::path(a).filename().string();
  json["J"] = std::filesystem::path(j).filename().string();
  json["time_step"] = problem.h;
  json["v_star"] = problem.v_star;
  json["v"] = problem.v;
  json["contacts"] = Json::array();
  for (const auto& contact : problem.contacts) {
    json["contacts"].push_back(
        {{"bodies", {contact.body_a, contact.body_b}},
         {"gap", contact.gap},
         {"friction", contact.friction},
         {"stiffness", FiniteOrNull(contact.stiffness)},
         {"relaxation_time", contact.relaxation_time},
         {"bias", {contact.bias.x(), contact.bias.y(), contact.bias.z()}},
         {"impulse", {contact.impulse.x(), contact.impulse.y(), contact.impulse.z()}}});
  }
  json["constraints"] = Json::array();
  for (const auto& row : problem.rows) {
    json["constraints"].push_back({{"error", row.error},
                                   {"stiffness", FiniteOrNull(row.stiffness)},
                                   {"damping", row.damping},
                                   {"target_rate", row.target_rate},
                                   {"feedforward", row.feedforward},
                                   {"lower", FiniteOrNull(row.lower)},
                                   {"upper", FiniteOrNull(row.upper)},
                                   {"dry_friction", row.dry_friction},
                                   {"bias", row.bias},
                                   {"impulse", row.impulse}});
  }
  absl::Status status = WriteWholeFile(a, FormatA(problem));
  status.Update(WriteWholeFile(j, FormatJ(problem)));
  status.Update(WriteWholeFile(path, json.dump(1) + "\n"));
  return status;
}

}  // namespace pliant::server
