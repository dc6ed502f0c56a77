#include <utility>

#include "lanista/base/option_specs.h"
#include "lanista/model/spaces/builtin.h"
#include "lanista/model/spaces/network_blocks.h"

namespace lanista::mutate {
namespace {

Error shape_error(const std::string& message) {
  return Error{Code::kInvalidArgument, "the space 'transformer' " + message, ""};
}

// Tokens pass through an embedding, real numbers through a linear layer. The next token is predicted, so that
// there are as many outputs as token kinds.
Result<Chain> entrance(const ModelInterface& ends) {
  const auto dims = spaces::input_shape(ends);
  const graph::AttrValue* dtype = ends.input.find("dtype");
  const bool tokens = dtype != nullptr && *dtype == graph::AttrValue(std::string("index"));
  if (dims.size() != (tokens ? 1u : 2u)) {
    return shape_error("needs tokens [T] or sequences [T, features], but the samples are " + graph::attr_text(dims));
  }
  const Block first = tokens ? layer("embedding", {{"vocab", formula("outputs")}, {"dim", formula("width")}})
                             : layer("linear", {{"out", formula("width")}});
  return Chain{first, layer("positional_embedding")};
}

Result<Blueprint> network(const graph::OpTable& ops, const ModelInterface& ends, const Options& options) {
  const auto width = options.at("width").get<std::int64_t>();
  if (width % 8 != 0)
    return shape_error("needs a width that is a multiple of 8, for up to 4 heads, not " + std::to_string(width));
  // If every position has an output, no position may read later ones.
  const bool everywhere = ends.positions > 0;
  const bool causal = everywhere || options.at("causal").get<bool>();
  LANISTA_ASSIGN(Chain chain, entrance(ends));

  const Chain attention{layer("layer_norm"),
                        layer("attention", {{"heads", pick("heads", {1, 2, 4})}, {"causal", causal}})};
  const Chain mlp{layer("layer_norm"), layer("linear", {{"out", formula("ratio * width")}}), layer("gelu"),
                  layer("linear", {{"out", formula("width")}})};
  Repeat blocks{.label = "depth",
                .depth = space::IntRange{1, options.at("depth").get<std::int64_t>()},
                .layers = {parallel({{}, attention}), parallel({{}, mlp})}};
  blocks.own = true;
  blocks.choices = {pick("ratio", {2, 3, 4})};
  chain.push_back({std::move(blocks)});
  chain.push_back(layer("layer_norm"));
  if (causal && !everywhere) {
    chain.push_back(layer("slice", {{"axis", 1}, {"start", -1}}));  // the last token has read all others
    chain.push_back(layer("flatten"));
  } else if (!everywhere) {
    chain.push_back(layer("mean", {{"axes", std::vector<std::int64_t>{1}}}));
  }
  chain.push_back(layer("linear", {{"out", formula("outputs")}}));
  return Blueprint::make(ops, std::move(chain), {pick("width", {width / 2, width, 2 * width})});
}

}  // namespace

PublishedSpace transformer_space() {
  return {"transformer",
          "pre-norm transformer: width, depth, and for each block its heads and MLP ratio",
          "Vaswani et al., NeurIPS'17; searched dimensions as in AutoFormer, Chen et al., ICCV'21, section 3",
          {{"width", kInt, 32, 8, 8192, {}, "features of a token; half and twice as many are tried too"},
           {"depth", kInt, 3, 1, 48, {}, "blocks, at most"},
           flag_option("causal", false,
                       "a token reads only earlier ones, and the last gives the output; always with task=next_token, "
                       "where each token gives one")},
          {},
          network};
}

}  // namespace lanista::mutate
