#include "lanista/io/data/augment.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lanista/base/edit_distance.h"
#include "lanista/base/option_specs.h"

namespace lanista::data {
namespace {

using MadeAugmentation = Result<std::unique_ptr<const Augmentation>>;

/// The sides of an image, in the order of its memory.
struct ImageDims {
  std::int64_t channels, height, width;
};

/// The sides of an image. Errors: kInvalidArgument for other shapes, and for `pixels` that are not below both sides.
Result<ImageDims> image_size_of(const graph::Shape& shape, const std::string& option, std::int64_t pixels) {
  if (shape.rank() != 3) {
    return Error{Code::kInvalidArgument, "changes images of shape [C,H,W], the samples here are " + shape.text(), ""};
  }
  const ImageDims sides{shape.dims[0], shape.dims[1], shape.dims[2]};
  if (pixels >= sides.height || pixels >= sides.width) {
    return Error{Code::kInvalidArgument,
                 std::to_string(pixels) + " pixels are too many for images of shape " + shape.text() +
                     "; it must be below both sides",
                 option};
  }
  return sides;
}

/// Moves an image by whole pixels. Pixels from outside are black, or the pixel at the edge again.
class Translation final : public Augmentation {
 public:
  Translation(const ImageDims& sides, std::int64_t most, std::vector<float> black)
      : image_size_(sides), max_pixels_(most), black_(std::move(black)) {}

  void apply(Rng rng, std::span<float> features) const override {
    const std::int64_t dy = rng.between(-max_pixels_, max_pixels_), dx = rng.between(-max_pixels_, max_pixels_);
    const std::int64_t h = image_size_.height;
    for (std::int64_t c = 0; c < image_size_.channels; ++c) {
      // In place: a row is written after its last read.
      for (std::int64_t i = 0; i < h; ++i) {
        const std::int64_t y = dy > 0 ? h - 1 - i : i;
        move_row(features, c * h + y, c * h + std::clamp<std::int64_t>(y - dy, 0, h - 1), dx);
        if (!black_.empty() && (y < dy || y >= h + dy)) fill_black(features, c * h + y, 0, image_size_.width);
      }
    }
  }
  bool only_moves_features() const override { return true; }

 private:
  void move_row(std::span<float> features, std::int64_t to, std::int64_t from, std::int64_t dx) const {
    const std::int64_t w = image_size_.width, kept = w - std::abs(dx);
    float* out = features.data() + to * w;
    const float* in = features.data() + from * w;
    const float edge = dx > 0 ? in[0] : in[w - 1];
    std::memmove(out + std::max<std::int64_t>(dx, 0), in + std::max<std::int64_t>(-dx, 0),
                 static_cast<std::size_t>(kept) * sizeof(float));
    const std::int64_t begin = dx > 0 ? 0 : kept, end = begin + std::abs(dx);
    std::fill(out + begin, out + end, edge);
    if (!black_.empty()) fill_black(features, to, begin, end);
  }
  void fill_black(std::span<float> features, std::int64_t row, std::int64_t begin, std::int64_t end) const {
    const auto at = row * image_size_.width;
    std::copy(black_.begin() + at + begin, black_.begin() + at + end, features.begin() + at + begin);
  }

  ImageDims image_size_;
  std::int64_t max_pixels_;
  std::vector<float> black_;  // empty: edges are repeated
};

class Flip final : public Augmentation {
 public:
  Flip(const ImageDims& sides, bool vertical) : image_size_(sides), vertical_(vertical) {}

  void apply(Rng rng, std::span<float> features) const override {
    if (!rng.bernoulli(0.5)) return;
    const auto w = static_cast<std::ptrdiff_t>(image_size_.width);
    for (std::int64_t c = 0; c < image_size_.channels; ++c) {
      const auto plane = features.begin() + c * image_size_.height * w;
      for (std::int64_t y = 0; y < (vertical_ ? image_size_.height / 2 : image_size_.height); ++y) {
        const auto row = plane + y * w;
        if (vertical_) {
          std::swap_ranges(row, row + w, plane + (image_size_.height - 1 - y) * w);
        } else {
          std::reverse(row, row + w);
        }
      }
    }
  }
  bool only_moves_features() const override { return true; }

 private:
  ImageDims image_size_;
  bool vertical_;
};

/// Cutout (DeVries and Taylor, 2017): a square with its middle anywhere in the image, so that it may reach outside.
class Erase final : public Augmentation {
 public:
  Erase(const ImageDims& sides, std::int64_t size, std::vector<float> black)
      : image_size_(sides), size_(size), black_(std::move(black)) {}

  void apply(Rng rng, std::span<float> features) const override {
    const auto range = [&](std::int64_t side) {
      const std::int64_t begin = rng.between(0, side - 1) - size_ / 2;
      return std::pair{std::max<std::int64_t>(begin, 0), std::min(begin + size_, side)};
    };
    const auto [top, bottom] = range(image_size_.height);
    const auto [left, right] = range(image_size_.width);
    for (std::int64_t c = 0; c < image_size_.channels; ++c) {
      for (std::int64_t y = top; y < bottom; ++y) {
        const std::int64_t row = (c * image_size_.height + y) * image_size_.width;
        std::copy(black_.begin() + row + left, black_.begin() + row + right, features.begin() + row + left);
      }
    }
  }
  bool only_moves_features() const override { return true; }

 private:
  ImageDims image_size_;
  std::int64_t size_;
  std::vector<float> black_;
};

class Noise final : public Augmentation {
 public:
  explicit Noise(double deviation) : deviation_(deviation) {}

  void apply(Rng rng, std::span<float> features) const override {
    for (float& x : features) x = static_cast<float>(static_cast<double>(x) + deviation_ * rng.normal());
  }

 private:
  double deviation_;
};

/// An augmentation of images with one option: a length in pixels, below both sides.
template <class Make>
AugmentPlugin plugin_with_pixels(std::string name, std::string help, OptionSpec pixels, Make make) {
  pixels.min = 1;
  return {std::move(name),
          std::move(help),
          {pixels},
          [make, option = pixels.name](const Options& options, const SampleLayout& form) -> MadeAugmentation {
            const auto length = options.at(option).get<std::int64_t>();
            LANISTA_ASSIGN(const ImageDims sides, image_size_of(form.shape, option, length));
            return MadeAugmentation(make(sides, length, form));
          }};
}

AugmentPlugin crop_plugin() {
  return plugin_with_pixels("crop", "pads an image with black and cuts it out again somewhere else",
                            option("pad", OptionSpec::Kind::kInt, 4, "pixels of black on every side"),
                            [](const ImageDims& sides, std::int64_t pad, const SampleLayout& form) {
                              return std::make_unique<Translation>(sides, pad, form.black);
                            });
}

AugmentPlugin shift_plugin() {
  return plugin_with_pixels("shift", "moves an image, repeating the pixels at its edges",
                            option("max", OptionSpec::Kind::kInt, 2, "pixels, at most, in each direction"),
                            [](const ImageDims& sides, std::int64_t most, const SampleLayout&) {
                              return std::make_unique<Translation>(sides, most, std::vector<float>{});
                            });
}

AugmentPlugin flip_plugin() {
  return {"flip",
          "mirrors every other image",
          {text_option("axis", "horizontal", "horizontal: left and right change places", {"horizontal", "vertical"})},
          [](const Options& options, const SampleLayout& form) -> MadeAugmentation {
            LANISTA_ASSIGN(const ImageDims sides, image_size_of(form.shape, "", 0));
            return MadeAugmentation(std::make_unique<Flip>(sides, options.at("axis") == "vertical"));
          }};
}

AugmentPlugin erase_plugin() {
  return plugin_with_pixels("erase", "blackens a square of an image",
                            option("size", OptionSpec::Kind::kInt, 2, "pixels, side of the square"),
                            [](const ImageDims& sides, std::int64_t size, const SampleLayout& form) {
                              return std::make_unique<Erase>(sides, size, form.black);
                            });
}

AugmentPlugin noise_plugin() {
  return {"noise",
          "adds Gaussian noise to every feature",
          {number_option("std", OptionSpec::Kind::kReal, 0.1, 0, 1e6,
                         "standard deviation, in units of the normalised features")},
          [](const Options& options, const SampleLayout&) -> MadeAugmentation {
            return MadeAugmentation(std::make_unique<Noise>(options.at("std").get<double>()));
          }};
}

MadeAugmentation make_one(const std::vector<AugmentPlugin>& plugins, const study::PluginConfig& requested,
                          const SampleLayout& form) {
  std::vector<std::string> names;
  std::string list;
  for (const AugmentPlugin& plugin : plugins) {
    if (plugin.name == requested.name) {
      LANISTA_ASSIGN(const Options options, resolve_options(requested.options, plugin.options));
      return plugin.make(options, form);
    }
    names.push_back(plugin.name);
    list += (list.empty() ? "" : ", ") + plugin.name;
  }
  const std::string nearest = nearest_name(requested.name, names);
  return Error{Code::kInvalidArgument,
               "unknown; allowed: " + list + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"), ""};
}

}  // namespace

std::vector<AugmentPlugin> builtin_augmentations() {
  return {crop_plugin(), flip_plugin(), shift_plugin(), erase_plugin(), noise_plugin()};
}

Result<Augmenter> Augmenter::make(std::span<const study::PluginConfig> augment, const DataSpec& spec) {
  Augmenter augmenter;
  augmenter.stream_ = spec.stream;
  if (augment.empty()) return augmenter;
  const DataSpec& data = spec.stream ? spec.stream->base->spec() : spec;
  if (data.vocab > 0) {
    return Error{Code::kInvalidArgument, augment[0].name + ": changes real numbers, the samples here are tokens",
                 "data.augment[0]"};
  }
  const std::vector<AugmentPlugin> plugins = builtin_augmentations();
  SampleLayout form{data.features, std::vector<float>(static_cast<std::size_t>(data.features.elements_per_sample()))};
  const std::size_t width = form.black.size();
  for (std::size_t i = 0; i < width && !data.origin.empty(); ++i) {
    form.black[i] = static_cast<float>(-data.origin[i * data.origin.size() / width]);
  }
  data.stored_normalization().apply(form.black, data.features.elements_per_sample());
  for (std::size_t i = 0; i < augment.size(); ++i) {
    auto made = make_one(plugins, augment[i], form);
    if (!made) {
      const Error& error = made.error();
      const std::string option = error.where.empty() ? "" : "." + error.where;
      return Error{error.code, augment[i].name + ": " + error.message,
                   "data.augment[" + std::to_string(i) + "]" + option};
    }
    augmenter.augmentations_.push_back(*std::move(made));
  }
  return augmenter;
}

std::size_t Augmenter::num_leading_moves() const {
  if (stream_) return 0;
  const auto other =
      std::ranges::find_if(augmentations_, [](const auto& each) { return !each->only_moves_features(); });
  return static_cast<std::size_t>(other - augmentations_.begin());
}

void Augmenter::apply_from(std::size_t first, std::uint64_t data_seed, std::int64_t epoch, std::int64_t sample,
                           std::span<float> features) const {
  const Rng rng = Rng(data_seed)
                      .split("augment")
                      .split(static_cast<std::uint64_t>(epoch))
                      .split(static_cast<std::uint64_t>(sample));
  for (std::size_t i = first; i < augmentations_.size(); ++i) augmentations_[i]->apply(rng.split(i), features);
}

void Augmenter::apply(std::uint64_t data_seed, std::int64_t epoch, std::int64_t sample,
                      std::span<float> features) const {
  if (!stream_) return augment_row(data_seed, epoch, sample, features);
  if (augmentations_.empty()) return;
  const auto changed = [&](std::int64_t row, std::span<float> raw) { augment_row(data_seed, epoch, row, raw); };
  stream_->gather(std::span(&sample, 1), changed, features);
}

void Augmenter::gather(const Dataset& data, std::uint64_t data_seed, std::int64_t epoch,
                       std::span<const std::int64_t> rows, std::span<float> out) const {
  if (stream_) {
    const auto changed = [&](std::int64_t row, std::span<float> raw) { augment_row(data_seed, epoch, row, raw); };
    return stream_->gather(rows, changed, out);
  }
  data.gather_features(rows, out);
  const auto width = static_cast<std::size_t>(data.spec().features.elements_per_sample());
  for (std::size_t i = 0; i < rows.size(); ++i) augment_row(data_seed, epoch, rows[i], out.subspan(i * width, width));
}

}  // namespace lanista::data
