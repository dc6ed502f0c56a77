#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/base/rng.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/spec.h"
#include "lanista/search/study/config.h"

namespace lanista::data {

/// A random change of a training sample that keeps its target. It has no state, so that many threads may use one.
class Augmentation {
 public:
  virtual ~Augmentation() = default;
  /// Changes the features of one sample in place; every random decision comes from `rng`.
  virtual void apply(Rng rng, std::span<float> features) const = 0;
  /// Whether it only moves features within their channel or sets them to black. Normalisation before it and after it
  /// then give the same bits.
  virtual bool only_moves_features() const { return false; }
};

/// What an augmentation may use of the samples.
struct SampleLayout {
  graph::Shape shape;        ///< of one sample: [C, H, W] for images
  std::vector<float> black;  ///< a normalised sample of zeros, for positions outside of an image
};

/// One kind of augmentation.
struct AugmentPlugin {
  std::string name;                 ///< in data.augment
  std::string help;                 ///< one sentence for the user
  std::vector<OptionSpec> options;  ///< its options
  /// Makes the augmentation. Errors: kInvalidArgument with the shape.
  std::function<Result<std::unique_ptr<const Augmentation>>(const Options&, const SampleLayout&)> make;
};

/// The built-in augmentations: crop, flip, shift and erase for images, noise for all samples.
std::vector<AugmentPlugin> builtin_augmentations();

/// A list of augmentations, applied in order. Equal data seed, epoch and sample give equal bits in any batch, lane and
/// thread, and after a resume. Copies share the list. Many threads may use one.
class Augmenter {
 public:
  /// Makes the augmentations of data.augment. Of streamed data they change the samples before the transform.
  /// Errors: kInvalidArgument (unknown name with the nearest, options, data that do not fit); `where` is the setting,
  /// such as "data.augment[1]".
  static Result<Augmenter> make(std::span<const study::PluginConfig> augment, const DataSpec& data);

  /// Whether training samples are used as they are in memory.
  bool empty() const { return augmentations_.empty() && !stream_; }
  /// Augments one normalised sample in place. `sample` is its row in the data set, `epoch` the trial's epoch. Where
  /// samples are streamed, the transform is computed again; gather() does that for many samples at once.
  void apply(std::uint64_t data_seed, std::int64_t epoch, std::int64_t sample, std::span<float> features) const;
  /// Copies training samples of `data`, augmented for this epoch: [rows.size(), features…].
  void gather(const Dataset& data, std::uint64_t data_seed, std::int64_t epoch, std::span<const std::int64_t> rows,
              std::span<float> out) const;
  /// How many augmentations at the front of the list only move features; 0 where samples are streamed.
  std::size_t num_leading_moves() const;
  /// Applies the augmentations from number `first` on. Not for streamed samples.
  void apply_from(std::size_t first, std::uint64_t data_seed, std::int64_t epoch, std::int64_t sample,
                  std::span<float> features) const;

 private:
  void augment_row(std::uint64_t data_seed, std::int64_t epoch, std::int64_t sample, std::span<float> features) const {
    apply_from(0, data_seed, epoch, sample, features);
  }

  std::vector<std::shared_ptr<const Augmentation>> augmentations_;
  std::shared_ptr<const SampleStream> stream_;  // null: samples are not streamed
};

}  // namespace lanista::data
