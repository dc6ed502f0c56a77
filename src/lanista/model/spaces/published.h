#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/model/spaces/blueprint.h"

namespace lanista::mutate {

/// A named set of option values of a published space, such as the sizes in its paper.
struct Preset {
  std::string name;  ///< name, as a value of the option `preset`
  Options options;   ///< option values by name; others keep their defaults
};

/// A model space from the literature. Study files use it as `builtin:NAME?option=value`.
struct PublishedSpace {
  std::string name;                 ///< name in study files
  std::string help;                 ///< one sentence for users
  std::string source;               ///< paper and section that define the space
  std::vector<OptionSpec> options;  ///< options with types and defaults
  std::vector<Preset> presets;      ///< sets of options for `preset=NAME`; single options override them
  /// Makes the blueprint for models with this input and these outputs. `options` has a value for each option. Errors:
  /// kInvalidArgument if the data do not fit, such as images for a space of token models; otherwise as in
  /// `Blueprint::make`.
  std::function<Result<Blueprint>(const graph::OpTable& ops, const ModelInterface& ends, const Options& options)> make;
};

/// All published spaces, sorted by name. Each call makes a new list.
///
/// They are darts, enas_macro, enas_micro, mnasnet, mobilenetv3, nasbench101, nasbench201, nasnet, proxylessnas, spos,
/// transformer and wide_deep.
std::vector<PublishedSpace> published_spaces();

/// Returns a value for each option of a space: from `given`, else from the preset that `given` names, else the default.
/// `given` is an object or null. Its key `preset` is "none" or a name, and only spaces with presets allow it. It is not
/// in the result. Errors: kInvalidArgument as in `resolve_options`; `where` is the name of the option.
Result<Options> resolve_space_options(const PublishedSpace& space, const nlohmann::json& given);

/// Makes the blueprint of a published space by name. Options that `options` lacks have their defaults.
/// Errors: kNotFound for an unknown space, with the nearest name; kInvalidArgument for an invalid option, with its name
/// in `where`; otherwise as in `PublishedSpace::make`.
Result<Blueprint> published_space(std::string_view name, const nlohmann::json& options, const graph::OpTable& ops,
                                  const ModelInterface& ends);

}  // namespace lanista::mutate
