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
  std::int64_t change = 0;  ///< Number of the zoo's last change; later models are not used.
  std::int64_t models = 0;  ///< Models from which trials may start.
  bool related = false;     ///< The models are of other data, because there are none of the study's data.
  std::string trouble;      ///< Why the study uses no zoo model; empty: it may use them.
  bool operator==(const ZooSnapshot&) const = default;
};
/// Returns the record of a zoo snapshot.
nlohmann::json zoo_snapshot_json(const ZooSnapshot& moment);
/// Reads the record of a zoo snapshot. Throws fields::Malformed.
ZooSnapshot read_zoo_snapshot(const nlohmann::json& object);

/// Training steps that a zoo model, or its first ancestor, needed from random values to within 2 % of its quality.
struct Reference {
  double target = 0;       ///< quality to reach; larger is better
  std::int64_t steps = 0;  ///< training steps; 0: not known
  bool operator==(const Reference&) const = default;
};

/// A zoo model from which trials of the study started. Its weights are in the checkpoint store as long as they are
/// needed.
struct ZooModel {
  std::string id;            ///< id in the zoo
  std::string graph;         ///< text form of the graph
  std::string metric;        ///< metric of the quality: "accuracy", "-loss"
  double quality = 0;        ///< value of `metric`; larger is better
  Reference reference = {};  ///< steps that the model needed
  bool related = false;      ///< trained on other data
  bool operator==(const ZooModel&) const = default;
};
/// Returns the record of a zoo model.
nlohmann::json zoo_model_json(const ZooModel& model);
/// Reads the record of a zoo model. Throws fields::Malformed.
ZooModel read_zoo_model(const nlohmann::json& object);

/// Returns the first step after which the trial measured `target` or better on the validation part. `metric` is a name
/// such as "accuracy"; of "-loss" smaller losses are better. nullopt: it never did.
std::optional<std::int64_t> steps_to(const TrialView& trial, const std::string& metric, double target);
/// Returns the reference of a model with this quality: 2 % below it, and the steps of the trial to there from random
/// values.
///
/// For a trial that started from another trial or from a zoo model of the same data it is the reference of that parent.
/// 0 steps: not known.
Reference reference_of(const StudyView& view, const TrialView& trial, const std::string& metric, double quality);

/// Steps of one trial to the target of its zoo model, compared with the reference of that model. A trial that did not
/// reach the target counts with all its steps, and at least with the reference: it saved nothing.
struct StartOutcome {
  std::int64_t steps = 0, reference = 0;  ///< steps of the trial, with those of its start race; steps of the reference
  bool reached = false;                   ///< the trial reached the target
};
/// Returns the comparison of a trial with its zoo model. Returns nullopt if the trial did not start from a zoo model,
/// has not ended, or has no known reference. The same holds if it ended early before it reached the target.
std::optional<StartOutcome> start_outcome(const StudyView& view, const TrialView& trial);

/// Totals of StartOutcome over the trials of a study.
struct ZooSavings {
  std::int64_t started = 0;                ///< Trials that started from zoo models.
  std::int64_t compared = 0, reached = 0;  ///< Trials with a StartOutcome; those that reached the target.
  std::int64_t steps = 0, reference = 0;   ///< Sums over the compared trials.
  bool related = false;                    ///< Some of their zoo models are of other data.
  /// Returns the saved share of the reference steps; negative if the trials needed more steps.
  double saving() const { return reference > 0 ? 1 - static_cast<double>(steps) / static_cast<double>(reference) : 0; }
};
/// Returns the totals over all trials of a study.
ZooSavings zoo_savings(const StudyView& view);
/// Returns a sentence on what the zoo in `folder` offers to the study.
std::string zoo_note(const ZooSnapshot& zoo, const std::string& folder);
/// Returns a sentence or two on the steps that the zoo saved, or on why it was not used. Empty: the study uses no zoo.
std::string zoo_text(const StudyView& view);

}  // namespace lanista::study
