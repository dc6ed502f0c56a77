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

/// A part of a data set: training, validation or test rows.
enum class Part { kTrain, kValidation, kTest };

/// A normalised and split data set in memory. It is immutable, many threads may read it, and copies share the numbers.
///
/// With data.folds there is one data set for each fold (training()). They share raw features, targets and labels. Each
/// has its own parts, normalisation, weights and hash, fitted on its own training rows. Features are normalised when
/// they are gathered, so that a fold does not store them. Spec and parts of the data set itself are those of the first
/// fold, with another hash. The test part is the same for all. Row numbers are indices from 0 into all rows; every
/// gather function throws InternalError on a row that does not exist or an output of the wrong size.
class Dataset {
 public:
  const DataSpec& spec() const { return spec_; }  ///< description: shape, classes, numbers of rows
  /// Texts for the user about data that may have been read in an unintended way, each with what to do; empty if none.
  const std::vector<std::string>& data_warnings() const { return data_warnings_; }
  /// How ambiguous input was read, in the order of reading.
  const std::vector<ReadingDecision>& decisions() const { return decisions_; }
  /// Row numbers of a part, ascending.
  const std::vector<std::int64_t>& rows(Part part) const { return rows_[static_cast<std::size_t>(part)]; }
  /// The row numbers of `count` training rows. They are the first in stratified_order() by class, so that every larger
  /// subset with the same seed contains them. Without one class for each row there is one stratum. Precondition:
  /// `count` is 0 to all training rows. O(n log n) in the training rows.
  std::vector<std::int64_t> training_subset(std::int64_t count, std::uint64_t data_seed) const;
  /// The data set that validates on `fold` and trains on the other folds; without a fold this data set. `fold` is an
  /// index from 0 into spec().folds, as study::Proposal::fold; another one throws InternalError. The reference is valid
  /// as long as this object or, with a fold, a copy of it.
  const Dataset& training(const std::optional<std::int64_t>& fold) const;
  /// With folds: a data set with raw features. Its training part has every row that is a training row of some fold; its
  /// other parts are empty. Null without folds. The pointer is valid as long as this object or a copy of it.
  const Dataset* fold_union() const { return fold_union_.get(); }
  /// Converts raw features [n, features…] of fold_union() to those of this fold, in place: fills missing numbers, sets
  /// unseen categories to 0 and normalises. Without folds it does nothing.
  void post_process(std::span<float> features) const;
  /// Writes the features of `rows`, as training reads them, to `out`: [rows.size(), features…]. They are normalised, or
  /// are the result of the transform of a data set of transformed(); rows that it does not store are computed here.
  void gather_features(std::span<const std::int64_t> rows, std::span<float> out) const;
  /// Writes the class numbers of `rows`, from 0, to `out`: [rows.size()], or [rows.size(), positions]. Precondition:
  /// targets are classes.
  void gather_labels(std::span<const std::int64_t> rows, std::span<std::int32_t> out) const;
  /// Writes the targets of `rows` as training uses them to `out`: [rows.size(), target_size]. They are normalised if
  /// there is a spec().target_normalization. Precondition: targets are numbers or labels 0 and 1.
  void gather_targets(std::span<const std::int64_t> rows, std::span<float> out) const;
  /// Writes the targets of `rows` as they are stored, not normalised, to `out`: [rows.size(), target_size]. That is as
  /// they were read, less spec().target_origin.
  void gather_raw_targets(std::span<const std::int64_t> rows, std::span<float> out) const;
  /// True means that rows have weights in the training loss. False: every row has weight 1.
  bool weighted() const { return weights_ && !weights_->empty(); }
  /// Writes the weights of `rows` in the training loss to `out`: [rows.size()]; see row_weights(). Precondition:
  /// weighted().
  void gather_weights(std::span<const std::int64_t> rows, std::span<float> out) const;

  /// Makes a data set without folds from raw rows and their split. Precondition: `raw` passed check_numbers().
  ///
  /// It keeps these fields of raw.spec: name, source, licence, features, vocab, classes, positions, target_size,
  /// multilabel, labels, schema, origin, target_origin, and with a schema the normalisation. It computes rows,
  /// split_rows, hash and the other normalisations. `normalize` is auto or none (features stay raw), `targets` is auto,
  /// standardize or raw. Only targets that are numbers are normalised, by auto too. Errors: kInvalidArgument (an
  /// unknown `normalize` or `targets`), those of row_weights().
  static Result<Dataset> make(RawData raw, Split split, const std::string& normalize, const std::string& targets,
                              const study::ClassWeights& class_weights = {});
  /// Sets rows, split_rows, normalisations and hash of raw.spec as make() does, and leaves features and targets
  /// unchanged. Errors: kInvalidArgument (an unknown `normalize` or `targets`).
  static Result<void> fit_statistics(RawData& raw, const Split& split, const std::string& normalize,
                                     const std::string& targets);
  /// Makes a data set with the rows, targets, weights and split of `base`, in which `transform` computes the features.
  /// Its spec has another shape and hash, and no vocabulary, schema, folds or normalisation of features. Samples that
  /// `keep` selects are computed here, and their bytes are charged to `budget` (null: no limit). Unless all are
  /// kept, `base` must outlive the data set and its copies. Errors: kResourceExhausted (kept samples exceed the budget,
  /// the memory, or kMaxFeatures numbers).
  static Result<Dataset> transformed(const Dataset& base, Transform transform, StoredSamples keep,
                                     MemoryBudget* budget);
  /// Makes a data set with folds from raw rows and one split for each fold, all with the same test part. Missing
  /// numbers of tables in `raw` are NaN, and its schema was fitted to all rows outside the test part. Precondition:
  /// there is a split. Other arguments and errors are those of make().
  static Result<Dataset> make_folded(RawData raw, const std::vector<Split>& splits, const std::string& normalize,
                                     const std::string& targets, const study::ClassWeights& class_weights = {});

 private:
  static constexpr std::int64_t kNotStored = -1;
  void gather_streamed(std::span<const std::int64_t> rows, std::span<float> out) const;

  DataSpec spec_;
  std::vector<std::string> data_warnings_;
  std::vector<ReadingDecision> decisions_;
  std::shared_ptr<const std::vector<float>> features_;
  std::shared_ptr<const PostProcess> post_process_;  // of gathered features; null: features_ are final
  std::vector<std::int64_t> stored_row_;             // with a stream: row in features_, or kNotStored
  std::shared_ptr<const MemoryBudget::Reservation> memory_;
  std::shared_ptr<const std::vector<std::int32_t>> labels_;
  std::shared_ptr<const std::vector<float>> targets_;           // in the unit of the source
  std::shared_ptr<const std::vector<float>> standard_targets_;  // empty where training uses targets_
  std::shared_ptr<const std::vector<float>> weights_;           // empty where all weights are equal
  Split rows_;
  std::shared_ptr<const std::vector<Dataset>> trainings_;  // with folds
  std::shared_ptr<const Dataset> fold_union_;
};

/// Opens `config.source`, "kind:argument?option=value" (see catalog.h), as a normalised and split data set. Relative
/// paths are relative to `folder`.
///
/// The split is a stratified shuffle with a fixed seed, which no study changes. An official test part stays whole.
/// Texts are split into blocks, and tables by the column of group= or order=, if there is one. With `config.folds` the
/// training and validation rows are assigned to folds,
/// `repetitions` times in different ways: DataSpec::folds has folds times repetitions entries. Errors: kNotFound,
/// kInvalidArgument (source notation, split; where = "data.folds" for impossible folds), kDataLoss (a file that breaks
/// a rule, with the rule), kResourceExhausted (files or features too large, files.h), kUnimplemented (formats that are
/// refused).
Result<Dataset> open(const study::DataConfig& config, const std::string& folder, FileSystem& fs,
                     std::int64_t repetitions = 1);

/// Reads a source as open() does and returns its rows before normalisation, and their split. Tables are encoded; the
/// training mean replaces missing numbers. With config.folds the split is one with a validation part, and no folds are
/// made. Errors: those of open() (kNotFound, kInvalidArgument, kDataLoss, kResourceExhausted, kUnimplemented).
Result<std::pair<RawData, Split>> open_raw(const study::DataConfig& config, const std::string& folder, FileSystem& fs);

/// `rows` in the random order in which epoch number `epoch` (from 0) trains on them: a function of the arguments alone.
std::vector<std::int64_t> epoch_order(const std::vector<std::int64_t>& rows, std::uint64_t data_seed,
                                      std::int64_t epoch);

}  // namespace lanista::data
