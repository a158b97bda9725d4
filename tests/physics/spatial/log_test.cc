#include "physics/spatial/log.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace pliant::physics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Positive numbers of all sizes, and many near 1.
std::vector<double> MakeNumbers() {
  std::vector<double> numbers = {1,
                                 1 + 1e-15,
                                 1 - 1e-15,
                                 0.70710678118654752,
                                 1e-310,
                                 4.9406564584124654e-324,
                                 1.7976931348623157e308};
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-1000, 1000), near(-1, 1);
  for (int i = 0; i < 20000; ++i) {
    numbers.push_back(std::exp2(exponent(random)));
    numbers.push_back(1 + 0.4 * near(random));
    numbers.push_back(1 + 1e-6 * near(random));
  }
  return numbers;
}

TEST(Log, IsWithinTwoUnitsInTheLastPlaceOfTheExactOne) {
  for (const double x : MakeNumbers()) {
    const long double exact = std::log(static_cast<long double>(x));
    const double unit = std::nextafter(std::abs(static_cast<double>(exact)), kInfinity) -
                        std::abs(static_cast<double>(exact));
    EXPECT_LE(std::abs(static_cast<double>(CalcLog(x) - exact)), 2 * unit) << x;
  }
  EXPECT_EQ(CalcLog(1), 0);
}

TEST(Log, HasTheSameBitsOneByOneAndInLanes) {
  std::vector<double> numbers = MakeNumbers();
  numbers.insert(numbers.begin() + 6, {0.0, -1.0, kInfinity});
  std::vector<double> results(numbers.size());
  CalcLog(numbers, results);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(results[i]),
              std::bit_cast<std::uint64_t>(CalcLog(numbers[i])))
        << numbers[i];
  }
}

TEST(Log, IsInfiniteAtZeroAndNotANumberBelow) {
  EXPECT_EQ(CalcLog(0), -kInfinity);
  EXPECT_EQ(CalcLog(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(CalcLog(-1)));
  EXPECT_TRUE(std::isnan(CalcLog(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace pliant::physics
