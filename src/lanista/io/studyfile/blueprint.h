#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// The space of models under `model.space`, in the study file's notation (docs/study-file.md): a mapping with `layers`
/// and perhaps `choices`. Errors: kInvalidArgument, kNotFound; `where` is the key inside the mapping
/// ("layers[2].choice.of[0]").
Result<mutate::Blueprint> read_blueprint(const graph::OpTable& ops, const nlohmann::json& space);

/// JSON Schema of that notation, as far as one can say it: operators and formulas are checked when it is read.
nlohmann::json blueprint_json_schema();

/// A published space "builtin:NAME?option=value&other=value": its name and its options, as plain values. Errors:
/// kInvalidArgument.
struct NamedSpace {
  std::string name;
  nlohmann::json options = nlohmann::json::object();
};
Result<NamedSpace> parse_named_space(const std::string& text);

/// Whether there is such a space and it has such options. Errors: kInvalidArgument, kNotFound.
Result<NamedSpace> check_named_space(const std::string& text);

/// What `model.space` says, as a space of models between `ends`. Errors: kInvalidArgument, kNotFound with the key.
Result<mutate::BlueprintSpace> make_blueprint(const study::StudyConfig& config, const graph::OpTable& ops,
                                              const mutate::ModelInterface& ends);

/// Where `model.space` is the path of a YAML file (relative to `folder`), puts what it says in its place, so that the
/// resolved study is whole. Errors: kNotFound, kIo; kInvalidArgument with the file's lines.
Result<void> embed_model_space(study::StudyConfig& config, const std::string& folder, FileSystem& fs);

}  // namespace lanista::studyfile
