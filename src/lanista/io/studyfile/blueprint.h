#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// Reads the model space under `model.space`: a mapping with `layers` and optional `choices`. Errors: kInvalidArgument,
/// kNotFound; `where` is the key inside the mapping ("layers[2].choice.of[0]").
Result<mutate::Blueprint> read_blueprint(const graph::OpTable& ops, const nlohmann::json& space);

/// The JSON Schema of that notation. It does not check operators and formulas; read_blueprint() does.
nlohmann::json blueprint_json_schema();

/// A published space "builtin:NAME?option=value&other=value".
struct NamedSpace {
  std::string name;                                   ///< of the space
  nlohmann::json options = nlohmann::json::object();  ///< plain values by name
};
/// Reads the notation of a published space. Errors: kInvalidArgument.
Result<NamedSpace> parse_named_space(const std::string& text);

/// Reads a published space and checks its name and its options. Errors: kInvalidArgument, kNotFound.
Result<NamedSpace> check_named_space(const std::string& text);

/// The model space of `model.space` between `ends`. Errors: kInvalidArgument, kNotFound with the key.
Result<mutate::BlueprintSpace> make_blueprint(const study::StudyConfig& config, const graph::OpTable& ops,
                                              const mutate::ModelInterface& ends);

/// Replaces the path of a YAML file in `model.space` (relative to `folder`) by its content, so that the resolved study
/// is complete. Errors: kNotFound, kIo; kInvalidArgument with the lines of the file.
Result<void> embed_model_space(study::StudyConfig& config, const std::string& folder, FileSystem& fs);

}  // namespace lanista::studyfile
