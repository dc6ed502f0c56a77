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

/// A part of a data set.
enum class Part { kTrain, kValidation, kTest };

/// A normalised and split data set in memory. It is immutable, many threads may read it, and copies share the numbers.
///
/// With data.folds there is one data set for each training (`training`). They share raw numbers and labels. Each has
/// rows, normalisation and hash of its own, fitted on its own training rows. Features are normalised when they are
/// gathered, so that a training needs 8 bytes for each row. The data set itself is then that of the first training. The
/// test part is the same for all.
class Dataset {
 public:
  const DataSpec& spec() const { return spec_; }  ///< shape, classes, rows and so on
  /// Warnings of the reader for the user: what it may have read in an unintended way, and what to do. Whole sentences.
  const std::vector<std::string>& data_warnings() const { return data_warnings_; }
  /// Row numbers of a part, ascending.
  const std::vector<std::int64_t>& rows(Part part) const { return rows_[static_cast<std::size_t>(part)]; }
  /// `count` training rows, from 0 to all of them. They are the first in stratified_order(), so that every larger
  /// subset contains them. Without single classes as targets there are no strata. O(n log n) in the training rows.
  std::vector<std::int64_t> training_subset(std::int64_t count, std::uint64_t data_seed) const;
  /// The data set of the training of `fold` (study::Proposal::fold); without a fold the data set itself. Precondition:
  /// spec().folds has the fold. It lives as long as the data set and its copies.
  const Dataset& training(const std::optional<std::int64_t>& fold) const;
  /// With folds: a data set with all rows that some training trains on as training part, and raw features. Null without
  /// folds. It lives as long as the data set and its copies.
  const Dataset* fold_union() const { return fold_union_.get(); }
  /// Converts features of fold_union() rows to those of this training, in place: [n, features…].
  void post_process(std::span<float> features) const;
  /// Copies the features of `rows`: [rows.size(), features…].
  void gather_features(std::span<const std::int64_t> rows, std::span<float> out) const;
  /// Copies the labels of `rows`: [rows.size()], or [rows.size(), positions].
  void gather_labels(std::span<const std::int64_t> rows, std::span<std::int32_t> out) const;
  /// Copies the targets of `rows` as training uses them, in the unit of spec().target_normalization if there is one:
  /// [rows.size(), target_size].
  void gather_targets(std::span<const std::int64_t> rows, std::span<float> out) const;
  /// Copies the targets of `rows` in the unit of the source, with its bits: [rows.size(), target_size].
  void gather_raw_targets(std::span<const std::int64_t> rows, std::span<float> out) const;
  /// Whether rows have different weights in the training loss.
  bool weighted() const { return weights_ && !weights_->empty(); }
  /// Copies the weights of `rows` (row_weights). Precondition: weighted().
  void gather_weights(std::span<const std::int64_t> rows, std::span<float> out) const;

  /// The loss of each row under a model that has not trained on it, from the source; empty if the source has none.
  std::span<const float> holdout_loss() const {
    return holdout_loss_ ? std::span<const float>(*holdout_loss_) : std::span<const float>();
  }

  /// Makes a data set from raw numbers that passed check_numbers(), and their split.
  ///
  /// It reads these fields of the specification: name, source, licence, features, classes, target_size, multilabel,
  /// labels, schema, and the normalisation if there is a schema. It computes the others. `normalize`, `targets` and
  /// `class_weights` are as in study::DataConfig; classes do not change. Errors: kInvalidArgument (an unknown word),
  /// those of row_weights().
  static Result<Dataset> make(RawData raw, Split split, const std::string& normalize, const std::string& targets,
                              const study::ClassWeights& class_weights = {});
  /// Computes rows, normalisations and hash of the numbers as make() does, without normalising them. Errors: as make().
  static Result<void> fit_statistics(RawData& raw, const Split& split, const std::string& normalize,
                                     const std::string& targets);
  /// Makes a data set with the rows, targets and split of `base` and with other features. Samples that are kept are
  /// computed here; `budget` (may be null) is charged for them. Unless all are kept, `base` must outlive the data set
  /// and its copies. Errors: kResourceExhausted.
  static Result<Dataset> transformed(const Dataset& base, Transform transform, StoredSamples keep,
                                     MemoryBudget* budget);
  /// Makes a data set with folds from raw numbers and one split for each training, all with the same test part. Missing
  /// numbers of tables are NaN. The schema is that of all rows outside the test part. Other arguments are as for
  /// make().
  static Result<Dataset> make_folded(RawData raw, const std::vector<Split>& splits, const std::string& normalize,
                                     const std::string& targets, const study::ClassWeights& class_weights = {});

 private:
  static constexpr std::int64_t kNotStored = -1;
  void gather_streamed(std::span<const std::int64_t> rows, std::span<float> out) const;

  DataSpec spec_;
  std::vector<std::string> data_warnings_;
  std::shared_ptr<const std::vector<float>> features_;
  std::shared_ptr<const PostProcess> post_process_;  // of gathered features; null: features_ are final
  std::vector<std::int64_t> stored_row_;             // with a stream: row in features_, or kNotStored
  std::shared_ptr<const MemoryBudget::Reservation> memory_;
  std::shared_ptr<const std::vector<std::int32_t>> labels_;
  std::shared_ptr<const std::vector<float>> targets_;           // in the unit of the source
  std::shared_ptr<const std::vector<float>> standard_targets_;  // empty where training uses targets_
  std::shared_ptr<const std::vector<float>> weights_;           // empty where all weights are equal
  std::shared_ptr<const std::vector<float>> holdout_loss_;      // empty where the source has none
  Split rows_;
  std::shared_ptr<const std::vector<Dataset>> trainings_;  // with folds
  std::shared_ptr<const Dataset> fold_union_;
};

/// Opens `config.source`, "kind:argument?option=value" (see catalog.h). Relative paths are relative to `folder`.
///
/// The split is a stratified shuffle with a seed from the data, not from the study. Exceptions are sources with an
/// official test part and texts. With `config.folds` the training and validation rows are assigned to folds,
/// `repetitions` times. The test part does not change. Errors: kNotFound, kInvalidArgument (source notation, split;
/// where = "data.folds" for impossible folds), kDataLoss (a file that breaks a rule, with the rule), kResourceExhausted
/// (files or features too large, files.h), kUnimplemented (formats that are refused).
Result<Dataset> open(const study::DataConfig& config, const std::string& folder, FileSystem& fs,
                     std::int64_t repetitions = 1);

/// Opens a source as open() does and returns raw numbers and their split, without folds. Errors: those of open().
Result<std::pair<RawData, Split>> open_raw(const study::DataConfig& config, const std::string& folder, FileSystem& fs);

/// The rows of an epoch in training order: a function of data seed and epoch alone.
std::vector<std::int64_t> epoch_order(const std::vector<std::int64_t>& rows, std::uint64_t data_seed,
                                      std::int64_t epoch);

}  // namespace lanista::data
