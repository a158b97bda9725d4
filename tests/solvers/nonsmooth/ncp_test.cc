#include "solvers/nonsmooth/ncp.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace pliant::solvers {
namespace {

class Ncp : public testing::TestWithParam<NcpFunction> {};

TEST_P(Ncp, ItsRootsAreComplementary) {
  for (const double r : {1e-6, 0.3, 40.0}) {
    for (const double x : {0.0, 1e-9, 0.2, 1e6}) {
      EXPECT_NEAR(CalcNcp(GetParam(), x, r, 0).phi, 0, 1e-12 * (1 + x));
      EXPECT_NEAR(CalcNcp(GetParam(), 0, r, x).phi, 0, 1e-12 * (1 + r * x));
    }
    EXPECT_GT(CalcNcp(GetParam(), 0.1, r, 0.1 / r).phi, 0.01);
    EXPECT_LT(CalcNcp(GetParam(), -0.1, r, 0).phi, -0.01);
    EXPECT_LT(CalcNcp(GetParam(), 0.1, r, -0.1 / r).phi, -0.01);
  }
}

TEST_P(Ncp, ItsDerivativeIsThatOfDifferences) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int i = 0; i < 1000; ++i) {
    const double r = std::exp(3 * uniform(random)), C = uniform(random),
                 lambda = uniform(random) / r;
    if (std::abs(C - r * lambda) < 1e-3) continue;  // skip the kink of the minimum map
    const double d = 1e-6;
    const NcpValue f = CalcNcp(GetParam(), C, r, lambda);
    const double by_C =
        (CalcNcp(GetParam(), C + d, r, lambda).phi - CalcNcp(GetParam(), C - d, r, lambda).phi) /
        (2 * d);
    const double by_lambda = (CalcNcp(GetParam(), C, r, lambda + d / r).phi -
                              CalcNcp(GetParam(), C, r, lambda - d / r).phi) /
                             (2 * d / r);
    EXPECT_NEAR(f.alpha, by_C, 1e-6 * (1 + 1 / std::hypot(C, r * lambda)));
    EXPECT_NEAR(f.S, by_lambda, 1e-6 * r * (1 + 1 / std::hypot(C, r * lambda)));
  }
}

// The generalised derivative of the Fischer–Burmeister function at (0, 0) is the disc (α − 1)² +
// (S/r − 1)² ≤ 1; that of the minimum map is the segment between (1, 0) and (0, r).
TEST_P(Ncp, ItsDerivativeAtTheKinkIsAGeneralisedOne) {
  const double r = 0.3;
  const NcpValue f = CalcNcp(GetParam(), 0, r, 0);
  EXPECT_EQ(f.phi, 0);
  if (GetParam() == NcpFunction::kFischerBurmeister) {
    EXPECT_LE((f.alpha - 1) * (f.alpha - 1) + (f.S / r - 1) * (f.S / r - 1), 1 + 1e-15);
  } else {
    EXPECT_NEAR(f.alpha + f.S / r, 1, 1e-15);
  }
  for (const double C : {-0.2, 0.0, 0.4}) {  // along the kink of the minimum map
    const NcpValue g = CalcNcp(NcpFunction::kMinimumMap, C, r, C / r);
    EXPECT_NEAR(g.alpha + g.S / r, 1, 1e-15);
    EXPECT_GE(g.alpha, 0);
    EXPECT_GE(g.S, 0);
  }
}

TEST_P(Ncp, NothingIsLostBesideALargePartner) {
  // φ(a, b) → min(a, b) where one is far larger
  EXPECT_NEAR(CalcNcp(GetParam(), 1e-12, 1, 1e6).phi, 1e-12, 1e-17);
  EXPECT_NEAR(CalcNcp(GetParam(), 1e6, 1, 1e-12).phi, 1e-12, 1e-17);
}

// v + W λ = 0 with v opposite to λ holds exactly where ψ(v, r (limit − λ)) = 0.
TEST_P(Ncp, FrictionComplianceIsAFixedPointOfTheConeAlone) {
  const double r = 0.02, limit = 3;
  const auto W = [&](double slip, double force) {
    return CalcFrictionCompliance(GetParam(), slip, force, limit, r);
  };
  EXPECT_NEAR(W(0.5, limit), 0.5 / limit, 1e-14);                        // slips
  for (const double force : {0.0, 1.0, 2.9}) EXPECT_EQ(W(0, force), 0);  // sticks
  EXPECT_LT(W(0.5, 2), 0.5 / 2);     // force grows while there is room
  EXPECT_GT(W(0, 1.01 * limit), 0);  // beyond the cone nothing sticks
  EXPECT_GT(W(0, 10 * limit), 0);
  for (const double slip : {1e-9, 1e-3, 1.0, 1e3}) {
    for (const double force : {0.0, 1e-9, 1.0, 3.0, 1e3}) EXPECT_GE(W(slip, force), 0);
  }
}

TEST_P(Ncp, FrictionComplianceIsLooseWithoutALimit) {
  const double r = 0.02;
  for (const double limit : {0.0, -1.0})
    EXPECT_EQ(CalcFrictionCompliance(GetParam(), 0.1, 0, limit, r), r * kUnloadedCompliance);
  EXPECT_LE(CalcFrictionCompliance(GetParam(), 1e9, 0, 1e-30, r), r * kUnloadedCompliance);
}

INSTANTIATE_TEST_SUITE_P(Functions, Ncp,
                         testing::Values(NcpFunction::kFischerBurmeister, NcpFunction::kMinimumMap),
                         [](const auto& info) {
                           return info.param == NcpFunction::kMinimumMap ? "MinimumMap"
                                                                         : "FischerBurmeister";
                         });

}  // namespace
}  // namespace pliant::solvers
