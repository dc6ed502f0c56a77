#include <utility>

#include "lanista/model/spaces/builtin.h"
#include "lanista/model/spaces/network_blocks.h"

namespace lanista::mutate {
namespace {

Result<Blueprint> network(const graph::OpTable& ops, const ModelInterface& ends, const Options& options) {
  const auto dims = spaces::input_shape(ends);
  if (dims.size() != 1) {
    return Error{Code::kInvalidArgument,
                 "the space 'wide_deep' needs rows of a table, but the samples are " + graph::attr_text(dims), ""};
  }
  const auto width = options.at("width").get<std::int64_t>();
  const auto depth = options.at("depth").get<std::int64_t>();

  Repeat hidden{.label = "depth", .depth = space::IntRange{1, depth}, .layers = {}};
  hidden.own = true;
  hidden.layers = {layer("linear", {{"out", pick("width", {width / 2, width, 2 * width})}}),
                   choice("act", {{"relu", {layer("relu")}}, {"gelu", {layer("gelu")}}, {"tanh", {layer("tanh")}}})};
  const Block answer = layer("linear", {{"out", formula("outputs")}});
  const Chain deep{{std::move(hidden)}, layer("dropout", {{"p", pick("dropout", {0.0, 0.1, 0.3})}}), answer};
  return Blueprint::make(
      ops, {choice("parts", {{"wide", {answer}}, {"deep", deep}, {"wide_deep", {parallel({{answer}, deep})}}})});
}

}  // namespace

PublishedSpace wide_deep_space() {
  return {"wide_deep",
          "for tables: a linear model, a deep one, or the sum of both",
          "Cheng et al., DLRS'16, section 3 (without crossed columns)",
          {{"width", kInt, 32, 2, 65536, {}, "features of a hidden layer; half and twice as many are tried too"},
           {"depth", kInt, 3, 1, 16, {}, "hidden layers, at most"}},
          {},
          network};
}

}  // namespace lanista::mutate
