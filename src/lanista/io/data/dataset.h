#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/io/data/post_process.h"
#include "lanista/io/data/raw_data.h"
#include "lanista/io/data/spec.h"
#include "lanista/io/data/split.h"
#include "lanista/io/data/transform.h"
#include "lanista/search/study/config.h"

namespace lanista::data {

enum class Part { kTrain, kValidation, kTest };

/// A data set in memory, normalised, split. Immutable; many threads may read it, and copies share the numbers.
///
/// With data.folds there is a data set a training (`training`): they share raw numbers and labels, and have rows,
/// normalisations and hash of their own, fitted on their own training rows alone; features are normalised as they are
/// gathered, so a training takes 8 bytes a row. The data set itself is then that of the first training, and the test
/// part the same everywhere.
class Dataset {
 public:
  const DataSpec& spec() const { return spec_; }
  /// What may not have been meant in what was read, and what to do about it: for people, whole sentences.
  const std::vector<std::string>& data_warnings() const { return data_warnings_; }
  /// Row numbers (into features and targets) of a part, ascending.
  const std::vector<std::int64_t>& rows(Part part) const { return rows_[static_cast<std::size_t>(part)]; }
  /// `count` training rows, from 0 to all of them: the first in stratified_order (share.h), so every larger share
  /// contains them. Targets that are no single class have no strata. O(n log n) in the training rows.
  std::vector<std::int64_t> training_subset(std::int64_t count, std::uint64_t data_seed) const;
  /// What a training of `fold` (study::Proposal::fold) sees: the data set itself without one. The fold is one of
  /// spec().folds. Lives as long as the data set and its copies.
  const Dataset& training(const std::optional<std::int64_t>& fold) const;
  /// With folds: all rows that some training trains on, as training part, with features that are not normalised; what
  /// trainings have in common. Null without. Lives as `training`.
  const Dataset* fold_union() const { return fold_union_.get(); }
  /// Makes features of rows of the pool those of this training, in place: [n, features…].
  void post_process(std::span<float> features) const;
  /// Copies the features of `rows` one after the other: [rows.size(), features…].
  void gather_features(std::span<const std::int64_t> rows, std::span<float> out) const;
  /// [rows.size()], or [rows.size(), positions]
  void gather_labels(std::span<const std::int64_t> rows, std::span<std::int32_t> out) const;
  /// As training sees them: in the units of spec().target_normalization, if there is one. [rows.size(), target_size]
  void gather_targets(std::span<const std::int64_t> rows, std::span<float> out) const;
  /// In their own unit, the bits of the source.
  void gather_raw_targets(std::span<const std::int64_t> rows, std::span<float> out) const;
  /// Whether rows count differently in the training loss.
  bool weighted() const { return weights_ && !weights_->empty(); }
  /// How much (row_weights); of a weighted set alone.
  void gather_weights(std::span<const std::int64_t> rows, std::span<float> out) const;

  /// Of each row its loss under a model that has not trained on it, as the source has it; empty: it has none.
  std::span<const float> holdout_loss() const {
    return holdout_loss_ ? std::span<const float>(*holdout_loss_) : std::span<const float>();
  }

  /// From raw numbers that have passed check_numbers, and their split. Of the specification, name, source, licence,
  /// features, classes, target_size, multilabel, labels, schema are read, and the normalisation if there is a schema; the rest is
  /// found. `normalize`, `targets` and `class_weights` as in study::DataConfig; classes stay as they are, whatever
  /// `targets` says. Errors: kInvalidArgument (either is none of the words), those of row_weights.
  static Result<Dataset> make(RawData raw, Split split, const std::string& normalize, const std::string& targets,
                              const study::ClassWeights& class_weights = {});
  /// What `make` finds of the numbers, without normalising them: rows, normalisations, hash. Errors: as of `make`.
  static Result<void> fit_statistics(RawData& raw, const Split& split, const std::string& normalize,
                             const std::string& targets);
  /// The same rows, targets and split with other features. What is kept is computed here, and its memory taken out of
  /// `budget` (may be null); unless all is kept, `base` outlives the data set and its copies. Errors:
  /// kResourceExhausted.
  static Result<Dataset> transformed(const Dataset& base, Transform transform, StoredSamples keep, MemoryBudget* budget);
  /// Of raw numbers and a split for each training, the test part in all of them. Missing numbers of tables are NaN, and
  /// the schema is that of all rows that are dealt. Of the specification and the two words as `make`.
  static Result<Dataset> make_folded(RawData raw, const std::vector<Split>& splits, const std::string& normalize,
                                const std::string& targets, const study::ClassWeights& class_weights = {});

 private:
  static constexpr std::int64_t kNotStored = -1;
  void gather_streamed(std::span<const std::int64_t> rows, std::span<float> out) const;

  DataSpec spec_;
  std::vector<std::string> data_warnings_;
  std::shared_ptr<const std::vector<float>> features_;
  std::shared_ptr<const PostProcess> post_process_;  // of features as they are gathered; null: they lie ready
  std::vector<std::int64_t> stored_row_;       // with a stream: of each row in features_, or kNotStored
  std::shared_ptr<const MemoryBudget::Reservation> memory_;
  std::shared_ptr<const std::vector<std::int32_t>> labels_;
  std::shared_ptr<const std::vector<float>> targets_;           // in their own unit
  std::shared_ptr<const std::vector<float>> standard_targets_;  // empty where training sees the others
  std::shared_ptr<const std::vector<float>> weights_;           // empty where all rows count alike
  std::shared_ptr<const std::vector<float>> holdout_loss_;           // empty where the source has none
  Split rows_;
  std::shared_ptr<const std::vector<Dataset>> trainings_;  // with folds
  std::shared_ptr<const Dataset> fold_union_;
};

/// Opens `config.source`, "kind:argument?option=value" (see catalog.h); relative paths are relative to `folder`. The
/// split is a seeded stratified shuffle (seed fixed by the data, not by the study's seed), unless the source brings an
/// official test part or is a text. With `config.folds` training and validation part are dealt together, `repetitions`
/// times; the test part is as without. Errors: kNotFound, kInvalidArgument (source notation, split; where =
/// "data.folds": what cannot be dealt so), kDataLoss (a file that breaks a rule: which, where), kResourceExhausted
/// (files or features too large, files.h), kUnimplemented (formats that are refused).
Result<Dataset> open(const study::DataConfig& config, const std::string& folder, FileSystem& fs,
                     std::int64_t repetitions = 1);

/// The same as raw numbers and their split, for those who look at both; folds do not enter. Errors: the same.
Result<std::pair<RawData, Split>> open_raw(const study::DataConfig& config, const std::string& folder, FileSystem& fs);

/// The samples of an epoch in training order: a function of data seed and epoch alone.
std::vector<std::int64_t> epoch_order(const std::vector<std::int64_t>& rows, std::uint64_t data_seed,
                                      std::int64_t epoch);

}  // namespace lanista::data
