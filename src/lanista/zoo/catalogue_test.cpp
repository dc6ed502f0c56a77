#include "lanista/zoo/catalogue.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lanista/zoo/test_layers.h"

namespace lanista::zoo {
namespace {

MatchModel drawn_model(std::uint64_t seed, std::uint64_t stream) {
  auto model = MatchModel::of(testing::random_layers(Rng(stream).split(seed), 9), graph::builtin_ops());
  EXPECT_TRUE(model.ok());
  return *std::move(model);
}

Catalogue drawn_catalogue(std::uint64_t seed, std::uint64_t models) {
  Catalogue out;
  Rng rng = Rng(21).split(seed);
  for (std::uint64_t k = 0; k < models; ++k) {
    // Few qualities and ages, so that ties come up.
    EXPECT_TRUE(out.add({"m" + std::to_string(k), rng.bernoulli(0.8) ? "digits" : "cats",
                         static_cast<double>(rng.below(4)), rng.between(0, 2)},
                        drawn_model(seed * 1000 + k, 22)));
  }
  return out;
}

TEST(Catalogue, FindsWithTheBoundWhatAFullSearchFinds) {
  std::int64_t spared = 0, found = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(60); ++seed) {
    const Catalogue zoo = drawn_catalogue(seed, 40);
    for (std::uint64_t k = 0; k < 5; ++k) {
      const MatchModel child = drawn_model(seed * 10 + k, 23);
      SearchCount fast, full;
      const auto one = zoo.best(child, "digits", {}, &fast);
      const auto other = zoo.best(child, "digits", {.match = {}, .exhaustive = true}, &full);

      ASSERT_EQ(one.has_value(), other.has_value());
      if (one) {
        ++found;
        EXPECT_EQ(one->entry.id, other->entry.id);
        EXPECT_EQ(one->entry.task, "digits");
      }
      spared += full.aligned - fast.aligned;
    }
  }
  const auto children = static_cast<std::int64_t>(5 * testing::cases(60));
  EXPECT_GT(3 * found, 2 * children);
  EXPECT_GT(spared, 3 * children);
}

TEST(Catalogue, OffersTheBestOfModelsThatAreAlikeAndAlignsNoneThatIsTheSame) {
  const MatchModel model = drawn_model(3, 22), other = drawn_model(4, 22);
  Catalogue zoo;
  ASSERT_TRUE(zoo.add({"fair", "digits", 0.7, 5}, model));
  ASSERT_TRUE(zoo.add({"old", "digits", 0.9, 1}, model));
  ASSERT_TRUE(zoo.add({"young", "digits", 0.9, 2}, model));
  ASSERT_TRUE(zoo.add({"elsewhere", "cats", 1.0, 9}, model));
  ASSERT_TRUE(zoo.add({"other", "digits", 1.0, 9}, other));
  SearchCount count;

  const auto offer = zoo.best(model, "digits", {}, &count);

  ASSERT_TRUE(offer.has_value());
  EXPECT_EQ(offer->entry.id, "young");
  EXPECT_EQ(offer->match.sim, 1.0);
  EXPECT_EQ(count.aligned, 0);
  EXPECT_FALSE(zoo.best(model, "dogs").has_value());
}

TEST(Catalogue, OffersOnlyWhatIsAdmitted) {
  const MatchModel model = drawn_model(3, 22);
  Catalogue zoo;
  ASSERT_TRUE(zoo.add({"old", "digits", 0.7, 1}, model));
  ASSERT_TRUE(zoo.add({"young", "digits", 0.9, 2}, model));
  for (std::uint64_t k = 10; k < 20; ++k) {
    ASSERT_TRUE(zoo.add({std::to_string(k), "digits", 0.5, static_cast<std::int64_t>(k)}, drawn_model(k, 22)));
  }
  SearchOptions search;
  search.admits = [](const CatalogueEntry& entry) { return entry.age < 2; };

  EXPECT_EQ(zoo.best(model, "digits", search)->entry.id, "old") << "of those that are the same";
  const auto child = drawn_model(14, 22);
  EXPECT_EQ(zoo.best(child, "digits")->entry.id, "14");
  const auto offer = zoo.best(child, "digits", search);
  EXPECT_TRUE(!offer || offer->entry.id == "old") << "of those that are alike";
  search.admits = [](const CatalogueEntry&) { return false; };
  EXPECT_FALSE(zoo.best(model, "digits", search));
}

TEST(Catalogue, RefusesWhatItCannotRank) {
  Catalogue zoo;
  ASSERT_TRUE(zoo.add({"m", "digits", 0.5, 0}, drawn_model(1, 22)));

  EXPECT_EQ(zoo.add({"m", "digits", 0.5, 0}, drawn_model(1, 22)).error().code, Code::kAlreadyExists);
  EXPECT_EQ(zoo.add({"", "digits", 0.5, 0}, drawn_model(1, 22)).error().code, Code::kInvalidArgument);
  EXPECT_EQ(zoo.add({"n", "digits", NAN, 0}, drawn_model(1, 22)).error().code, Code::kInvalidArgument);
  EXPECT_EQ(zoo.size(), 1U);
}

}  // namespace
}  // namespace lanista::zoo
