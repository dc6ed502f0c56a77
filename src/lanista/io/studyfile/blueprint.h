#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// The blueprint that `space`, the JSON value of `model.space`, describes: a mapping with `layers` and optional
/// `choices`. Errors: kInvalidArgument (another form), kNotFound (an unknown operator); `where` is the key inside the
/// mapping, such as "layers[2].choice.of[0]". Ranges are read by the rules of the study.
Result<mutate::Blueprint> read_blueprint(const graph::OpTable& ops, const nlohmann::json& space,
                                         std::int64_t rules = study::kLatestRules);

/// The JSON Schema of the mapping that read_blueprint() reads. It does not check operators,
/// formulas, or the content of blocks inside other blocks.
nlohmann::json blueprint_json_schema();

/// A parsed name of a published space: "builtin:NAME?option=value&other=value".
struct NamedSpace {
  std::string name;                                   ///< NAME of the space
  nlohmann::json options = nlohmann::json::object();  ///< object of option values by name; not resolved
};
/// Parses the name of a published space, which may be unknown. A value with commas is a list. Precondition: `text`
/// begins with "builtin:". Errors: kInvalidArgument (an option without name or '=').
Result<NamedSpace> parse_named_space(const std::string& text);

/// Parses the name of a published space and checks it. Errors: kNotFound (no such space, with the nearest name);
/// kInvalidArgument (invalid options).
Result<NamedSpace> check_named_space(const std::string& text);

/// The model space that config.model.space describes, for models with the input and output of `ends`. Errors:
/// kInvalidArgument (mistakes in the space, or a file that embed_model_space() did not read), kNotFound (an unknown
/// operator or space); `where` is the full key, such as "model.space.layers[2]".
Result<mutate::BlueprintSpace> make_blueprint(const study::StudyConfig& config, const graph::OpTable& ops,
                                              const mutate::ModelInterface& ends);

/// If `model.space` is the path of a YAML file, relative to `folder`, replaces it by the content of the file, so that
/// the resolved study is complete. Any other space does not change. Errors: kNotFound (no such file), kIo;
/// kInvalidArgument (the first mistake in the file, with its line in `message` or `where`).
Result<void> embed_model_space(study::StudyConfig& config, const std::string& folder, FileSystem& fs);

}  // namespace lanista::studyfile
