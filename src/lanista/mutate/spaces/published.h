#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/mutate/blueprint.h"

namespace lanista::mutate {

/// A model space from the literature that study files can name: `builtin:NAME?option=value`.
struct PublishedSpace {
  std::string name;
  std::string help;    ///< one sentence
  std::string source;  ///< paper, section
  std::vector<OptionSpec> options;
  /// The space between these ends. The options are resolved against `options`. Errors: kInvalidArgument if the data
  /// does not suit (images where tokens are wanted); Blueprint::make's.
  std::function<Result<Blueprint>(const graph::OpTable& ops, const Ends& ends, const Options& options)> make;
};

/// In order of name: darts, enas_macro, enas_micro, mnasnet, mobilenetv3, nasbench101, nasbench201, nasnet,
/// proxylessnas, spos, transformer, wide_deep.
std::vector<PublishedSpace> published_spaces();

/// One of them by name; options left out get their defaults. Errors: kNotFound with the nearest name; resolve_options',
/// with `where` the option; make's.
Result<Blueprint> published_space(std::string_view name, const nlohmann::json& options, const graph::OpTable& ops,
                                  const Ends& ends);

}  // namespace lanista::mutate
