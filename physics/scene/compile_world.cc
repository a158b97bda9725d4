// Gravity, time step, method, contact parameters, groups and pairs.

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"

#include "physics/scene/compiler.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "physics/stepping/integrators/integrator.h"
#include "physics/stepping/integrators/stage_rule.h"
#include "pliant/v1/scene.pb.h"
#include "solvers/convex/contact_law.h"
#include "solvers/smooth/contact_law.h"

namespace pliant::physics {
namespace {

constexpr double kMaxTimeStep = 1;     // [s]
constexpr double kLongTimeStep = 0.1;  // [s]; longer ones give a warning
constexpr double kMinTimeStep = 1e-7;  // [s]
// limits the work of a short file with groups of groups of copies
constexpr std::size_t kMaxNamed = 4'000'000;
constexpr double kWideMargin = 0.1;  // [m]; beyond, a warning

bool CheckTolerance(const std::string& path, double tolerance, SceneLog* log) {
  if (tolerance > 0 && tolerance < 1) return true;
  log->Error(path, absl::StrCat(NumberText(tolerance),
                                " is not allowed; expected a number between 0 and 1"));
  return false;
}

bool CheckCount(const std::string& path, int count, SceneLog* log) {
  constexpr int kMaxIterationCount = 1'000'000;
  if (count >= 1 && count <= kMaxIterationCount) return true;
  log->Error(path, absl::StrCat(count, " is not allowed; expected a whole number from 1 to ",
                                kMaxIterationCount));
  return false;
}

// Reads the contact law; the default is SAP's cone.
void ReadContactLaw(const v1::ConvexMethod& given, const std::string& path, SceneLog* log,
                    ConvexOptions* options) {
  const bool said = given.model() != v1::ConvexMethod::CONTACT_MODEL_UNSPECIFIED;
  if (given.custom_model().empty()) {
    constexpr int kPrefix = sizeof("CONTACT_MODEL_") - 1;
    if (said && given.model() != v1::ConvexMethod::CONTACT_MODEL_SAP)
      options->law = solvers::FindContactLaw(
          v1::ConvexMethod::ContactModel_Name(given.model()).substr(kPrefix));
    return;
  }
  if (said) {
    log->Error(path + ".custom_model", "conflicts with `model`; expected only one of the two");
    return;
  }
  options->law = solvers::FindContactLaw(given.custom_model());
  if (options->law != nullptr) return;
  std::string names;
  for (const solvers::ContactLaw* law : solvers::AllContactLaws())
    absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(law->name()));
  log->Error(path + ".custom_model",
             absl::StrCat(Quoted(given.custom_model()), " is not a contact model; expected one of ",
                          names));
}

void ReadRelinearisations(const std::string& path, int given, SceneLog* log, int* count) {
  constexpr int kMaxCount = 1000;
  if (given >= 0 && given <= kMaxCount) {
    *count = given;
    return;
  }
  log->Error(path + ".relinearisations",
             absl::StrCat(given, " is not allowed; expected a whole number from 0 to ", kMaxCount,
                          ". 0 linearises hyperelastic bodies once per step"));
}

void CompileConvex(const v1::ConvexMethod& given, SceneLog* log, ConvexOptions* options) {
  const std::string path = "method.convex";
  if (given.has_tolerance() && CheckTolerance(path + ".tolerance", given.tolerance(), log)) {
    options->tolerance = given.tolerance();
  }
  if (given.has_max_iterations() &&
      CheckCount(path + ".max_iterations", given.max_iterations(), log)) {
    options->max_iterations = given.max_iterations();
  }
  if (given.has_warm_start()) options->warm_start = given.warm_start();
  if (given.has_sigma() && CheckPositive(path + ".sigma", given.sigma(), "number", log, 1e3)) {
    options->sigma = given.sigma();
  }
  if (given.has_beta() && CheckPositive(path + ".beta", given.beta(), "number", log, 1e3)) {
    options->beta = given.beta();
  }
  ReadContactLaw(given, path, log, options);
  if (given.line_search() == v1::ConvexMethod::LINE_SEARCH_BACKTRACKING) {
    options->line_search = ConvexOptions::LineSearch::kBacktracking;
  }
  if (given.has_relinearisations())
    ReadRelinearisations(path, given.relinearisations(), log, &options->relinearisations);
  if (!given.integrator().empty()) {
    options->integrator = FindIntegrator(given.integrator());
    if (given.theta_size() > 0)
      log->Error(path + ".integrator", "conflicts with `theta`; expected only one of the two");
    if (options->integrator == nullptr) {
      std::string names;
      for (const Integrator* one : AllIntegrators())
        absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(one->name()));
      log->Error(path + ".integrator",
                 absl::StrCat(Quoted(given.integrator()), " is not an integrator; expected one of ",
                              names));
    }
  }
  if (given.theta_size() == 0) return;
  if (given.theta_size() != 2) {
    log->Error(
        path + ".theta",
        absl::StrCat(given.theta_size(), given.theta_size() == 1 ? " number is" : " numbers are",
                     " given; expected 2: theta and theta_vq. Backward Euler is [1, 1]"));
    return;
  }
  for (int i = 0; i < 2; ++i) {
    const double theta = given.theta(i);
    if (theta >= 0 && theta <= 1) continue;
    log->Error(absl::StrCat(path, ".theta[", i, "]"),
               absl::StrCat(NumberText(theta), " is not allowed; expected a number from 0 to 1"));
  }
  options->theta = given.theta(0);
  options->theta_vq = given.theta(1);
}

// Default limit on the sweeps of the scheme SINGLE.
constexpr int kDefaultSingleSweeps = 1000;

void CompileCorrective(const v1::CorrectiveMethod& given, SceneLog* log,
                       CorrectiveOptions* options) {
  const std::string path = "method.corrective";
  if (given.has_tolerance() && CheckTolerance(path + ".tolerance", given.tolerance(), log)) {
    options->tolerance = given.tolerance();
  }
  if (given.has_warm_start()) options->warm_start = given.warm_start();
  if (given.scheme() == v1::CorrectiveMethod::SCHEME_STANDARD)
    options->scheme = CorrectiveOptions::Scheme::kStandard;
  if (given.scheme() == v1::CorrectiveMethod::SCHEME_SINGLE) {
    options->scheme = CorrectiveOptions::Scheme::kSingle;
    // the scheme has one recursion only
    options->recursions = options->max_recursions = 1;
    options->sweeps = kDefaultSingleSweeps;
  }
  if (given.directions() == v1::CorrectiveMethod::DIRECTIONS_SWEEP)
    options->directions = CorrectiveOptions::Directions::kSweep;
  if (given.directions() == v1::CorrectiveMethod::DIRECTIONS_CONTACT)
    options->directions = CorrectiveOptions::Directions::kContact;
  if (options->directions != CorrectiveOptions::Directions::kRecursion &&
      options->scheme != CorrectiveOptions::Scheme::kFast) {
    log->Error(path + ".directions",
               "needs the scheme FAST: the other schemes do not update frames within a recursion. "
               "Leave one of the two out");
  }
  // max_iterations counts recursions, or sweeps for SINGLE
  const bool is_single = options->scheme == CorrectiveOptions::Scheme::kSingle;
  if (given.has_recursions() && given.has_max_iterations()) {
    log->Error(path + ".max_iterations",
               "conflicts with `recursions`, which sets the same limit; keep one");
  }
  if (given.has_sweeps() && given.has_max_iterations() && is_single) {
    log->Error(path + ".max_iterations",
               "conflicts with `sweeps`, which sets the same limit; keep one");
  }
  if (given.has_recursions() && CheckCount(path + ".recursions", given.recursions(), log)) {
    options->recursions = options->max_recursions = given.recursions();
    if (is_single && given.recursions() != 1) {
      log->Error(path + ".recursions",
                 absl::StrCat(given.recursions(), " is not allowed; SINGLE has 1. Use FAST"));
    }
  }
  if (given.has_sweeps() && CheckCount(path + ".sweeps", given.sweeps(), log))
    options->sweeps = given.sweeps();
  if (given.has_max_iterations() &&
      CheckCount(path + ".max_iterations", given.max_iterations(), log)) {
    if (is_single) {
      options->sweeps = given.max_iterations();
    } else {
      options->recursions = options->max_recursions = given.max_iterations();
    }
  }
}

void CompileNonsmooth(const v1::NonsmoothMethod& given, SceneLog* log, NonsmoothOptions* options) {
  using Method = v1::NonsmoothMethod;
  const std::string path = "method.nonsmooth";
  if (given.has_tolerance() && CheckTolerance(path + ".tolerance", given.tolerance(), log))
    options->tolerance = given.tolerance();
  if (given.has_warm_start()) options->warm_start = given.warm_start();
  if (given.has_newton_iterations() && given.has_max_iterations()) {
    log->Error(path + ".max_iterations",
               "conflicts with `newton_iterations`, which sets the same limit; keep one");
  }
  if (given.has_max_iterations() &&
      CheckCount(path + ".max_iterations", given.max_iterations(), log))
    options->newton_iterations = given.max_iterations();
  if (given.has_newton_iterations() &&
      CheckCount(path + ".newton_iterations", given.newton_iterations(), log))
    options->newton_iterations = given.newton_iterations();
  if (given.has_linear_iterations() &&
      CheckCount(path + ".linear_iterations", given.linear_iterations(), log))
    options->linear_iterations = given.linear_iterations();
  if (given.has_step_length()) {
    if (given.step_length() > 0 && given.step_length() <= 1) {
      options->step_length = given.step_length();
    } else {
      log->Error(path + ".step_length",
                 absl::StrCat(NumberText(given.step_length()),
                              " is not allowed; expected a number above 0, and at most 1"));
    }
  }
  if (given.friction() == Method::FRICTION_FIXED_POINT)
    options->friction = NonsmoothOptions::Friction::kFixedPoint;
  if (given.friction() == Method::FRICTION_CONE)
    options->friction = NonsmoothOptions::Friction::kCone;
  if (given.ncp() == Method::NCP_MINIMUM_MAP) options->ncp = NonsmoothOptions::Ncp::kMinimumMap;
  if (given.preconditioner() == Method::PRECONDITIONER_TIME_STEP)
    options->preconditioner = NonsmoothOptions::Preconditioner::kTimeStep;
  if (given.preconditioner() == Method::PRECONDITIONER_IDENTITY)
    options->preconditioner = NonsmoothOptions::Preconditioner::kIdentity;
  switch (given.linear_solver()) {
    case Method::LINEAR_SOLVER_PCG:
      options->linear_solver = NonsmoothOptions::LinearSolver::kPcg;
      break;
    case Method::LINEAR_SOLVER_JACOBI:
      options->linear_solver = NonsmoothOptions::LinearSolver::kJacobi;
      break;
    case Method::LINEAR_SOLVER_GAUSS_SEIDEL:
      options->linear_solver = NonsmoothOptions::LinearSolver::kGaussSeidel;
      break;
    case Method::LINEAR_SOLVER_DIRECT:
      options->linear_solver = NonsmoothOptions::LinearSolver::kDirect;
      break;
    default:
      break;
  }
  if (given.coordinates() == Method::COORDINATES_MAXIMAL)
    options->coordinates = NonsmoothOptions::Coordinates::kMaximal;
  if (given.normal_scaling() == Method::NORMAL_SCALING_BOTH_SIDES)
    options->normal_scaling = NonsmoothOptions::NormalScaling::kBothSides;
  if (given.has_geometric_stiffness()) options->geometric_stiffness = given.geometric_stiffness();
  if (given.has_relinearisations())
    ReadRelinearisations(path, given.relinearisations(), log, &options->relinearisations);
}

void CompileSmooth(const v1::SmoothMethod& given, SceneLog* log, SmoothOptions* options) {
  const std::string path = "method.smooth";
  if (given.has_tolerance() && CheckTolerance(path + ".tolerance", given.tolerance(), log))
    options->tolerance = given.tolerance();
  if (given.has_max_iterations() &&
      CheckCount(path + ".max_iterations", given.max_iterations(), log))
    options->max_iterations = given.max_iterations();
  constexpr int kPrefix = sizeof("SMOOTH_INTEGRATOR_") - 1;
  if (given.integrator() != v1::SMOOTH_INTEGRATOR_UNSPECIFIED)
    options->integrator =
        FindStageRule(v1::SmoothIntegrator_Name(given.integrator()).substr(kPrefix));
  if (given.linear_solver() == v1::SMOOTH_LINEAR_SOLVER_ITERATIVE)
    options->linear_solver = SmoothOptions::LinearSolver::kIterative;
  if (given.friction() == v1::SMOOTH_FRICTION_LAGGED)
    options->friction = SmoothOptions::Friction::kLagged;
  if (given.potential() == v1::SMOOTH_POTENTIAL_LOG_BARRIER)
    options->potential = SmoothOptions::Potential::kLogBarrier;
  if (given.has_passes() && CheckCount(path + ".passes", given.passes(), log)) {
    options->passes = given.passes();
    if (options->friction != SmoothOptions::Friction::kLagged)
      log->Warning(path + ".passes", "has no effect: implicit friction needs none. Use LAGGED");
  }
  const auto read = [&](const char* name, bool has, double value, const char* what, double* to) {
    if (has && CheckPositive(absl::StrCat(path, ".", name), value, what, log)) *to = value;
  };
  read("contact_distance", given.has_contact_distance(), given.contact_distance(),
       "distance in metres", &options->contact_distance);
  read("stick_speed", given.has_stick_speed(), given.stick_speed(), "speed in m/s",
       &options->stick_speed);
  read("contact_stiffness", given.has_contact_stiffness(), given.contact_stiffness(),
       "stiffness in N/m", &options->contact_stiffness);
  if (given.has_sliding_basis()) options->sliding_basis = given.sliding_basis();
  options->exact_volume_tangent = given.volume_tangent() != v1::SMOOTH_VOLUME_TANGENT_SPARSE;
  options->damped_start = given.damped_start();
  options->contact_at_end = given.contact_at_end();
  if (options->contact_at_end && given.integrator() != v1::SMOOTH_INTEGRATOR_TR) {
    log->Error(path + ".contact_at_end",
               "is for the trapezoidal rule, to compare with; use `integrator: TR`");
  }
}

// Whether the scene limits the iterations of its method, converged or not.
bool IsLimited(const v1::Method& method) {
  const v1::ConvexMethod& convex = method.convex();
  const v1::CorrectiveMethod& corrective = method.corrective();
  const v1::NonsmoothMethod& nonsmooth = method.nonsmooth();
  return convex.has_max_iterations() || convex.has_relinearisations() ||
         corrective.has_max_iterations() || corrective.has_recursions() ||
         corrective.has_sweeps() || corrective.scheme() == v1::CorrectiveMethod::SCHEME_SINGLE ||
         nonsmooth.has_max_iterations() || nonsmooth.has_newton_iterations() ||
         nonsmooth.has_linear_iterations() || nonsmooth.has_relinearisations();
}

constexpr int kMaxSubsteps = 64;

// Stribeck speed in units of the stick speed below which friction does not reach its static value.
constexpr double kMinStribeckRatio = 10;

// Largest friction coefficient at any slip speed.
double FindPeakFriction(double sliding, double at_rest, double stribeck_ratio) {
  double peak = sliding;
  for (int k = 1; k <= 1000; ++k) {
    const double x = k / 1000.0;  // of the stick speed
    const double fade = solvers::CalcStribeckFade(x / stribeck_ratio);
    peak = std::max(peak, (sliding + (at_rest - sliding) * fade) * x * solvers::CalcSlipFactor(x));
  }
  return peak;
}

}  // namespace

void SceneCompiler::CompileWorld() {
  if (!scene_.name().empty() && CheckName("name", scene_.name(), &log_))
    model_->name = scene_.name();
  ReadVector("gravity", scene_.gravity(), "acceleration in m/s²", 1e6, &log_, &model_->gravity);

  if (scene_.has_time_step() &&
      CheckPositive("time_step", scene_.time_step(), "number of seconds", &log_, kMaxTimeStep)) {
    model_->time_step = scene_.time_step();
    if (scene_.time_step() < kMinTimeStep) {
      log_.Error("time_step",
                 absl::StrCat(NumberText(scene_.time_step()), " is not allowed; expected at least ",
                              NumberText(kMinTimeStep), " seconds. Is the unit right?"));
    } else if (scene_.time_step() > kLongTimeStep) {
      log_.Warning("time_step", absl::StrCat(NumberText(scene_.time_step()),
                                             " s is long: contact will be coarse. ",
                                             "Most scenes use 0.001 to 0.02"));
    }
  }
  CompileMethod(scene_.method());
  CompileSubsteps();
  CompileContact();
  // detect contacts where they begin to exert force
  if (model_->method.kind == MethodKind::kSmooth)
    model_->contact.margin =
        std::max(model_->contact.margin, model_->method.smooth.contact_distance);
  CompileGrid();
}

void SceneCompiler::CompileSubsteps() {
  if (IsLimited(scene_.method())) model_->max_substeps = 1;
  if (!scene_.has_max_substeps()) return;
  const int given = scene_.max_substeps();
  if (given >= 1 && given <= kMaxSubsteps && std::has_single_bit(static_cast<unsigned>(given))) {
    model_->max_substeps = given;
    return;
  }
  log_.Error("max_substeps",
             absl::StrCat(given, " is not allowed; expected a power of two from 1 to ",
                          kMaxSubsteps, ", as steps are halved"));
}

void SceneCompiler::CompileMethod(const v1::Method& method) {
  switch (method.kind_case()) {
    case v1::Method::KIND_NOT_SET:
      break;
    case v1::Method::kConvex:
      CompileConvex(method.convex(), &log_, &model_->method.convex);
      break;
    case v1::Method::kCorrective:
      model_->method.kind = MethodKind::kCorrective;
      CompileCorrective(method.corrective(), &log_, &model_->method.corrective);
      break;
    case v1::Method::kNonsmooth:
      model_->method.kind = MethodKind::kNonsmooth;
      CompileNonsmooth(method.nonsmooth(), &log_, &model_->method.nonsmooth);
      break;
    case v1::Method::kSmooth:
      model_->method.kind = MethodKind::kSmooth;
      CompileSmooth(method.smooth(), &log_, &model_->method.smooth);
      break;
  }
}

void SceneCompiler::CompileContact() {
  const v1::ContactDefaults& given = scene_.contact();
  ContactParameters& contact = model_->contact;
  if (given.has_friction() &&
      CheckNotNegative("contact.friction", given.friction(), "number", &log_, kMaxFriction)) {
    contact.friction = given.friction();
  }
  if (given.has_stiffness() &&
      CheckPositive("contact.stiffness", given.stiffness(), "stiffness in N/m", &log_)) {
    contact.stiffness = given.stiffness();
  }
  if (given.has_relaxation_time() &&
      CheckNotNegative("contact.relaxation_time", given.relaxation_time(), "number of seconds",
                       &log_, 1e3)) {
    contact.relaxation_time = given.relaxation_time();
  }
  if (given.has_margin() &&
      CheckNotNegative("contact.margin", given.margin(), "distance in metres", &log_, kMaxLength)) {
    contact.margin = given.margin();
    if (given.margin() > kWideMargin) {
      log_.Warning("contact.margin",
                   absl::StrCat(NumberText(given.margin()),
                                " m is wide: every body within it counts as a contact"));
    }
  }
  if (given.has_recovery_speed() &&
      CheckNotNegative("contact.recovery_speed", given.recovery_speed(), "speed in m/s", &log_,
                       1e3)) {
    contact.recovery_speed = given.recovery_speed();
  }
  if (given.has_restitution() &&
      CheckNotNegative("contact.restitution", given.restitution(), "number", &log_, 1)) {
    contact.restitution = given.restitution();
  }
  if (given.has_restitution_threshold() &&
      CheckNotNegative("contact.restitution_threshold", given.restitution_threshold(),
                       "speed in m/s", &log_, 1e3)) {
    contact.restitution_threshold = given.restitution_threshold();
  }
  const MethodOptions& method = model_->method;
  const bool is_smooth = method.kind == MethodKind::kConvex && method.convex.law != nullptr;
  if (is_smooth && given.anchored()) {
    log_.Error("contact.anchored",
               "applies to contacts of the SAP model only; leave it out with other models");
  }
  contact.anchored = given.has_anchored() ? given.anchored() : !is_smooth;
  if (given.patches() == v1::ContactDefaults::PATCHES_POLYGONS)
    contact.patches = ContactParameters::Patches::kPolygons;
  if (given.patches() == v1::ContactDefaults::PATCHES_SMOOTH)
    contact.patches = ContactParameters::Patches::kSmooth;
  if (given.has_patch_divisions()) {
    const int divisions = given.patch_divisions();
    if (divisions < 1 || divisions > ContactParameters::kMaxPatchDivisions) {
      log_.Error("contact.patch_divisions", absl::StrCat("is ", divisions, "; give 1 to ",
                                                         ContactParameters::kMaxPatchDivisions));
    } else if (contact.patches != ContactParameters::Patches::kPolygons) {
      log_.Error("contact.patch_divisions",
                 "applies to polygons only; also give `patches: POLYGONS`");
    } else {
      contact.patch_divisions = divisions;
    }
  }
  // without anchors, bodies creep and never come to rest
  model_->sleeping = scene_.has_sleeping() ? scene_.sleeping() : contact.anchored;
}

void SceneCompiler::CompileGroups() {
  std::size_t named = 0;
  for (int i = 0; i < scene_.groups_size(); ++i) {
    const v1::Group& group = scene_.groups(i);
    const std::string path = absl::StrCat("groups[", i, "]");
    if (!CheckName(path + ".name", group.name(), &log_)) continue;
    if (group.members().empty()) {
      Missing(path + ".members", "a list of names of bodies", &log_);
      continue;
    }
    std::vector<int> members;
    for (int k = 0; k < group.members_size(); ++k) {
      const std::vector<int> found =
          ResolveBodies(group.members(k), absl::StrCat(path, ".members[", k, "]"));
      members.insert(members.end(), found.begin(), found.end());
      named += found.size();
    }
    if (named > kMaxNamed) {
      log_.Error(path + ".members", absl::StrCat("brings the members of groups to ", named,
                                                 "; expected at most ", kMaxNamed));
      return;
    }
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    if (body_index_.contains(group.name()) || copies_.contains(group.name())) {
      log_.Error(path + ".name", absl::StrCat(Quoted(group.name()),
                                              " is also the name of a body; expected another"));
    } else if (!groups_.try_emplace(group.name(), std::move(members)).second) {
      log_.Error(path + ".name",
                 absl::StrCat(Quoted(group.name()),
                              " is also the name of an earlier group; expected a unique name"));
    }
  }
}

// Checks static and viscous friction of a pair.
bool SceneCompiler::CheckFrictionCurve(const v1::Pair& given, const std::string& path) {
  bool ok = true;
  if (given.has_viscous_friction())
    ok &= CheckNotNegative(path + ".viscous_friction", given.viscous_friction(),
                           "coefficient in N s/m", &log_);
  const double sliding = given.has_friction() ? given.friction() : model_->contact.friction;
  if (given.has_static_friction()) {
    ok &= CheckNotNegative(path + ".static_friction", given.static_friction(), "number", &log_,
                           kMaxFriction);
    if (ok && given.static_friction() < sliding) {
      log_.Error(path + ".static_friction",
                 absl::StrCat(NumberText(given.static_friction()), " is below the friction of ",
                              NumberText(sliding), " in sliding; expected at least that much"));
      ok = false;
    }
    if (!given.has_stribeck_speed()) {
      Missing(path + ".stribeck_speed",
              "the speed in m/s at which friction has fallen to `friction`", &log_);
      ok = false;
    }
  }
  if (given.has_stribeck_speed()) {
    ok &= CheckPositive(path + ".stribeck_speed", given.stribeck_speed(), "speed in m/s", &log_);
    if (!given.has_static_friction())
      log_.Warning(path + ".stribeck_speed", "has no effect without `static_friction`");
  }
  if (!ok || (!given.has_static_friction() && !given.has_viscous_friction())) return ok;
  if (model_->method.kind != MethodKind::kSmooth) {
    log_.Warning(path, absl::StrCat("the ", MethodName(model_->method.kind),
                                    " method takes `friction` alone; static and viscous friction "
                                    "need the smooth method"));
    return ok;
  }
  const double ratio = given.stribeck_speed() / model_->method.smooth.stick_speed;
  if (given.has_static_friction() && ratio < kMinStribeckRatio) {
    log_.Warning(
        path + ".stribeck_speed",
        absl::StrCat("is less than 10 times method.smooth.stick_speed, so friction at rest "
                     "reaches ",
                     NumberText(FindPeakFriction(sliding, given.static_friction(), ratio)),
                     " instead of ", NumberText(given.static_friction()),
                     ". Use a smaller stick_speed"));
  }
  return ok;
}

void SceneCompiler::CompilePairs() {
  std::map<std::pair<int, int>, ContactParameters::Pair> pairs;
  std::size_t named = 0;
  // friction and filters from robot files come first; the scene's pairs override them
  for (const auto& [bodies, friction] : robot_frictions_)
    pairs[bodies] = {.body_a = bodies.first, .body_b = bodies.second, .friction = friction};
  for (const auto& [a, b] : robot_filters_) {
    pairs.try_emplace({a, b}, ContactParameters::Pair{a, b}).first->second.enabled = false;
  }
  for (int i = 0; i < scene_.pairs_size(); ++i) {
    const v1::Pair& given = scene_.pairs(i);
    const std::string path = absl::StrCat("pairs[", i, "]");
    bool ok = true;
    if (given.has_friction()) {
      ok &= CheckNotNegative(path + ".friction", given.friction(), "number", &log_, kMaxFriction);
    }
    if (given.has_stiffness()) {
      ok &= CheckPositive(path + ".stiffness", given.stiffness(), "stiffness in N/m", &log_);
    }
    if (given.has_restitution()) {
      ok &= CheckNotNegative(path + ".restitution", given.restitution(), "number", &log_, 1);
    }
    ok &= CheckFrictionCurve(given, path);
    if (given.bodies_size() == 0) {
      Missing(path + ".bodies", "two names of bodies or groups", &log_);
      continue;
    }
    if (given.bodies_size() != 2) {
      log_.Error(
          path + ".bodies",
          absl::StrCat(given.bodies_size(), given.bodies_size() == 1 ? " name is" : " names are",
                       " given; expected 2: of bodies or groups"));
      continue;
    }
    const std::vector<int> as = ResolveBodies(given.bodies(0), path + ".bodies[0]");
    const std::vector<int> bs = ResolveBodies(given.bodies(1), path + ".bodies[1]");
    if (as.empty() || bs.empty() || !ok) continue;
    if (as.size() == 1 && as == bs) {
      log_.Error(path + ".bodies", absl::StrCat(Quoted(given.bodies(0)),
                                                " is named twice; expected two different bodies"));
      continue;
    }
    if (!given.has_friction() && !given.has_stiffness() && !given.has_restitution() &&
        !given.has_enabled() && !given.has_static_friction() && !given.has_viscous_friction()) {
      log_.Warning(path,
                   "sets nothing for the pair; give friction, stiffness, restitution or enabled");
    }
    named += as.size() * bs.size();
    if (named > kMaxNamed) {
      log_.Error(path + ".bodies",
                 absl::StrCat("brings the pairs to ", named, "; expected at most ", kMaxNamed));
      return;
    }
    for (const int a : as) {
      for (const int b : bs) {
        if (a == b) continue;
        // later entries override earlier ones
        ContactParameters::Pair& pair =
            pairs
                .try_emplace(std::minmax(a, b),
                             ContactParameters::Pair{std::min(a, b), std::max(a, b)})
                .first->second;
        if (given.has_friction()) pair.friction = given.friction();
        if (given.has_stiffness()) pair.stiffness = given.stiffness();
        if (given.has_restitution()) pair.restitution = given.restitution();
        if (given.has_enabled()) {
          pair.enabled = given.enabled();
          if (pair.enabled) enabled_pairs_.insert(std::minmax(a, b));
        }
        if (given.has_static_friction()) pair.static_friction = given.static_friction();
        if (given.has_stribeck_speed()) pair.stribeck_speed = given.stribeck_speed();
        if (given.has_viscous_friction()) pair.viscous_friction = given.viscous_friction();
      }
    }
  }
  for (const auto& [bodies, pair] : pairs) model_->contact.pairs.push_back(pair);
}

}  // namespace pliant::physics
