#include "server/uploads/descriptions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
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

TEST(Descriptions, ImagesAreObjectsThatAreSentOnce) {
  const auto image = std::make_shared<physics::Image>();
  image->bytes.assign(3 << 19, 'x');  // two chunks
  image->media_type = "image/png";
  image->width = 5;
  auto appearance = std::make_shared<physics::Appearance>();
  appearance->image = image;
  appearance->texture_coordinates = {{0, 0.5f}};
  auto model = std::make_shared<physics::Model>(*LoadTestModel());
  for (const int body : {0, 2}) {
    physics::VisualShape& visual = model->bodies[body].visuals.emplace_back();
    visual.shape.geometry = physics::Sphere{1};
    visual.appearance = appearance;
  }
  Descriptions descriptions;
  int pages = 0;
  const v1::WorldDescription whole = DescribeWhole(descriptions, model, true, &pages);
  for (const int body : {0, 2}) {
    const v1::Appearance& shown = whole.rigid_bodies(body).visuals(0).appearance();
    EXPECT_EQ(shown.image().object().sha256(), CalcSha256(image->bytes));
    EXPECT_EQ(shown.image().media_type(), "image/png");
    EXPECT_EQ(shown.image().width(), 5u);
    ASSERT_EQ(shown.texture_coordinates_size(), 2);
    EXPECT_EQ(shown.texture_coordinates(1), 0.5f);
  }
  v1::FetchObjectRequest request;
  request.set_sha256(CalcSha256(image->bytes));
  std::string bytes;
  while (bytes.size() < image->bytes.size()) {
    request.set_offset(static_cast<std::int64_t>(bytes.size()));
    const auto chunk = descriptions.Fetch(request);
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    bytes += chunk->data();
  }
  EXPECT_EQ(bytes, image->bytes);
}

TEST(Descriptions, NodesThatCarryAVisualFollowThoseOfTheSurface) {
  auto model = std::make_shared<physics::Model>(*LoadFineBall(0.03));
  physics::Body& ball = model->bodies[1];
  const std::size_t on_surface = ball.surface.vertices.size();
  std::vector<char> is_inner(ball.mesh.vertices.size(), 1);
  for (const int v : ball.surface.vertices) is_inner[v] = 0;
  physics::EmbeddedPart& part = ball.embedded.parts.emplace_back();
  const auto inner = static_cast<int>(std::ranges::find(is_inner, 1) - is_inner.begin());
  ball.embedded.inner_nodes = {inner};
  part.nodes = {{inner, ball.surface.vertices[3], ball.surface.vertices[4], inner}};
  part.weights = {{0.5f, 0.25f, 0.25f, 0}};
  part.triangles = {{0, 0, 0}};
  Descriptions descriptions;
  int pages = 0;
  const v1::WorldDescription whole = DescribeWhole(descriptions, model, false, &pages);
  const v1::DeformableDescription& shown = whole.deformables(0);
  ASSERT_EQ(shown.surface_to_volume_size(), static_cast<int>(on_surface) + 1);
  EXPECT_EQ(shown.surface().vertices_size(), 3 * shown.surface_to_volume_size());
  EXPECT_EQ(shown.surface_to_volume(static_cast<int>(on_surface)),
            static_cast<std::uint32_t>(inner));
  ASSERT_EQ(shown.embedded_size(), 1);
  EXPECT_THAT(shown.embedded(0).nodes(), testing::ElementsAre(on_surface, 3, 4, on_surface));
  EXPECT_EQ(shown.embedded(0).weights(1), 0.25f);
  EXPECT_EQ(shown.decimated_vertices_size(), 0);
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
