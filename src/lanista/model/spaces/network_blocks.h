#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/spaces/blueprint.h"

// Chains that published spaces share. A convolution with an odd window keeps the size at stride 1 and halves it at
// stride 2. It has no bias, because a batch_norm follows.
namespace lanista::mutate::spaces {

/// Returns one chain with the blocks of all parts in series.
Chain chained(std::initializer_list<Chain> parts);

/// Convolution to `out` channels and batch norm. The three settings may be constants, formulas or choices.
Chain conv_bn(Setting out, Setting kernel, Setting stride = 1);
/// Convolution, batch norm and activation.
Chain conv_bn_act(Setting out, Setting kernel, Setting stride = 1, std::string_view act = "relu");
/// Activation, convolution and batch norm.
Chain act_conv_bn(Setting out, Setting kernel, Setting stride = 1, std::string_view act = "relu");
/// Depthwise convolution, which keeps the number of channels, and batch norm.
Chain depthwise_bn(Setting kernel, Setting stride = 1);
/// Max-pooling with a padding of half the kernel, rounded down.
Block max_pool(std::int64_t kernel, Setting stride);
/// Average pooling with a padding of half the kernel, which the average does not count.
Block avg_pool(std::int64_t kernel, Setting stride);
/// Halves the image and gives it `out` channels, by a factorised reduction.
///
/// Half of the channels are a 1x1 convolution of the pixels in even rows and columns, the others of those in odd ones.
/// One batch norm follows.
Chain factorised_reduction(std::int64_t out);
/// Global average pooling, dropout if `dropout` is positive, and the linear output layer.
Chain classifier(double dropout = 0, bool bias = true);

/// Squeeze and excite (Hu et al., CVPR'18): multiplies each of `channels` channels by a gate, a function of the means
/// of all channels.
///
/// `squeezed` is the width of the hidden layer. Both are formulas; in `squeezed`, the name `in` is the number of
/// channels. `gate` is the last activation; the hidden layer has relu. The chain names two values "squeezed" and
/// "gate".
Chain squeeze_excite(const std::string& channels, const std::string& squeezed, std::string_view gate = "sigmoid");

/// The activations and the squeeze-and-excite part of an inverted residual.
struct InvertedResidualOptions {
  std::string_view act = "relu6";     ///< activation
  std::string_view gate = "sigmoid";  ///< activation of the squeeze-and-excite gate
  std::string squeeze = {};           ///< boolean formula: true adds squeeze and excite; empty: false
  std::string squeezed = {};          ///< formula for the argument of squeeze_excite()
};
/// Depthwise convolution, batch norm, activation, squeeze and excite by `form`, 1x1 convolution to `out`, batch norm.
/// The input must have `hidden` channels; both are formulas.
Chain depthwise_separable(const std::string& hidden, const std::string& out, Setting kernel, Setting stride,
                          const InvertedResidualOptions& form = {});
/// Inverted residual (MobileNetV2, Sandler et al., CVPR'18) without its shortcut: a 1x1 convolution to `hidden`
/// channels with batch norm and activation, then depthwise_separable(). `hidden` and `out` are formulas.
Chain inverted_residual(const std::string& hidden, const std::string& out, Setting kernel, Setting stride,
                        const InvertedResidualOptions& form = {});

/// The attribute "shape" of ModelInterface::input, the shape of one sample without batch; empty if it is not set.
std::vector<std::int64_t> input_shape(const ModelInterface& ends);
/// Checks that samples are images [C, H, W] with height and width of at least `size`. Errors: kInvalidArgument; the
/// message names `space`.
Result<void> require_images(std::string_view space, const ModelInterface& ends, std::int64_t size);

}  // namespace lanista::mutate::spaces
