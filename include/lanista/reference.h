#pragma once

#include <string>
#include <vector>

namespace lanista {

/// A name that a study file may use, with its description.
struct ReferenceEntry {
  std::string name;  ///< Name as in a study file.
  std::string help;  ///< Description in one sentence.
};

std::vector<ReferenceEntry> data_sources();    ///< Returns the kinds of `data.source`.
std::vector<ReferenceEntry> operators();       ///< Returns the operators of models.
std::vector<ReferenceEntry> optimizers();      ///< Returns the names for `train.optimizer`.
std::vector<ReferenceEntry> losses();          ///< Returns the names for `train.loss`.
std::vector<ReferenceEntry> metrics();         ///< Returns the names for `train.metrics`, without the prefix of a part.
std::vector<ReferenceEntry> strategies();      ///< Returns the names for `strategy.name`.
std::vector<ReferenceEntry> stopping_rules();  ///< Returns the names for `stop.rule`.
std::vector<ReferenceEntry> mutators();        ///< Returns the names for `space.mutate`.

/// Returns the JSON Schema of the study file as JSON text.
std::string study_file_schema();

}  // namespace lanista
