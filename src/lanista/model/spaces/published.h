#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/model/spaces/blueprint.h"

namespace lanista::mutate {

/// A named set of options of a published space, such as the sizes in its paper.
struct Preset {
  std::string name;  ///< value of the option `preset`
  Options options;   ///< option values
};

/// A model space from the literature. Study files use it as `builtin:NAME?option=value`.
struct PublishedSpace {
  std::string name;                 ///< name in study files
  std::string help;                 ///< one sentence for users
  std::string source;               ///< paper and section
  std::vector<OptionSpec> options;  ///< options with types and defaults
  std::vector<Preset> presets;      ///< sets of options for `preset=NAME`; single options override them
  /// Makes the blueprint for this input and output. `options` has a value for each option.
  /// Errors: kInvalidArgument if the data do not fit, such as images for a space of token models; those of
  /// `Blueprint::make`.
  std::function<Result<Blueprint>(const graph::OpTable& ops, const ModelInterface& ends, const Options& options)> make;
};

/// All published spaces, sorted by name.
///
/// They are darts, enas_macro, enas_micro, mnasnet, mobilenetv3, nasbench101, nasbench201, nasnet, proxylessnas, spos,
/// transformer and wide_deep.
std::vector<PublishedSpace> published_spaces();

/// Returns a value for each option of a space: from `given`, else from the preset that `given` names, else the default.
/// Errors: those of `resolve_options`.
Result<Options> resolve_space_options(const PublishedSpace& space, const nlohmann::json& given);

/// Makes the blueprint of a published space by name. Absent options have their defaults.
/// Errors: kNotFound with the nearest name; those of `resolve_space_options`, with the option in `where`; those of
/// `PublishedSpace::make`.
Result<Blueprint> published_space(std::string_view name, const nlohmann::json& options, const graph::OpTable& ops,
                                  const ModelInterface& ends);

}  // namespace lanista::mutate
