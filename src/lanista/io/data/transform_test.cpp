#include "lanista/io/data/transform.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "lanista/io/data/augment.h"
#include "lanista/io/data/epoch_cache.h"

namespace lanista::data {
namespace {

const Dataset& digits() {
  static const Dataset set = *open({}, ".", real_file_system());
  return set;
}

// The sum of each image and its last pixel; counts the images.
Transform summary(std::atomic<std::int64_t>* images = nullptr) {
  return {{{2}}, hash_text("summary"), [images](std::span<const float> samples, std::span<float> out) {
            for (std::size_t i = 0; i < out.size() / 2; ++i) {
              const auto image = samples.subspan(64 * i, 64);
              float sum = 0;
              for (const float x : image) sum += x;
              out[2 * i] = sum;
              out[2 * i + 1] = image.back();
            }
            if (images != nullptr) *images += static_cast<std::int64_t>(out.size() / 2);
          }};
}

std::vector<float> gathered(const Dataset& set, std::span<const std::int64_t> rows) {
  std::vector<float> out(rows.size() * static_cast<std::size_t>(set.spec().features.elements_per_sample()));
  set.gather_features(rows, out);
  return out;
}

// The result of `summary` for these samples.
std::vector<float> summaries(const std::vector<float>& samples) {
  std::vector<float> out(samples.size() / 32);
  summary().apply(samples, out);
  return out;
}

constexpr std::int64_t kRoomy = std::int64_t{1} << 30;
const std::vector<study::PluginConfig> kNoise{{"crop", {{"pad", 1}}}, {"noise", {{"std", 0.1}}}};

TEST(TransformedDataset, GivesSameSamplesForEachStorage) {
  const std::vector<std::int64_t> rows{3, 1796, 3, 0, 77, 500, 501, 502, 9};
  for (const StoredSamples keep : {StoredSamples::kNothing, StoredSamples::kValidation, StoredSamples::kAll}) {
    const Dataset set = *Dataset::transformed(digits(), summary(), keep, nullptr);

    EXPECT_EQ(gathered(set, rows), summaries(gathered(digits(), rows)));
    for (const Part part : {Part::kTrain, Part::kValidation, Part::kTest}) {
      EXPECT_EQ(set.rows(part), digits().rows(part));
      EXPECT_EQ(gathered(set, set.rows(part)), summaries(gathered(digits(), set.rows(part))));
    }
    std::vector<std::int32_t> labels(rows.size()), own(rows.size());
    digits().gather_labels(rows, labels);
    set.gather_labels(rows, own);
    EXPECT_EQ(own, labels);
    EXPECT_EQ(set.spec().features.text(), "[2]");
    EXPECT_EQ(set.spec().classes, 10);
    EXPECT_EQ(set.spec().normalization, Normalization{});
  }
}

TEST(TransformedDataset, ComputesOnlySamplesNotStored) {
  std::atomic<std::int64_t> images = 0;
  const Dataset all = *Dataset::transformed(digits(), summary(&images), StoredSamples::kAll, nullptr);
  EXPECT_EQ(images, 1797);
  gathered(all, all.rows(Part::kTrain));
  EXPECT_EQ(images, 1797);

  images = 0;
  const Dataset some = *Dataset::transformed(digits(), summary(&images), StoredSamples::kValidation, nullptr);
  gathered(some, some.rows(Part::kValidation));
  EXPECT_EQ(images, 270);
  gathered(some, std::vector<std::int64_t>{some.rows(Part::kTrain)[0], some.rows(Part::kValidation)[0]});
  EXPECT_EQ(images, 271);
}

TEST(TransformedDataset, RefusesOutputsOfWrongSize) {
  for (const StoredSamples keep : {StoredSamples::kAll, StoredSamples::kValidation, StoredSamples::kNothing}) {
    const Dataset set = *Dataset::transformed(digits(), summary(), keep, nullptr);
    const std::vector<std::int64_t>& rows = set.rows(Part::kValidation);
    std::vector<float> out(2 * rows.size() + 1);
    EXPECT_THROW(set.gather_features(rows, std::span(out).first(out.size() - 2)), InternalError);
    EXPECT_THROW(set.gather_features(rows, out), InternalError);
    EXPECT_NO_THROW(set.gather_features(rows, std::span(out).first(out.size() - 1)));
  }
}

TEST(TransformedDataset, HashDependsOnDataAndKey) {
  const Digest kept = Dataset::transformed(digits(), summary(), StoredSamples::kAll, nullptr)->spec().hash;
  Transform other = summary();
  other.key = hash_text("another");

  EXPECT_EQ(Dataset::transformed(digits(), summary(), StoredSamples::kNothing, nullptr)->spec().hash, kept);
  EXPECT_NE(Dataset::transformed(digits(), other, StoredSamples::kAll, nullptr)->spec().hash, kept);
  EXPECT_NE(digits().spec().hash, kept);
}

TEST(TransformedDataset, ReservesMemoryFromBudget) {
  MemoryBudget budget(1797 * 2 * 4);
  {
    const Dataset set = *Dataset::transformed(digits(), summary(), StoredSamples::kAll, &budget);
    const Dataset copy = set;
    EXPECT_EQ(budget.used(), 1797 * 2 * 4);
    const auto refused = Dataset::transformed(digits(), summary(), StoredSamples::kValidation, &budget);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
    EXPECT_EQ(refused.error().message,
              "keeping 270 samples of shape [2]: tensor memory: 2160 bytes wanted, 14376 of 14376 allowed bytes are "
              "held");
    EXPECT_TRUE(Dataset::transformed(digits(), summary(), StoredSamples::kNothing, &budget));
  }
  EXPECT_EQ(budget.used(), 0);

  Transform huge = summary();
  huge.features = {{1 << 20}};
  const auto refused = Dataset::transformed(digits(), huge, StoredSamples::kAll, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_NE(refused.error().message.find("1797 samples of shape [1048576]"), std::string::npos);
}

// Augmentation comes before the transform, in whole epochs as sample by sample.
TEST(TransformedDataset, IsAugmentedBeforeItIsTransformed) {
  const Dataset set = *Dataset::transformed(digits(), summary(), StoredSamples::kValidation, nullptr);
  const Augmenter raw = *Augmenter::make(kNoise, digits().spec()), streamed = *Augmenter::make(kNoise, set.spec());
  EpochCache epochs(set, kRoomy, nullptr);

  const auto epoch = epochs.get(kNoise, streamed, 5, 3);

  ASSERT_NE(epoch, nullptr);
  EXPECT_EQ(epoch->rows, epoch_order(digits().rows(Part::kTrain), 5, 3));
  std::vector<float> samples(epoch->rows.size() * 64);
  raw.gather(digits(), 5, 3, epoch->rows, samples);
  EXPECT_EQ(epoch->features, summaries(samples));
  EXPECT_NE(epoch->features, gathered(set, epoch->rows));
  std::vector<float> one(2);
  for (const std::size_t i : {0U, 300U, 1256U}) {
    streamed.apply(5, 3, epoch->rows[i], one);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), epoch->features.begin() + static_cast<std::ptrdiff_t>(2 * i)));
  }
}

TEST(TransformedDataset, StreamedEpochIsPreparedOnce) {
  std::atomic<std::int64_t> images = 0;
  const Dataset set = *Dataset::transformed(digits(), summary(&images), StoredSamples::kNothing, nullptr);
  const Augmenter none = *Augmenter::make({}, set.spec());
  EpochCache epochs(set, kRoomy, nullptr);

  EXPECT_FALSE(none.empty());
  const auto first = epochs.get({}, none, 5, 1);
  EXPECT_EQ(epochs.get({}, none, 5, 1), first);
  EXPECT_EQ(images, 1257);
  EXPECT_EQ(first->features, gathered(set, first->rows));
  std::vector<float> one = gathered(set, std::span(first->rows).first(1));
  none.apply(5, 1, first->rows[0], one);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), first->features.begin()));

  const Dataset kept = *Dataset::transformed(digits(), summary(), StoredSamples::kAll, nullptr);
  EXPECT_TRUE(Augmenter::make({}, kept.spec())->empty());
}

}  // namespace
}  // namespace lanista::data
