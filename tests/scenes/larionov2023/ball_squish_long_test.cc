// A hollow ball between plates on finer and finer meshes (larionov2023 Table II).

#include "tests/scenes/larionov2023/squished_ball.h"

namespace pliant::physics {
namespace {

constexpr double kEdges[] = {0.0275, 0.01, 0.0068};  // of 1 K, 18 K and 54 K tetrahedra [m]
const std::vector<std::string> kIterative = {"method.smooth.linear_solver=ITERATIVE"};

TEST(BallSquishLong, LosesTheVolumeOfTheAxisymmetricSolution) {
  double loss[3];
  for (int k = 0; k < 3; ++k) {
    World world = LoadSquish(kAirLike, kEdges[k], 0.02, kIterative);
    loss[k] = CalcLoss(&world);
  }
  EXPECT_LT(std::abs(loss[2] - loss[1]), 0.01) << loss[1] << ", " << loss[2];
  EXPECT_GT(loss[0], loss[1]);  // coarse walls bend too stiffly to bulge
  EXPECT_NEAR(loss[2], 0.236, 0.01);
}

TEST(BallSquishLong, WaterAndGasLoseTheVolumeOfTheAxisymmetricSolution) {
  World water = LoadSquish(kWaterLike, kEdges[1], 0.02, kIterative);
  EXPECT_NEAR(CalcLoss(&water), 0.00275, 0.00015);
  World gas = LoadSquish(kGas, kEdges[1], 0.02, kIterative);
  EXPECT_NEAR(CalcLoss(&gas), 0.196, 0.01);
}

TEST(BallSquishLong, EmptyBallLosesTheVolumeOfTheAxisymmetricSolution) {
  World world = LoadSquish(kEmpty, kEdges[2], 0.02, kIterative);
  EXPECT_NEAR(CalcLoss(&world), 0.757, 0.02);
}

}  // namespace
}  // namespace pliant::physics
