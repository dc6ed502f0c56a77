#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace lanista::study {

struct StudyView;
struct TrialView;

/// What the zoo offered to a study (train.start: zoo) when the study began.
struct ZooSnapshot {
  std::int64_t change = 0;  ///< Number of the zoo's last change when the study began; later models are not used.
  std::int64_t models = 0;  ///< Number of models from which trials may start.
  /// True: the models were trained on other data, because the zoo has none of the study's data.
  bool related = false;
  std::string trouble;  ///< Why the study uses no zoo model, for people; empty: it may use them.
  bool operator==(const ZooSnapshot&) const = default;
};
/// Returns a zoo snapshot as a JSON record: "change", "models", and "related" and "trouble" if set.
nlohmann::json zoo_snapshot_json(const ZooSnapshot& moment);
/// Reads the record of a zoo snapshot. Throws fields::Malformed (a field is missing or invalid).
ZooSnapshot read_zoo_snapshot(const nlohmann::json& object);

/// Training steps that a zoo model, or its first ancestor, needed from random values to within 2 % of its quality.
struct Reference {
  double target = 0;       ///< Quality to reach; larger is better.
  std::int64_t steps = 0;  ///< Training steps; 0: not known.
  bool operator==(const Reference&) const = default;
};

/// A zoo model from which trials of the study started. Its weights are in the checkpoint store as long as they are
/// needed.
struct ZooModel {
  std::string id;            ///< Id in the zoo.
  std::string graph;         ///< Text form of the graph.
  std::string metric;        ///< Metric of the quality: "accuracy", "-loss".
  double quality = 0;        ///< Value of `metric`; larger is better.
  Reference reference = {};  ///< Steps that the model needed.
  bool related = false;      ///< Trained on other data.
  bool operator==(const ZooModel&) const = default;
};
/// Returns a zoo model as a JSON record: "id", "graph", "metric", "quality", "target" and "steps" (of the reference),
/// and "related" if true.
nlohmann::json zoo_model_json(const ZooModel& model);
/// Reads the record of a zoo model. Throws fields::Malformed (a field is missing or invalid).
ZooModel read_zoo_model(const nlohmann::json& object);

/// Returns the number of training steps after which the trial first measured `target` or better on the validation part.
/// `metric` is a name such as "accuracy". With "-" in front, as in "-loss", the negated metric is compared. nullopt: it
/// never did.
std::optional<std::int64_t> steps_to(const TrialView& trial, const std::string& metric, double target);
/// Returns the reference of the model of `trial` with this quality, with which trials that start from the model are
/// compared. `metric` is as in steps_to(), and larger values of `quality` are better. The target is 2 % below the
/// quality, and the steps are those of the trial to there from random values.
///
/// For a trial that started from another trial or from a zoo model of the same data it is the reference of that parent.
/// Steps of 0 mean "not known", such as after a start from a file or from a zoo model of other data.
Reference reference_of(const StudyView& view, const TrialView& trial, const std::string& metric, double quality);

/// Steps of one trial to the target of its zoo model, compared with the reference of that model. A trial that did not
/// reach the target counts with all its steps, and at least with the reference: it saved nothing.
struct StartOutcome {
  std::int64_t steps = 0, reference = 0;  ///< Steps of the trial, with the discarded ones of its race; reference steps.
  bool reached = false;                   ///< True: the trial reached the target.
};
/// Returns the comparison of a trial with its zoo model. Returns nullopt if the trial did not start from a zoo model,
/// has not ended, or has no known reference. The same holds if it ended early before it reached the target.
std::optional<StartOutcome> start_outcome(const StudyView& view, const TrialView& trial);

/// Totals of StartOutcome over the trials of a study.
struct ZooSavings {
  std::int64_t started = 0;                ///< Trials that started from zoo models.
  std::int64_t compared = 0, reached = 0;  ///< Trials with a StartOutcome; those that reached the target.
  std::int64_t steps = 0, reference = 0;   ///< Sums of StartOutcome::steps and ::reference over the compared trials.
  bool related = false;                    ///< True: some of their zoo models were trained on other data.
  /// Returns the saved share of the reference steps; negative if the trials needed more steps.
  double saving() const { return reference > 0 ? 1 - static_cast<double>(steps) / static_cast<double>(reference) : 0; }
};
/// Returns the totals over all trials of a study.
ZooSavings zoo_savings(const StudyView& view);
/// Returns a sentence for people on what the zoo in `folder` offers to the study.
std::string zoo_note(const ZooSnapshot& zoo, const std::string& folder);
/// Returns a sentence or two for people on the steps that the zoo saved, or on why it was not used. Empty: the study
/// uses no zoo.
std::string zoo_text(const StudyView& view);

}  // namespace lanista::study
