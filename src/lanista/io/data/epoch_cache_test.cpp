#include "lanista/io/data/epoch_cache.h"

#include <gtest/gtest.h>

#include <thread>

namespace lanista::data {
namespace {

const Dataset& digits() {
  static const Dataset set = *open({}, ".", real_file_system());
  return set;
}

const std::vector<study::PluginConfig> kNoise{{"crop", {{"pad", 1}}}, {"noise", {{"std", 0.1}}}};
const std::vector<study::PluginConfig> kFlip{{"flip", {}}};
constexpr std::int64_t kRoomy = std::int64_t{1} << 30;

std::int64_t epoch_bytes() { return static_cast<std::int64_t>(digits().rows(Part::kTrain).size()) * (64 * 4 + 8); }

TEST(EpochCache, PreparesSameBitsAsBatches) {
  EpochCache cache(digits(), kRoomy, nullptr);
  const Augmenter augmenter = *Augmenter::make(kNoise, digits().spec());

  const auto epoch = cache.get(kNoise, augmenter, 5, 3);

  ASSERT_NE(epoch, nullptr);
  EXPECT_EQ(epoch->rows, epoch_order(digits().rows(Part::kTrain), 5, 3));
  std::vector<float> sample(64);
  for (std::size_t i = 0; i < epoch->rows.size(); ++i) {
    digits().gather_features(std::span(epoch->rows).subspan(i, 1), sample);
    augmenter.apply(5, 3, epoch->rows[i], sample);
    ASSERT_TRUE(
        std::equal(sample.begin(), sample.end(), epoch->features.begin() + static_cast<std::ptrdiff_t>(64 * i)));
  }
}

TEST(EpochCache, PreparesEachEpochOnce) {
  EpochCache cache(digits(), kRoomy, nullptr);
  const Augmenter noise = *Augmenter::make(kNoise, digits().spec()), flip = *Augmenter::make(kFlip, digits().spec());
  std::vector<std::shared_ptr<const PreparedEpoch>> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : seen) threads.emplace_back([&] { mine = cache.get(kNoise, noise, 5, 3); });
  }
  for (const auto& each : seen) EXPECT_EQ(each, seen[0]);
  EXPECT_EQ(cache.get(kNoise, *Augmenter::make(kNoise, digits().spec()), 5, 3), seen[0]);
  EXPECT_NE(cache.get(kNoise, noise, 5, 4), seen[0]);
  EXPECT_NE(cache.get(kNoise, noise, 6, 3), seen[0]);
  EXPECT_NE(cache.get(kFlip, flip, 5, 3), seen[0]);
}

TEST(EpochCache, EvictsLeastRecentlyUsed) {
  EpochCache cache(digits(), 2 * epoch_bytes(), nullptr);
  const Augmenter augmenter = *Augmenter::make(kNoise, digits().spec());
  const auto first = cache.get(kNoise, augmenter, 5, 1), second = cache.get(kNoise, augmenter, 5, 2);
  EXPECT_EQ(cache.get(kNoise, augmenter, 5, 1), first);

  cache.get(kNoise, augmenter, 5, 3);

  EXPECT_EQ(cache.get(kNoise, augmenter, 5, 1), first);
  const auto repeated = cache.get(kNoise, augmenter, 5, 2);
  EXPECT_NE(repeated, second);
  EXPECT_EQ(repeated->features, second->features);
}

TEST(EpochCache, ReturnsNullWithoutMemory) {
  const Augmenter augmenter = *Augmenter::make(kNoise, digits().spec());
  EXPECT_EQ(EpochCache(digits(), epoch_bytes() - 1, nullptr).get(kNoise, augmenter, 5, 1), nullptr);

  MemoryBudget budget(epoch_bytes() + 100);
  EpochCache cache(digits(), kRoomy, &budget);
  auto held = cache.get(kNoise, augmenter, 5, 1);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(budget.used(), epoch_bytes());
  EXPECT_EQ(cache.get(kNoise, augmenter, 5, 2), nullptr);

  cache.clear();
  EXPECT_EQ(budget.used(), epoch_bytes());  // a caller still reads it
  held.reset();
  EXPECT_EQ(budget.used(), 0);
  EXPECT_NE(cache.get(kNoise, augmenter, 5, 2), nullptr);
}

}  // namespace
}  // namespace lanista::data
