#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/spaces/blueprint.h"

// Chains that the published spaces are made of. Convolutions of odd windows keep the size at stride 1, halve it at
// stride 2, and have no offset, since a batch_norm follows.
namespace lanista::mutate::spaces {

/// One behind the other.
Chain chained(std::initializer_list<Chain> parts);

Chain conv_bn(Setting out, Setting kernel, Setting stride = 1);
Chain conv_bn_act(Setting out, Setting kernel, Setting stride = 1, std::string_view act = "relu");
Chain act_conv_bn(Setting out, Setting kernel, Setting stride = 1, std::string_view act = "relu");
Chain depthwise_bn(Setting kernel, Setting stride = 1);
Block max_pool(std::int64_t kernel, Setting stride);
Block avg_pool(std::int64_t kernel, Setting stride);  ///< the mean of what lies inside the image
/// Halves the image to `out` channels and reads every pixel grid it passes: one half of the channels are a 1x1
/// convolution of the even rows and columns, the other of the odd ones; both are normalised together.
Chain factorised_reduction(std::int64_t out);
/// Means over the image, dropout if `dropout` is positive, then the outputs.
Chain classifier(double dropout = 0, bool bias = true);

/// Squeeze and excite (Hu et al., CVPR'18): each of `channels` channels times a gate computed from all of their means,
/// by way of `squeezed` values. Both are formulas; in `squeezed`, `in` is the number of channels.
Chain squeeze_excite(const std::string& channels, const std::string& squeezed, std::string_view gate = "sigmoid");

/// What the inner layers of an inverted residual are like.
struct InvertedResidualOptions {
  std::string_view act = "relu6";
  std::string_view gate = "sigmoid";
  std::string squeeze = {};   ///< formula: with squeeze and excite? empty: without
  std::string squeezed = {};  ///< formula: see squeeze_excite
};
/// Depthwise convolution, `act`, squeeze and excite as `form` says over `hidden` channels, 1x1 convolution to `out`.
Chain depthwise_separable(const std::string& hidden, const std::string& out, Setting kernel, Setting stride,
                          const InvertedResidualOptions& form = {});
/// Inverted residual (MobileNetV2, Sandler et al., CVPR'18) without its shortcut: a 1x1 convolution to `hidden`
/// channels, a depthwise one, a 1x1 convolution to `out`.
Chain inverted_residual(const std::string& hidden, const std::string& out, Setting kernel, Setting stride,
                        const InvertedResidualOptions& form = {});

std::vector<std::int64_t> input_shape(const ModelInterface& ends);
/// Errors: kInvalidArgument unless samples are images [C, H, W] of at least `size` x `size`.
Result<void> require_images(std::string_view space, const ModelInterface& ends, std::int64_t size);

}  // namespace lanista::mutate::spaces
