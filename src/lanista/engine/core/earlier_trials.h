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

/// Trials that a new study imports, and why others are left out.
struct ImportedTrials {
  study::Earlier earlier;  ///< The imported trials, in the order of their source, and the number of those left out.
  /// Number of trials that are not imported, by reason as text for the user. Trials without a result that can be
  /// ranked, such as failed ones and duplicates, are not counted.
  std::map<std::string, std::int64_t> left_out;
};

/// Most JSON values and keys in the imported trials, because they must fit into the log header; enough for some hundred
/// trials.
inline constexpr std::size_t kMaxImportedValues = 300'000;
/// Number of values and object keys in a JSON value, itself included, as the reader of a log counts them.
std::size_t count_json_values(const nlohmann::json& value);
/// Imports the finished trials of `old_study` into a new study of `config` over `models`. resolve_from_data() must have
/// been applied to `config`.
///
/// A trial fits if the new study could propose it and would train it in the same way. Its base model and mutators are
/// in the space, its model is within the limits, and its hyper-parameters are values of the space. The recipe uses them
/// in the same way. A setting may be fixed in one study and sampled in the other. It must have as many epochs, and
/// all metrics of the goals and constraints. Its first weights must be random. Refinements do not fit.
///
/// If there are too many, the latest trials are imported, up to kMaxImportedValues. Failed trials, duplicates and
/// repeated trainings are skipped without a count.
///
/// Errors: kInvalidArgument (the studies cannot be compared, because data, targets, class weights or learning-rate
/// parts differ). The same error results from a frozen part or several trainings for each proposal. kDataLoss: a model
/// cannot be rebuilt.
Result<ImportedTrials> import_trials(const study::StudyView& old_study, const study::StudyConfig& config,
                                     const data::DataSpec& data, const mutate::ModelSpace& models);

}  // namespace lanista::engine
