#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace lanista::study {

struct StudyView;
struct TrialView;

/// What a study may start from of a zoo (train.start: zoo), as it was when the study began.
struct ZooSnapshot {
  std::int64_t change = 0;  ///< the zoo's last change: what was added later is no start of this study
  std::int64_t models = 0;  ///< that could be started from
  bool related = false;     ///< they are of other data: of the study's own there were none
  std::string trouble;      ///< why nothing is taken of the zoo, all study long; empty: it is
  bool operator==(const ZooSnapshot&) const = default;
};
nlohmann::json zoo_snapshot_json(const ZooSnapshot& moment);
/// The inverse. Throws fields::Malformed.
ZooSnapshot read_zoo_snapshot(const nlohmann::json& object);

/// How long a trained model took, or the one that it descends from, from random values to what is nearly its quality.
struct Reference {
  double target = 0;       ///< larger is better
  std::int64_t steps = 0;  ///< 0: not known
  bool operator==(const Reference&) const = default;
};

/// A model of a zoo that trials began with. Its weights lie with the checkpoints while they are wanted.
struct ZooModel {
  std::string id;
  std::string graph;   ///< text form
  std::string metric;  ///< that its quality is: "accuracy", "-loss"
  double quality = 0;
  Reference reference = {};
  bool related = false;  ///< trained on other data
  bool operator==(const ZooModel&) const = default;
};
nlohmann::json zoo_model_json(const ZooModel& model);
/// The inverse. Throws fields::Malformed.
ZooModel read_zoo_model(const nlohmann::json& object);

/// The first step at which the trial measured so much of the metric ("accuracy"; "-loss": what is smaller is better) on
/// the validation part; nullopt: it never did.
std::optional<std::int64_t> steps_to(const TrialView& trial, const std::string& metric, double target);
/// What a trial that began with random values says of `quality` and how long it took to within 2 % of it; of one that
/// began with other weights what these say, where they are the study's or the zoo's. 0 steps: nothing is known.
Reference reference_of(const StudyView& view, const TrialView& trial, const std::string& metric, double quality);

/// How a trial fared against the zoo's model that it began with. One that never came there counts with all its steps,
/// and no fewer than the reference: it saved nothing.
struct StartOutcome {
  std::int64_t steps = 0, reference = 0;
  bool reached = false;
};
/// nullopt: it did not begin with a model of the zoo, has not ended, or nothing is known of its model; a trial that a
/// rule ended before it came there proves nothing either.
std::optional<StartOutcome> start_outcome(const StudyView& view, const TrialView& trial);

/// The same of all trials of a study.
struct ZooSavings {
  std::int64_t started = 0;  ///< trials that began with models of the zoo
  std::int64_t compared = 0, reached = 0;
  std::int64_t steps = 0, reference = 0;  ///< sums over those that are compared
  bool related = false;                   ///< some of their models are of other data
  double saving() const { return reference > 0 ? 1 - static_cast<double>(steps) / static_cast<double>(reference) : 0; }
};
ZooSavings zoo_savings(const StudyView& view);
/// What a study may take of its zoo, in a sentence.
std::string zoo_note(const ZooSnapshot& zoo, const std::string& folder);
/// What the zoo brought, in a sentence or two: what was saved and against what, or why nothing was taken. Empty: the
/// study knows of no zoo.
std::string zoo_text(const StudyView& view);

}  // namespace lanista::study
