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

/// One way to change a training sample without changing what it shows. Keeps no state: many threads may use one.
class Augmentation {
 public:
  virtual ~Augmentation() = default;
  /// Changes the features of one sample in place; every decision is drawn from `rng`.
  virtual void apply(Rng rng, std::span<float> features) const = 0;
  /// Whether it only moves features within their channel or sets them to black, so that a normalisation before it or
  /// after it gives the same bits.
  virtual bool only_moves_features() const { return false; }
};

/// What an augmentation may know of the samples.
struct SampleLayout {
  graph::Shape shape;        ///< of one sample: [C, H, W] for images
  std::vector<float> black;  ///< a sample of zeros, normalised: what lies outside of an image
};

struct AugmentPlugin {
  std::string name;
  std::string help;
  std::vector<OptionSpec> options;
  /// Errors: kInvalidArgument naming the shape.
  std::function<Result<std::unique_ptr<const Augmentation>>(const Options&, const SampleLayout&)> make;
};

/// crop, flip, shift, erase (for images); noise (for all).
std::vector<AugmentPlugin> builtin_augmentations();

/// A list of augmentations, applied in its order. The same (data seed, epoch, sample) gives the same bits in any batch,
/// lane and thread, and after a resume. Copies share the list; many threads may use one.
class Augmenter {
 public:
  /// Of streamed data the samples that are transformed are augmented, not those that come out.
  /// Errors: kInvalidArgument (unknown name with the nearest, options, data that do not suit); `where` is the place,
  /// such as "data.augment[1]".
  static Result<Augmenter> make(std::span<const study::PluginConfig> augment, const DataSpec& data);

  /// Nothing is to be done: training samples lie in memory as they are.
  bool empty() const { return augmentations_.empty() && !stream_; }
  /// `sample` is the row's number in the data set, `epoch` the trial's own, `features` one normalised sample. Where
  /// samples are streamed, what is behind the augmentations is computed anew: `gather` does that for many at once.
  void apply(std::uint64_t data_seed, std::int64_t epoch, std::int64_t sample, std::span<float> features) const;
  /// Training samples of `data` as they are in this epoch: [rows.size(), features…].
  void gather(const Dataset& data, std::uint64_t data_seed, std::int64_t epoch, std::span<const std::int64_t> rows,
              std::span<float> out) const;
  /// How many of them, from the first on, only move features; none where samples are streamed.
  std::size_t num_leading_moves() const;
  /// Those from `first` on, of a sample in which the others have been applied. Not of streamed samples.
  void apply_from(std::size_t first, std::uint64_t data_seed, std::int64_t epoch, std::int64_t sample,
                  std::span<float> features) const;

 private:
  void augment_row(std::uint64_t data_seed, std::int64_t epoch, std::int64_t sample, std::span<float> features) const {
    apply_from(0, data_seed, epoch, sample, features);
  }

  std::vector<std::shared_ptr<const Augmentation>> augmentations_;
  std::shared_ptr<const SampleStream> stream_;  // of the data, if they have one
};

}  // namespace lanista::data
