#include "lanista/io/data/transform.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "lanista/io/data/dataset.h"
#include "lanista/io/data/files.h"

namespace lanista::data {
namespace {

constexpr std::size_t kRowsAtOnce = 256;

Error out_of_memory_error(std::size_t rows, const graph::Shape& features, const std::string& why) {
  return {Code::kResourceExhausted,
          "keeping " + std::to_string(rows) + " samples of shape " + features.text() + ": " + why, ""};
}

}  // namespace

void SampleStream::gather(std::span<const std::int64_t> rows, const SampleEdit& edit, std::span<float> out) const {
  const auto from = static_cast<std::size_t>(base->spec().features.elements_per_sample());
  const auto to = static_cast<std::size_t>(transform.features.elements_per_sample());
  LANISTA_CHECK(out.size() == rows.size() * to, "the span to gather into has the wrong size");
  std::vector<float> samples(std::min(rows.size(), kRowsAtOnce) * from);
  for (std::size_t at = 0; at < rows.size(); at += kRowsAtOnce) {
    const auto requested = rows.subspan(at, std::min(kRowsAtOnce, rows.size() - at));
    const auto used = std::span(samples).first(requested.size() * from);
    base->gather_features(requested, used);
    for (std::size_t i = 0; edit && i < requested.size(); ++i) edit(requested[i], used.subspan(i * from, from));
    transform.apply(used, out.subspan(at * to, requested.size() * to));
  }
}

Result<Dataset> Dataset::transformed(const Dataset& base, Transform transform, StoredSamples keep,
                                     MemoryBudget* budget) {
  const std::int64_t width = transform.features.elements_per_sample();
  LANISTA_CHECK(width > 0 && !transform.features.has_batch(), "a transform gives samples of a shape without batch");
  Dataset out;
  out.spec_ = base.spec_;
  out.spec_.features = transform.features;
  out.spec_.vocab = 0;
  out.spec_.normalization = {};
  out.spec_.origin.clear();
  out.spec_.schema = nullptr;
  out.spec_.stream = nullptr;
  out.spec_.folds.clear();
  out.spec_.hash = Hasher().text("lanista transformed data 1").digest(base.spec_.hash).digest(transform.key).finish();
  out.labels_ = base.labels_;
  out.targets_ = base.targets_;
  out.standard_targets_ = base.standard_targets_;
  out.weights_ = base.weights_;
  out.rows_ = base.rows_;

  std::vector<std::int64_t> kept;
  if (keep == StoredSamples::kValidation) kept = base.rows(Part::kValidation);
  for (std::int64_t row = 0; keep == StoredSamples::kAll && row < base.spec_.rows; ++row) kept.push_back(row);
  const auto num_kept = static_cast<std::int64_t>(kept.size());
  if (num_kept > kMaxFeatures / width) {
    return out_of_memory_error(kept.size(), transform.features,
                               "more than " + std::to_string(kMaxFeatures) + " numbers");
  }
  const std::int64_t numbers = num_kept * width;
  if (budget != nullptr) {
    auto reserved = budget->reserve(numbers * static_cast<std::int64_t>(sizeof(float)));
    if (!reserved) return out_of_memory_error(kept.size(), transform.features, reserved.error().message);
    out.memory_ = std::make_shared<MemoryBudget::Reservation>(*std::move(reserved));
  }
  const auto stream = std::make_shared<const SampleStream>(&base, std::move(transform));
  std::shared_ptr<std::vector<float>> features;
  try {
    features = std::make_shared<std::vector<float>>(static_cast<std::size_t>(numbers));
  } catch (const std::bad_alloc&) {
    return out_of_memory_error(kept.size(), stream->transform.features, "the system has no memory for it");
  }
  stream->gather(kept, {}, *features);
  out.features_ = std::move(features);
  if (keep == StoredSamples::kAll) return out;  // the base is no longer needed

  out.spec_.stream = stream;
  out.stored_row_.assign(static_cast<std::size_t>(base.spec_.rows), kNotStored);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    out.stored_row_[static_cast<std::size_t>(kept[i])] = static_cast<std::int64_t>(i);
  }
  return out;
}

void Dataset::gather_streamed(std::span<const std::int64_t> rows, std::span<float> out) const {
  const auto width = static_cast<std::size_t>(spec_.features.elements_per_sample());
  LANISTA_CHECK(out.size() == rows.size() * width,
                "features of " + std::to_string(rows.size()) + " rows into " + std::to_string(out.size()) + " numbers");
  const auto place_of = [&](std::size_t i) {
    LANISTA_CHECK(rows[i] >= 0 && rows[i] < spec_.rows, "row " + std::to_string(rows[i]) + " does not exist");
    return stored_row_[static_cast<std::size_t>(rows[i])];
  };
  for (std::size_t at = 0; at < rows.size();) {
    if (const std::int64_t position = place_of(at); position != kNotStored) {
      std::copy_n(features_->data() + static_cast<std::size_t>(position) * width, width, out.data() + at * width);
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < rows.size() && place_of(end) == kNotStored) ++end;
    spec_.stream->gather(rows.subspan(at, end - at), {}, out.subspan(at * width, (end - at) * width));
    at = end;
  }
}

}  // namespace lanista::data
