#include "lanista/model/spaces/network_blocks.h"

#include <algorithm>
#include <utility>

namespace lanista::mutate::spaces {

Chain chained(std::initializer_list<Chain> parts) {
  Chain chain;
  for (const Chain& part : parts) chain.insert(chain.end(), part.begin(), part.end());
  return chain;
}

Chain conv_bn(Setting out, Setting kernel, Setting stride) {
  return {layer("conv2d", {{"out", std::move(out)},
                           {"kernel", std::move(kernel)},
                           {"stride", std::move(stride)},
                           {"padding", "same"},
                           {"bias", false}}),
          layer("batch_norm")};
}

Chain conv_bn_act(Setting out, Setting kernel, Setting stride, std::string_view act) {
  return chained({conv_bn(std::move(out), std::move(kernel), std::move(stride)), {layer(std::string(act))}});
}

Chain act_conv_bn(Setting out, Setting kernel, Setting stride, std::string_view act) {
  return chained({{layer(std::string(act))}, conv_bn(std::move(out), std::move(kernel), std::move(stride))});
}

Chain depthwise_bn(Setting kernel, Setting stride) {
  return {layer("depthwise_conv2d",
                {{"kernel", std::move(kernel)}, {"stride", std::move(stride)}, {"padding", "same"}, {"bias", false}}),
          layer("batch_norm")};
}

Block max_pool(std::int64_t kernel, Setting stride) {
  return layer("max_pool2d", {{"kernel", kernel}, {"stride", std::move(stride)}, {"padding", kernel / 2}});
}

Block avg_pool(std::int64_t kernel, Setting stride) {
  return layer(
      "avg_pool2d",
      {{"kernel", kernel}, {"stride", std::move(stride)}, {"padding", kernel / 2}, {"count_include_pad", false}});
}

Chain factorised_reduction(std::int64_t out) {
  using List = std::vector<std::int64_t>;
  const auto halving = [](std::int64_t channels, List padding) {
    return layer("conv2d",
                 {{"out", channels}, {"kernel", 1}, {"stride", 2}, {"padding", std::move(padding)}, {"bias", false}});
  };
  // If the size is odd, the shifted image gets a row and a column of zeros, so that both halves have one size.
  const Chain shifted{layer("slice", {{"axis", 2}, {"start", 1}}), layer("slice", {{"axis", 3}, {"start", 1}}),
                      halving(out - out / 2, {0, 1, 0, 1})};
  return {parallel({{halving(out / 2, {0})}, shifted}, Join::kConcat), layer("batch_norm")};
}

Chain classifier(double dropout, bool bias) {
  Chain chain{layer("global_avg_pool")};
  if (dropout > 0) chain.push_back(layer("dropout", {{"p", dropout}}));
  chain.push_back(layer("linear", {{"out", formula("outputs")}, {"bias", bias}}));
  return chain;
}

Chain squeeze_excite(const std::string& channels, const std::string& squeezed, std::string_view gate) {
  const Chain excite{layer("global_avg_pool"), layer("linear", {{"out", formula(squeezed)}}), layer("relu"),
                     layer("linear", {{"out", formula(channels)}}), layer(std::string(gate))};
  return {
      group({named("squeezed", group({})), named("gate", group(excite)), from({"squeezed", "gate"}, layer("scale"))})};
}

Chain depthwise_separable(const std::string& hidden, const std::string& out, Setting kernel, Setting stride,
                          const InvertedResidualOptions& form) {
  Chain chain = chained({depthwise_bn(std::move(kernel), std::move(stride)), {layer(std::string(form.act))}});
  if (!form.squeeze.empty()) {
    chain.push_back(when(form.squeeze, squeeze_excite(hidden, form.squeezed, form.gate)));
  }
  return chained({std::move(chain), conv_bn(formula(out), 1)});
}

Chain inverted_residual(const std::string& hidden, const std::string& out, Setting kernel, Setting stride,
                        const InvertedResidualOptions& form) {
  return chained({conv_bn_act(formula(hidden), 1, 1, form.act),
                  depthwise_separable(hidden, out, std::move(kernel), std::move(stride), form)});
}

std::vector<std::int64_t> input_shape(const ModelInterface& ends) {
  const graph::AttrValue* shape = ends.input.find("shape");
  const auto* dims = shape == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(shape);
  return dims == nullptr ? std::vector<std::int64_t>{} : *dims;
}

Result<void> require_images(std::string_view space, const ModelInterface& ends, std::int64_t size) {
  const auto dims = input_shape(ends);
  if (dims.size() == 3 && std::min(dims[1], dims[2]) >= size) return {};
  const std::string least = std::to_string(size);
  return Error{Code::kInvalidArgument,
               "the space '" + std::string(space) + "' needs images [C, H, W] of at least " + least + "x" + least +
                   ", but the samples are " + graph::attr_text(dims),
               ""};
}

}  // namespace lanista::mutate::spaces
