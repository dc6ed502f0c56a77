#include "lanista/io/data/dataset.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/rng.h"
#include "lanista/io/data/constant_columns.h"
#include "lanista/io/data/stratified_order.h"
#include "lanista/io/data/weights.h"

namespace lanista::data {
namespace {

std::span<const std::byte> bytes_of(const auto& values) { return std::as_bytes(std::span(values)); }

/// True if the names of classes are "0", "1", …, or absent.
bool is_numbered(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != std::to_string(i)) return false;
  }
  return true;
}

Digest hash_all(const RawData& raw, const Split& rows) {
  const DataSpec& spec = raw.spec;
  Hasher hasher;
  hasher.text("lanista data 1").number(spec.rows).number(spec.classes).number(spec.target_size);
  for (const std::int64_t d : spec.features.dims) hasher.number(d);
  hasher.digest(hash_bytes(bytes_of(raw.features))).digest(hash_bytes(bytes_of(raw.labels)));
  hasher.digest(hash_bytes(bytes_of(raw.targets)));
  for (const auto& part : rows) hasher.digest(hash_bytes(bytes_of(part)));
  // A single entry is no list, as in all stored studies.
  const bool single = spec.normalization.mean.size() == 1;
  const auto list = [&](const std::vector<double>& v) { return single ? std::vector<double>() : v; };
  hasher.real(single ? spec.normalization.mean[0] : 0).real(single ? spec.normalization.scale[0] : 1);
  hasher.digest(hash_bytes(bytes_of(list(spec.normalization.mean))));
  hasher.digest(hash_bytes(bytes_of(list(spec.normalization.scale))));
  if (spec.vocab > 0) hasher.text("tokens").number(spec.vocab);
  if (spec.positions > 0) hasher.text("positions").number(spec.positions);
  if (spec.multilabel) hasher.text("multilabel");
  if (!spec.schema.is_null()) hasher.text(spec.schema.dump());
  // Weights of classes are not part of the data, since studies with other
  // weights use the same rows.
  if (!raw.weights.empty()) hasher.text("weights").digest(hash_bytes(bytes_of(raw.weights)));
  if (spec.target_normalization) {
    hasher.text("standardised targets").digest(hash_bytes(bytes_of(spec.target_normalization->mean)));
    hasher.digest(hash_bytes(bytes_of(spec.target_normalization->scale)));
  }
  // Names of classes that are not their numbers. A model that was trained on other names would predict wrong ones.
  const bool has_names = spec.rules > study::kFirstRules && !is_numbered(spec.labels);
  if (has_names) hasher.text("names of classes").text(nlohmann::json(spec.labels).dump());
  if (!spec.origin.empty()) hasher.text("origin").digest(hash_bytes(bytes_of(spec.origin)));
  if (!spec.target_origin.empty()) hasher.text("target origin").digest(hash_bytes(bytes_of(spec.target_origin)));
  return hasher.finish();
}

/// Statistics of the unit of the source, fitted to numbers that are stored less `origin`.
Normalization with_origin(Normalization fitted, const std::vector<double>& origin) {
  for (std::size_t i = 0; i < origin.size(); ++i) fitted.mean.at(i) += origin[i];
  return fitted;
}

template <class T>
void gather(const std::vector<T>& from, std::size_t width, std::span<const std::int64_t> rows, std::span<T> out) {
  LANISTA_CHECK(out.size() == rows.size() * width, "the span to gather into has the wrong size");
  auto* to = out.data();
  for (const std::int64_t row : rows) {
    const std::size_t first = static_cast<std::size_t>(row) * width;
    LANISTA_CHECK(row >= 0 && first + width <= from.size(), "row " + std::to_string(row) + " does not exist");
    to = std::copy_n(from.data() + first, width, to);
  }
}

template <class T>
std::shared_ptr<const std::vector<T>> shared(std::vector<T> values) {
  return std::make_shared<const std::vector<T>>(std::move(values));
}

/// Targets as training uses them if they are standardised; else null.
std::shared_ptr<const std::vector<float>> standardised(const std::shared_ptr<const std::vector<float>>& targets,
                                                       const DataSpec& spec) {
  if (!spec.target_normalization) return shared(std::vector<float>());
  std::vector<float> out = *targets;
  spec.stored_target_normalization()->apply(out, spec.target_size);
  return shared(std::move(out));
}

std::vector<std::int64_t> all_training_rows(const std::vector<Split>& splits) {
  std::vector<std::int64_t> out;
  for (const Split& split : splits) {
    std::vector<std::int64_t> both;
    std::ranges::set_union(out, split[0], std::back_inserter(both));
    out = std::move(both);
  }
  return out;
}

}  // namespace

Result<void> Dataset::fit_statistics(RawData& raw, const Split& split, const std::string& normalize,
                                     const std::string& targets) {
  DataSpec& spec = raw.spec;
  const std::int64_t width = spec.features.elements_per_sample();
  LANISTA_CHECK(width > 0 && !spec.features.has_batch(), "the features of a data set must have a shape without batch");
  LANISTA_CHECK(raw.features.size() % static_cast<std::size_t>(width) == 0, "features are not whole rows");
  const auto rows = static_cast<std::size_t>(raw.rows());
  LANISTA_CHECK(raw.labels.size() == (spec.classes > 0 ? rows * static_cast<std::size_t>(spec.labels_per_sample()) : 0),
                "there must be labels_per_sample labels a row, and classes for them");
  LANISTA_CHECK(raw.targets.size() == (spec.classes > 0 ? 0 : rows * static_cast<std::size_t>(spec.target_size)),
                "there must be target_size targets a row");
  LANISTA_CHECK(raw.weights.empty() || raw.weights.size() == rows, "there must be a weight a row, or none");
  if (normalize != "auto" && normalize != "none") {
    return Error{Code::kInvalidArgument, "normalize is \"" + normalize + "\", allowed are auto and none", ""};
  }
  if (targets != "auto" && targets != "standardize" && targets != "raw") {
    return Error{Code::kInvalidArgument, "targets is \"" + targets + "\", allowed are auto, standardize and raw", ""};
  }

  const auto fit = [&](const std::vector<float>& numbers, std::int64_t size, std::int64_t entries,
                       const std::vector<double>& origin) {
    Normalization out = fit_normalization(numbers, size, entries, split[0]);
    if (spec.rules > study::kFirstRules) settle_constants(numbers, size, split[0], origin, out);
    return with_origin(std::move(out), origin);
  };
  spec.rows = raw.rows();
  for (std::size_t p = 0; p < 3; ++p) spec.split_rows[p] = static_cast<std::int64_t>(split[p].size());
  if (normalize == "none" || spec.vocab > 0) {
    spec.normalization = {};
  } else if (spec.schema.is_null()) {
    const std::int64_t usual = raw.has_feature_columns ? width : normalization_entries(spec.features);
    const std::int64_t entries = spec.origin.empty() ? usual : std::ssize(spec.origin);
    spec.normalization = fit(raw.features, width, entries, spec.origin);
  }
  spec.target_normalization.reset();
  if (spec.targets().kind == autodiff::TargetKind::kNumbers && targets != "raw") {
    spec.target_normalization = fit(raw.targets, spec.target_size, spec.target_size, spec.target_origin);
  }
  spec.hash = hash_all(raw, split);
  return {};
}

Result<Dataset> Dataset::make(RawData raw, Split split, const std::string& normalize, const std::string& targets,
                              const study::ClassWeights& class_weights) {
  LANISTA_TRY(fit_statistics(raw, split, normalize, targets));
  LANISTA_ASSIGN(auto weights, row_weights(raw, split[0], class_weights));
  raw.spec.stored_normalization().apply(raw.features, raw.spec.features.elements_per_sample());

  Dataset out;
  out.spec_ = std::move(raw.spec);
  out.data_warnings_ = std::move(raw.data_warnings);
  out.decisions_ = std::move(raw.decisions);
  out.features_ = shared(std::move(raw.features));
  out.labels_ = shared(std::move(raw.labels));
  out.targets_ = shared(std::move(raw.targets));
  out.standard_targets_ = standardised(out.targets_, out.spec_);
  out.weights_ = shared(std::move(weights));
  out.rows_ = std::move(split);
  return out;
}

Result<Dataset> Dataset::make_folded(RawData raw, const std::vector<Split>& splits, const std::string& normalize,
                                     const std::string& targets, const study::ClassWeights& class_weights) {
  LANISTA_CHECK(!splits.empty(), "folds without a training");
  const auto trainings = std::make_shared<std::vector<Dataset>>();
  std::vector<DataSpec> specs;
  const DataSpec of_all = raw.spec;
  for (const Split& split : splits) {
    raw.spec = of_all;
    PostProcess finish;
    if (!of_all.schema.is_null()) finish = fit_table(raw, split[0]);
    LANISTA_TRY(fit_statistics(raw, split, normalize, targets));
    finish.normalization = raw.spec.stored_normalization();
    Dataset& training = trainings->emplace_back();
    training.spec_ = specs.emplace_back(raw.spec);
    training.post_process_ = std::make_shared<const PostProcess>(std::move(finish));
    LANISTA_ASSIGN(auto weights, row_weights(raw, split[0], class_weights));
    training.weights_ = shared(std::move(weights));
    training.rows_ = split;
  }
  const auto features = shared(std::move(raw.features)), numbers = shared(std::move(raw.targets));
  const auto labels = shared(std::move(raw.labels));
  for (Dataset& training : *trainings) {
    training.features_ = features;
    training.labels_ = labels;
    training.targets_ = numbers;
    training.standard_targets_ = standardised(numbers, training.spec_);
  }
  auto fold_union = std::make_shared<Dataset>(trainings->front());
  fold_union->spec_.normalization = {};
  fold_union->post_process_ = nullptr;
  fold_union->rows_ = {all_training_rows(splits), {}, {}};
  Dataset out = trainings->front();
  out.fold_union_ = std::move(fold_union);
  out.data_warnings_ = std::move(raw.data_warnings);
  out.decisions_ = std::move(raw.decisions);
  out.spec_.hash = Hasher().text("lanista folds 1").digest(out.spec_.hash).number(std::ssize(splits)).finish();
  out.spec_.folds = std::move(specs);
  out.trainings_ = trainings;
  return out;
}

const Dataset& Dataset::training(const std::optional<std::int64_t>& fold) const {
  if (!fold) return *this;
  const bool known = trainings_ && *fold >= 0 && *fold < std::ssize(*trainings_);
  LANISTA_CHECK(known, "there is no fold " + std::to_string(*fold) + " in these data");
  return (*trainings_)[static_cast<std::size_t>(*fold)];
}

std::vector<std::int64_t> Dataset::training_subset(std::int64_t count, std::uint64_t data_seed) const {
  const bool strata = spec_.classes > 0 && spec_.positions == 0;
  std::vector<std::int64_t> share = stratified_order(
      rows(Part::kTrain), strata ? std::span<const std::int32_t>(*labels_) : std::span<const std::int32_t>(),
      spec_.classes, data_seed);
  LANISTA_CHECK(count >= 0 && count <= std::ssize(share), "a share has no more rows than there are");
  share.resize(static_cast<std::size_t>(count));
  return share;
}

void Dataset::gather_features(std::span<const std::int64_t> rows, std::span<float> out) const {
  if (spec_.stream) return gather_streamed(rows, out);
  gather(*features_, static_cast<std::size_t>(spec_.features.elements_per_sample()), rows, out);
  post_process(out);
}

void Dataset::post_process(std::span<float> features) const {
  if (post_process_) post_process_->apply(features, spec_.features.elements_per_sample());
}

void Dataset::gather_labels(std::span<const std::int64_t> rows, std::span<std::int32_t> out) const {
  gather(*labels_, static_cast<std::size_t>(spec_.labels_per_sample()), rows, out);
}

void Dataset::gather_targets(std::span<const std::int64_t> rows, std::span<float> out) const {
  const auto& seen = spec_.target_normalization ? standard_targets_ : targets_;
  gather(*seen, static_cast<std::size_t>(spec_.target_size), rows, out);
}

void Dataset::gather_raw_targets(std::span<const std::int64_t> rows, std::span<float> out) const {
  gather(*targets_, static_cast<std::size_t>(spec_.target_size), rows, out);
}

void Dataset::gather_weights(std::span<const std::int64_t> rows, std::span<float> out) const {
  gather(*weights_, 1, rows, out);
}

std::vector<std::int64_t> epoch_order(const std::vector<std::int64_t>& rows, std::uint64_t data_seed,
                                      std::int64_t epoch) {
  Rng rng = Rng(data_seed).split("epoch").split(static_cast<std::uint64_t>(epoch));
  std::vector<std::int64_t> order;
  order.reserve(rows.size());
  for (const std::uint32_t i : rng.permutation(static_cast<std::uint32_t>(rows.size()))) order.push_back(rows[i]);
  return order;
}

}  // namespace lanista::data
