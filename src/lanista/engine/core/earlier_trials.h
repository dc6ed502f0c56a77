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

/// What a new study can take over of an earlier one.
struct ImportedTrials {
  study::Earlier earlier;
  std::map<std::string, std::int64_t> left_out;  ///< why finished trials do not fit, and how many
};

/// The finished trials of `old_study` as ones of the study that `config` begins (resolve_from_data has settled it) over `models`.
/// A trial fits if this study could propose it, and training it would be the same training: its base is one of these,
/// its mutators are in the space, its model keeps to the limits, its hyper-parameters are values of the space, and what
/// the recipe does with them is the same; a number that was fixed and is drawn now counts as drawn, and the other way
/// round. The latest first, as many as a log's header holds (kMaxImportedValues: some hundreds). Failed trials and
/// duplicates are no results.
/// Errors: kInvalidArgument where nothing can be compared: other data, targets or augmentation, goals that the old
/// study has not measured, a frozen part, several trainings a proposal; kDataLoss (a model that cannot be rebuilt).
inline constexpr std::size_t kMaxImportedValues = 300'000;
std::size_t count_json_values(const nlohmann::json& value);  ///< values and keys, as a log's reader counts them
Result<ImportedTrials> import_trials(const study::StudyView& old_study, const study::StudyConfig& config, const data::DataSpec& data,
                            const mutate::ModelSpace& models);

}  // namespace lanista::engine
