#include "physics/stepping/integrators/stage_rule.h"

namespace pliant::physics {
namespace {

constexpr double kRoot2 = 1.4142135623730951;

std::vector<StageRule> MakeRules() {
  std::vector<StageRule> rules;
  rules.push_back({"BE", {{.length = 1}}});
  rules.push_back({"TR", {{.length = 0.5, .start = 0.5}}});
  rules.push_back({"BDF2", {{.length = 2.0 / 3, .past = 1.0 / 3}}});
  {
    // the trapezoidal rule over γ h, then BDF2 over the rest; γ makes both stages of equal length
    const double gamma = 2 - kRoot2, weight = 0.25 * kRoot2;
    rules.push_back({"TR_BDF2",
                     {{.length = 0.5 * gamma, .time = gamma, .start = 0.5 * gamma},
                      {.length = 0.5 * gamma, .time = 1, .start = weight, .before = {weight}}}});
  }
  {
    const double gamma = 1 - 0.5 * kRoot2;
    rules.push_back(
        {"SDIRK2",
         {{.length = gamma, .time = gamma}, {.length = gamma, .time = 1, .before = {1 - gamma}}}});
  }
  return rules;
}

}  // namespace

const std::vector<StageRule>& AllStageRules() {
  static const std::vector<StageRule> rules = MakeRules();
  return rules;
}

const StageRule* FindStageRule(std::string_view name) {
  for (const StageRule& rule : AllStageRules())
    if (rule.name == name) return &rule;
  return nullptr;
}

const StageRule* TwoHalvesOfEuler() {
  static const StageRule rule{
      "", {{.length = 0.5, .time = 0.5}, {.length = 0.5, .time = 1, .before = {0.5}}}};
  return &rule;
}

}  // namespace pliant::physics
