#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/model/spaces/blueprint.h"

namespace lanista::mutate {

/// Options of a published space under one name, such as the sizes that its paper trained.
struct Preset {
  std::string name;
  Options options;
};

/// A model space from the literature that study files can name: `builtin:NAME?option=value`.
struct PublishedSpace {
  std::string name;
  std::string help;    ///< one sentence
  std::string source;  ///< paper, section
  std::vector<OptionSpec> options;
  std::vector<Preset> presets;  ///< `preset=NAME` stands for their options; others given beside it go before
  /// The space between these ends. The options are resolved against `options`. Errors: kInvalidArgument if the data
  /// does not suit (images where tokens are wanted); Blueprint::make's.
  std::function<Result<Blueprint>(const graph::OpTable& ops, const ModelInterface& ends, const Options& options)> make;
};

/// In order of name: darts, enas_macro, enas_micro, mnasnet, mobilenetv3, nasbench101, nasbench201, nasnet,
/// proxylessnas, spos, transformer, wide_deep.
std::vector<PublishedSpace> published_spaces();

/// What `given` means for this space: its values, then those of the preset that it names, then the defaults. Errors:
/// resolve_options'.
Result<Options> resolve_space_options(const PublishedSpace& space, const nlohmann::json& given);

/// One of them by name; options left out get their defaults. Errors: kNotFound with the nearest name;
/// resolve_space_options', with `where` the option; make's.
Result<Blueprint> published_space(std::string_view name, const nlohmann::json& options, const graph::OpTable& ops,
                                  const ModelInterface& ends);

}  // namespace lanista::mutate
