#include "server/uploads/descriptions.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "server/stream/messages.h"
#include "server/uploads/sha256.h"
#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

std::shared_ptr<const physics::Model> LoadFineBall(double edge) {
  return LoadTestModel(absl::StrCat(
      "bodies:\n  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}\n",
      "  - {name: ball, deformable: {mesh: {sphere: {radius: 0.1}, edge_length: ", edge,
      "}, material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4, ",
      "density: 1000}}}\n"));
}

std::shared_ptr<const physics::Model> LoadManyBodies(int count) {
  const std::string name = "body_with_a_rather_long_name_so_that_descriptions_grow";
  std::string poses;
  for (int i = 0; i < count; ++i)
    absl::StrAppend(&poses, i > 0 ? ", " : "", "{position: [", i, ", 0, 0]}");
  return LoadTestModel(absl::StrCat(
      "bodies: [{name: ", name,
      ", template: true, rigid: {motion: ", "FIXED, shapes: [{sphere: {radius: 0.1}}]}}]\n",
      "instances: [{of: ", name, ", count: ", count, ", poses: [", poses, "]}]\n"));
}

v1::WorldDescription DescribeWhole(Descriptions& descriptions,
                                   const std::shared_ptr<const physics::Model>& model,
                                   bool as_objects, int* pages) {
  v1::WorldDescription whole;
  v1::DescribeWorldRequest request;
  request.set_bodies_as_objects(as_objects);
  *pages = 0;
  do {
    const auto page = descriptions.Describe(request, "w", model);
    EXPECT_TRUE(page.ok()) << page.status();
    if (!page.ok()) break;
    EXPECT_LE(page->ByteSizeLong(), Descriptions::kMaxPage);
    request.set_page_token(page->next_page_token());
    whole.MergeFrom(*page);
    ++*pages;
  } while (!request.page_token().empty());
  return whole;
}

TEST(Descriptions, SmallWorldsAreOnePageWithoutObjects) {
  Descriptions descriptions;
  const auto model = LoadTestModel();
  int pages = 0;
  const v1::WorldDescription whole = DescribeWhole(descriptions, model, true, &pages);
  EXPECT_EQ(pages, 1);
  EXPECT_EQ(whole.SerializeAsString(), DescribeModel("w", *model).SerializeAsString());
}

TEST(Descriptions, LargeBodiesAreObjectsThatComeInChunks) {
  Descriptions descriptions;
  const auto model = LoadFineBall(0.01);
  int pages = 0;
  const v1::WorldDescription whole = DescribeWhole(descriptions, model, true, &pages);
  ASSERT_EQ(whole.deformables_size(), 1);
  const v1::DeformableDescription& ball = whole.deformables(0);
  EXPECT_EQ(ball.name(), "ball");
  EXPECT_FALSE(ball.has_surface());
  EXPECT_FALSE(whole.rigid_bodies(0).has_object());

  std::string bytes;
  v1::FetchObjectRequest request;
  request.set_sha256(ball.object().sha256());
  while (static_cast<std::int64_t>(bytes.size()) < ball.object().size()) {
    request.set_offset(static_cast<std::int64_t>(bytes.size()));
    const auto chunk = descriptions.Fetch(request);
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    ASSERT_FALSE(chunk->data().empty());
    bytes += chunk->data();
  }
  EXPECT_EQ(CalcSha256(bytes), ball.object().sha256());
  v1::DeformableDescription fetched;
  ASSERT_TRUE(fetched.ParseFromString(bytes));
  fetched.set_name("ball");
  EXPECT_EQ(fetched.SerializeAsString(),
            DescribeModel("w", *model).deformables(0).SerializeAsString());
}

TEST(Descriptions, ManyBodiesComeInPages) {
  Descriptions descriptions;
  const auto model = LoadManyBodies(25'000);
  ASSERT_NE(model, nullptr);
  int pages = 0;
  const v1::WorldDescription whole = DescribeWhole(descriptions, model, false, &pages);
  EXPECT_GE(pages, 2);
  EXPECT_EQ(whole.rigid_bodies_size(), 25'000);
  EXPECT_EQ(whole.rigid_bodies(24'999).name(), model->bodies[24'999].name);
}

TEST(Descriptions, RefuseUnknownPagesObjectsAndOffsets) {
  Descriptions descriptions;
  v1::DescribeWorldRequest request;
  request.set_page_token("7");
  EXPECT_TRUE(
      absl::IsInvalidArgument(descriptions.Describe(request, "w", LoadTestModel()).status()));
  v1::FetchObjectRequest fetch;
  fetch.set_sha256("none");
  EXPECT_TRUE(absl::IsNotFound(descriptions.Fetch(fetch).status()));
}

TEST(Descriptions, ObjectsGoWithTheirModel) {
  Descriptions descriptions;
  auto model = LoadFineBall(0.01);
  int pages = 0;
  v1::FetchObjectRequest request;
  request.set_sha256(
      DescribeWhole(descriptions, model, true, &pages).deformables(0).object().sha256());
  EXPECT_TRUE(descriptions.Fetch(request).ok());
  request.set_offset(-1);
  EXPECT_TRUE(absl::IsOutOfRange(descriptions.Fetch(request).status()));
  request.set_offset(0);
  model.reset();
  DescribeWhole(descriptions, LoadTestModel(), true, &pages);
  EXPECT_TRUE(absl::IsNotFound(descriptions.Fetch(request).status()));
}

}  // namespace
}  // namespace pliant::server
