#pragma once

#include <string>
#include <vector>

namespace lanista {

/// A name that a study file may use, with its description.
struct ReferenceEntry {
  std::string name;  ///< As in a study file.
  std::string help;  ///< One sentence.
};

std::vector<ReferenceEntry> data_sources();    ///< Kinds of `data.source`.
std::vector<ReferenceEntry> operators();       ///< Operators of models.
std::vector<ReferenceEntry> optimizers();      ///< Names for `train.optimizer`.
std::vector<ReferenceEntry> losses();          ///< Names for `train.loss`.
std::vector<ReferenceEntry> metrics();         ///< Names for `train.metrics`, without the prefix of a part.
std::vector<ReferenceEntry> strategies();      ///< Names for `strategy.name`.
std::vector<ReferenceEntry> stopping_rules();  ///< Names for `stop.rule`.
std::vector<ReferenceEntry> mutators();        ///< Names for `space.mutate`.

/// The JSON Schema of the study file.
std::string study_file_schema();

}  // namespace lanista
