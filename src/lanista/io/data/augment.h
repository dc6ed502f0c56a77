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

/// A random change of the features of a training sample that keeps its target. It has no mutable state, so that many
/// threads may use one object.
class Augmentation {
 public:
  virtual ~Augmentation() = default;
  /// Changes the normalised features of one sample in place. Equal `rng` and features give equal results.
  virtual void apply(Rng rng, std::span<float> features) const = 0;
  /// True means that it only moves features within their channel or sets them to black. Then normalisation before it
  /// and normalisation after it give the same bits.
  virtual bool only_moves_features() const { return false; }
};

/// The shape of the samples that an augmentation will change, and their black.
struct SampleLayout {
  graph::Shape shape;  ///< shape of one sample without the batch: [C, H, W] for images
  /// Features of a raw sample of zeros after normalisation, for positions outside of an image.
  std::vector<float> black;
};

/// One kind of augmentation: name, options and factory.
struct AugmentPlugin {
  std::string name;                 ///< its name in data.augment: "crop"
  std::string help;                 ///< one sentence for the user
  std::vector<OptionSpec> options;  ///< its options, in the order of the help
  /// Makes the augmentation from resolved options. Errors: kInvalidArgument (the shape or an option does not fit images
  /// [C, H, W]); `where` is the option or empty.
  std::function<Result<std::unique_ptr<const Augmentation>>(const Options&, const SampleLayout&)> make;
};

/// The built-in augmentations: crop, flip, shift and erase for images [C, H, W], noise for all samples of real numbers.
std::vector<AugmentPlugin> builtin_augmentations();

/// A list of augmentations, applied in order. Equal data seed, epoch and row give equal bits in any batch, lane and
/// thread, and after a resume. It is immutable: copies share the list, and many threads may use one object.
class Augmenter {
 public:
  /// Makes the augmentations that `augment`, the setting data.augment, lists. If `data` is streamed (DataSpec::stream),
  /// they change samples of the base data set before the transform. Errors: kInvalidArgument (an unknown name, with the
  /// nearest; invalid options; tokens or a shape that does not fit). `where` is the setting: "data.augment[1]" or, for
  /// an option, "data.augment[1].pad".
  static Result<Augmenter> make(std::span<const study::PluginConfig> augment, const DataSpec& data);

  /// True means that training samples are used as the data set stores them: no augmentation, and data not streamed.
  bool empty() const { return augmentations_.empty() && !stream_; }
  /// Augments the normalised features of row `sample` of the data set in place; `epoch` is the epoch of the trial, from
  /// 0. If data are streamed, the old content of `features` is ignored: the augmented sample is computed from its base
  /// sample. Without augmentations it does nothing, also for streamed data. gather() handles many samples at once.
  void apply(std::uint64_t data_seed, std::int64_t epoch, std::int64_t sample, std::span<float> features) const;
  /// Writes the samples `rows` of `data`, augmented for this epoch, to `out`: [rows.size(), features…].
  void gather(const Dataset& data, std::uint64_t data_seed, std::int64_t epoch, std::span<const std::int64_t> rows,
              std::span<float> out) const;
  /// Number of augmentations before the first one without only_moves_features(); 0 if data are streamed.
  std::size_t num_leading_moves() const;
  /// Applies the augmentations from index `first` (from 0) to the end of the list, in place. Precondition: data are not
  /// streamed.
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
