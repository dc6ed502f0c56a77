#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/data/raw_data.h"
#include "lanista/data/spec.h"
#include "lanista/data/split.h"
#include "lanista/data/transform.h"
#include "lanista/study/config.h"

namespace lanista::data {

enum class Part { kTrain, kValidation, kTest };

/// A data set in memory, normalised, split. Immutable; many threads may read it. Targets that are numbers are there
/// twice where they are standardised: what training sees, and what they are.
class Dataset {
 public:
  const DataSpec& spec() const { return spec_; }
  /// What may not have been meant in what was read, and what to do about it: for people, whole sentences.
  const std::vector<std::string>& remarks() const { return remarks_; }
  /// Row numbers (into features and targets) of a part, ascending.
  const std::vector<std::int64_t>& rows(Part part) const { return rows_[static_cast<std::size_t>(part)]; }
  /// Copies the features of `rows` one after the other: [rows.size(), features…].
  void gather_features(std::span<const std::int64_t> rows, std::span<float> out) const;
  void gather_labels(std::span<const std::int64_t> rows, std::span<std::int32_t> out) const;
  /// As training sees them: in the units of spec().target_normalization, if there is one. [rows.size(), target_size]
  void gather_targets(std::span<const std::int64_t> rows, std::span<float> out) const;
  /// In their own unit, the bits of the source.
  void gather_raw_targets(std::span<const std::int64_t> rows, std::span<float> out) const;
  /// Whether rows count differently in the training loss.
  bool weighted() const { return !weights_.empty(); }
  /// How much (row_weights); of a weighted set alone.
  void gather_weights(std::span<const std::int64_t> rows, std::span<float> out) const;

  /// From raw numbers that have passed check_numbers, and their split. Of the specification, name, source, licence,
  /// features, classes, target_size, multilabel, labels, schema are read, and the normalisation if there is a schema; the rest is
  /// found. `normalize`, `targets` and `class_weights` as in study::DataConfig; classes stay as they are, whatever
  /// `targets` says. Errors: kInvalidArgument (either is none of the words), those of row_weights.
  static Result<Dataset> make(RawData raw, Split split, const std::string& normalize, const std::string& targets,
                              const study::ClassWeights& class_weights = {});
  /// What `make` finds of the numbers, without normalising them: rows, normalisations, hash. Errors: as of `make`.
  static Result<void> settle(RawData& raw, const Split& split, const std::string& normalize,
                             const std::string& targets);
  /// The same rows, targets and split with other features. What is kept is computed here, and its memory taken out of
  /// `budget` (may be null); unless all is kept, `base` outlives the data set and its copies. Errors:
  /// kResourceExhausted.
  static Result<Dataset> transformed(const Dataset& base, Transform transform, Keep keep, MemoryBudget* budget);

 private:
  static constexpr std::int64_t kNowhere = -1;
  void gather_stream(std::span<const std::int64_t> rows, std::span<float> out) const;

  DataSpec spec_;
  std::vector<std::string> remarks_;
  std::vector<float> features_;
  std::vector<std::int64_t> place_;  // with a stream: of each row in features_, or kNowhere
  std::shared_ptr<const MemoryBudget::Reservation> memory_;
  std::vector<std::int32_t> labels_;
  std::vector<float> targets_;           // in their own unit
  std::vector<float> standard_targets_;  // empty where training sees the others
  std::vector<float> weights_;           // empty where all rows count alike
  Split rows_;
};

/// Opens `config.source`, "kind:argument?option=value" (see catalog.h); relative paths are relative to `folder`. The
/// split is a seeded stratified shuffle (seed fixed by the data, not by the study's seed), unless the source brings an
/// official test part or is a text. Errors: kNotFound, kInvalidArgument (source notation, split), kDataLoss (a file
/// that breaks a rule: which, where), kResourceExhausted (files or features too large, files.h), kUnimplemented
/// (formats that are refused).
Result<Dataset> open(const study::DataConfig& config, const std::string& folder, FileSystem& fs);

/// The same as raw numbers and their split, for those who look at both. Errors: the same.
Result<std::pair<RawData, Split>> open_raw(const study::DataConfig& config, const std::string& folder, FileSystem& fs);

/// The samples of an epoch in training order: a function of data seed and epoch alone.
std::vector<std::int64_t> epoch_order(const std::vector<std::int64_t>& rows, std::uint64_t data_seed,
                                      std::int64_t epoch);

}  // namespace lanista::data
