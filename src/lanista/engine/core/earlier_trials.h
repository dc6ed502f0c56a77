#pragma once

#include <map>
#include <string>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/earlier_study.h"
#include "lanista/search/study/study_view.h"

namespace lanista::engine {

/// Trials that a new study imports from an earlier one.
struct ImportedTrials {
  study::Earlier earlier;                        ///< The imported trials.
  std::map<std::string, std::int64_t> left_out;  ///< Number of finished trials that do not fit, by reason.
};

/// Most JSON values and keys that imported trials may have; a log header holds some hundred trials.
inline constexpr std::size_t kMaxImportedValues = 300'000;
/// Number of values and keys in a JSON value, as the reader of a log counts them.
std::size_t count_json_values(const nlohmann::json& value);
/// Imports the finished trials of `old_study` into a new study of `config` over `models`. resolve_from_data() must have
/// been applied to `config`.
///
/// A trial fits if the new study could propose it and would train it in the same way. Its base model and mutators are
/// in the space, its model is within the limits, its hyper-parameters are values of the space, and the recipe uses them
/// in the same way. A setting may be fixed in one study and sampled in the other. The latest trials are kept, up to
/// kMaxImportedValues. Failed trials and duplicates are left out.
///
/// Errors: kInvalidArgument (the studies cannot be compared: other data, targets or augmentation, goals that the old
/// study has not measured, a frozen part, several trainings for each proposal), kDataLoss (a model cannot be rebuilt).
Result<ImportedTrials> import_trials(const study::StudyView& old_study, const study::StudyConfig& config,
                                     const data::DataSpec& data, const mutate::ModelSpace& models);

}  // namespace lanista::engine
