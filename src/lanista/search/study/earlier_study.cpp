#include "lanista/search/study/earlier_study.h"

#include "lanista/search/study/record_fields.h"

namespace lanista::study {

using nlohmann::json;

json earlier_study_json(const Earlier& earlier) {
  json trials = json::array();
  for (const EarlierTrial& trial : earlier.trials) {
    json measurements = json::array();
    for (const Measurement& each : trial.measurements) measurements.push_back(measurement_json(each));
    trials.push_back({{"trial", trial.trial.value},
                      {"proposal", proposal_json(trial.proposal)},
                      {"measurements", std::move(measurements)},
                      {"outcome", outcome_name(trial.outcome)}});
  }
  return {{"study", earlier.study}, {"trials", std::move(trials)}, {"left_out", earlier.left_out}};
}

Earlier read_earlier_study(const json& object) {
  Earlier out;
  out.study = fields::text(object, "study");
  out.left_out = fields::integer(object, "left_out");
  for (const json& entry : fields::array(object, "trials")) {
    EarlierTrial trial;
    trial.trial = fields::trial(entry, "trial");
    trial.proposal = fields::good(proposal_from_json(fields::member(entry, "proposal")));
    for (const json& each : fields::array(entry, "measurements")) {
      trial.measurements.push_back(fields::good(measurement_from_json(each)));
      const std::size_t count = trial.measurements.size();
      if (count > 1 && trial.measurements[count - 2].epoch >= trial.measurements[count - 1].epoch) {
        throw fields::Malformed{"an earlier trial's epochs do not ascend"};
      }
    }
    if (trial.measurements.empty()) throw fields::Malformed{"an earlier trial measured nothing"};
    const std::string outcome = fields::text(entry, "outcome");
    if (outcome != outcome_name(OutcomeKind::kSucceeded) && outcome != outcome_name(OutcomeKind::kStopped)) {
      throw fields::Malformed{"an earlier trial's outcome is '" + outcome + "'"};
    }
    const bool stopped = outcome == outcome_name(OutcomeKind::kStopped);
    trial.outcome = stopped ? OutcomeKind::kStopped : OutcomeKind::kSucceeded;
    if (trial.proposal.parent || trial.proposal.start) throw fields::Malformed{"an earlier trial has a parent"};
    out.trials.push_back(std::move(trial));
  }
  return out;
}

}  // namespace lanista::study
