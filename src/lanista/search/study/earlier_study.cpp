#include "lanista/search/study/earlier_study.h"

#include <algorithm>

#include "lanista/search/study/record_table.h"

namespace lanista::study {

using nlohmann::json;

namespace {

void table(fields::FieldTable& t, EarlierTrial& trial) {
  t("trial", trial.trial).via("proposal", trial.proposal, proposal_json, proposal_from_json);
  t.list("measurements", trial.measurements, measurement_json, measurement_from_json);
  const auto descends = [](const Measurement& a, const Measurement& b) { return a.epoch >= b.epoch; };
  t.check(std::ranges::adjacent_find(trial.measurements, descends) == trial.measurements.end(),
          "an earlier trial's epochs do not ascend");
  t.check(!trial.measurements.empty(), "an earlier trial measured nothing");
  std::string outcome(outcome_name(trial.outcome));
  t("outcome", outcome);
  const bool stopped = outcome == outcome_name(OutcomeKind::kStopped);
  if (t.reads() && !stopped && outcome != outcome_name(OutcomeKind::kSucceeded)) {
    throw fields::Malformed{"an earlier trial's outcome is '" + outcome + "'"};
  }
  if (t.reads()) trial.outcome = stopped ? OutcomeKind::kStopped : OutcomeKind::kSucceeded;
  t.check(!trial.proposal.parent && !trial.proposal.start, "an earlier trial has a parent");
}

void table(fields::FieldTable& t, Earlier& earlier) {
  t("study", earlier.study)("left_out", earlier.left_out).list("trials", earlier.trials, table);
}

}  // namespace

json earlier_study_json(const Earlier& earlier) { return fields::write_table(earlier, table); }
Earlier read_earlier_study(const json& in) { return fields::read_part<Earlier>(in, table); }

}  // namespace lanista::study
