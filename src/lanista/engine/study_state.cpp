#include "lanista/engine/study_state.h"

#include <limits>

#include "lanista/engine/study_file.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using store::Record;
using store::RecordType;

Error damaged(const std::string& message) { return Error{Code::kDataLoss, message, "log"}; }

/// A whole number; what JSON wrote as a real one may not fit into an integer.
std::int64_t whole(const json& value) {
  if (value.is_number_float()) throw json::type_error::create(302, "a whole number is wanted", &value);
  return value.get<std::int64_t>();
}

std::string name_of(TrialId id) { return "trial " + std::to_string(id.value); }

}  // namespace

void StudyState::propose(TrialView trial, double logical_epoch) {
  LANISTA_CHECK(trial.id.value == view.trials.size() + 1, "trials are numbered in order");
  // A proposal right behind another one: that was no duplicate, or its outcome would stand between them.
  if (last == Last::kProposed) duplicates_in_a_row = 0;
  last = Last::kProposed;
  last_trial = trial.id;
  now = trial.logical_start;
  open[trial.id].logical_epoch = logical_epoch;
  view.trials.push_back(std::move(trial));
}

double StudyState::due(TrialId id, std::int64_t epoch) {
  return trial(id).logical_start + static_cast<double>(epoch) * open.at(id).logical_epoch;
}

void StudyState::measure(const study::Measurement& measurement) {
  TrialView& t = trial(measurement.trial);
  view.steps += measurement.step - (t.measurements.empty() ? 0 : t.measurements.back().step);
  t.measurements.push_back(measurement);
  duplicates_in_a_row = 0;
  last = Last::kMeasured;
  last_trial = measurement.trial;
  now = due(measurement.trial, measurement.epoch);
}

void StudyState::stop_verdict(TrialId id) { open.at(id).stop_verdict = true; }

void StudyState::end(TrialId id, const study::Outcome& outcome, double logical_time) {
  trial(id).outcome = outcome;
  open.erase(id);
  duplicates_in_a_row = outcome.kind == study::OutcomeKind::kDuplicate ? duplicates_in_a_row + 1 : 0;
  last = Last::kOther;
  now = logical_time;
}

void StudyState::end_study(const std::string& reason, std::optional<TrialId> winner,
                           std::map<std::string, double> test) {
  view.end_reason = reason;
  view.winner = winner;
  view.test = std::move(test);
}

void StudyState::extend(const Engine::Extension& extension) {
  if (extension.trials) trials = static_cast<std::int64_t>(view.trials.size()) + *extension.trials;
  if (extension.steps) steps = view.steps + *extension.steps;
  if (extension.minutes) minutes = view.seconds / 60 + *extension.minutes;
  duplicates_in_a_row = 0;
  view.end_reason.reset();
  view.winner.reset();
  view.test.clear();
  ending.clear();
}

void StudyState::begin_attempt(double unix_time) {
  seconds_before_ = view.seconds;
  if (view.began == 0) view.began = unix_time;
}

void StudyState::worked(double seconds) { view.seconds = seconds_before_ + seconds; }

Result<TrialId> StudyState::open_trial(const json& body) const {
  const auto number = whole(body.at("trial"));
  if (number < 1 || number > std::numeric_limits<std::uint32_t>::max()) {
    return damaged("trial " + std::to_string(number) + " cannot be");
  }
  const TrialId id{static_cast<std::uint32_t>(number)};
  if (!open.contains(id)) return damaged(name_of(id) + " is spoken of, but it is not running");
  return id;
}

Result<void> StudyState::apply_header(const json& body) {
  const std::string text = body.at("text").get<std::string>();
  auto config = read_study(text, "config.resolved.yaml");
  if (!config) return damaged("the stored configuration cannot be read: " + config.error().message);
  view.config = *std::move(config);
  view.config_text = text;
  view.data = body.at("data");
  view.models = body.at("models");
  trials = view.config.budget.trials;
  steps = view.config.budget.steps;
  minutes = view.config.budget.guard_minutes;
  return {};
}

Result<void> StudyState::apply_control(const json& body) {
  const std::string request = body.at("request").get<std::string>();
  if (request == "extend") {
    Engine::Extension extension;
    if (body.contains("trials")) extension.trials = whole(body["trials"]);
    if (body.contains("steps")) extension.steps = whole(body["steps"]);
    if (body.contains("minutes")) extension.minutes = body["minutes"].get<double>();
    extend(extension);
  } else if ((request == "stop" || request == "guard") && ending.empty()) {
    ending = request == "stop" ? "stopped by the user" : "guard";
  } else if (request == "stop-trial") {
    const auto id = open_trial(body);
    if (id) open[*id].cancel_asked = true;  // it may have ended by itself meanwhile
  }
  return {};
}

Result<void> StudyState::apply(const Record& record, const std::function<void(const study::Event&)>& on_event) {
  const json& body = record.body;
  const bool first = view.config_text.empty();
  if (first != (record.type == RecordType::kHeader)) {
    return damaged(first ? "the log does not begin with a header" : "the log has two headers");
  }
  switch (record.type) {
    case RecordType::kHeader:
      return apply_header(body);
    case RecordType::kNumerics:
      view.numerics = body;
      return {};
    case RecordType::kProposed: {
      TrialView trial;
      trial.id = TrialId{static_cast<std::uint32_t>(view.trials.size() + 1)};
      if (body.at("trial") != trial.id.value) return damaged("proposals are not numbered in order");
      LANISTA_ASSIGN(trial.proposal, study::proposal_from_json(body.at("proposal")));
      trial.logical_start = body.at("logical_start").get<double>();
      trial.parameters = whole(body.at("parameters"));
      const study::Proposed event{trial.id, trial.proposal};
      propose(std::move(trial), body.at("logical_epoch").get<double>());
      on_event(event);
      return {};
    }
    case RecordType::kMeasurement: {
      LANISTA_ASSIGN(const TrialId id, open_trial(body));
      LANISTA_ASSIGN(study::Measurement m, study::measurement_from_json(body));
      const auto& before = trial(id).measurements;
      if (m.epoch != (before.empty() ? 0 : before.back().epoch) + 1) {
        return damaged(name_of(id) + " measured epoch " + std::to_string(m.epoch) + " out of order");
      }
      measure(m);
      on_event(study::Measured{std::move(m)});
      return {};
    }
    case RecordType::kVerdict: {
      LANISTA_ASSIGN(const TrialId id, open_trial(body));
      stop_verdict(id);
      return {};
    }
    case RecordType::kOutcome: {
      LANISTA_ASSIGN(const TrialId id, open_trial(body));
      LANISTA_ASSIGN(study::Outcome outcome, study::outcome_from_json(body));
      end(id, outcome, body.at("logical_time").get<double>());
      on_event(study::Ended{id, std::move(outcome)});
      return {};
    }
    case RecordType::kCheckpoint: {
      // Written when the file was saved; by then the trial may have ended.
      const auto id = open_trial(body);
      if (id) open[*id].checkpoint = body.at("address").get<std::string>();
      return {};
    }
    case RecordType::kAttempt:
      if (body.value("event", "") == "begin") begin_attempt(body.value("time", 0.0));
      if (body.contains("seconds")) worked(body["seconds"].get<double>());
      return {};
    case RecordType::kControl:
      return apply_control(body);
    case RecordType::kStudyEnd: {
      std::optional<TrialId> winner;
      if (body.at("winner").is_number()) winner = TrialId{static_cast<std::uint32_t>(whole(body["winner"]))};
      end_study(body.at("reason").get<std::string>(), winner, body.at("test").get<std::map<std::string, double>>());
      return {};
    }
    case RecordType::kSpan: {
      const TrialId id{static_cast<std::uint32_t>(whole(body.at("trial")))};
      if (id.value < 1 || id.value > view.trials.size())
        return damaged("a span of " + name_of(id) + ", which is not there");
      view.spans.push_back({id, whole(body.at("epoch")), whole(body.at("worker")), body.at("began").get<double>(),
                            body.at("ended").get<double>()});
      return {};
    }
    case RecordType::kPlan:
    case RecordType::kCostRows:
      return {};
  }
  return damaged("a record of the unknown type " + std::to_string(static_cast<int>(record.type)));
}

Result<void> fold_all(StudyState& state, const std::vector<Record>& records,
                      const std::function<void(const study::Event&)>& on_event) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string where = "log, record " + std::to_string(i + 1);
    try {
      if (auto applied = state.apply(records[i], on_event); !applied) {
        return Error{applied.error().code, applied.error().message, where};
      }
    } catch (const json::exception& error) {
      return Error{Code::kDataLoss, error.what(), where};
    }
  }
  if (state.view.config_text.empty()) return damaged("the log holds no header");
  return {};
}

Result<StudyView> fold(const std::vector<Record>& records) {
  StudyState state;
  LANISTA_TRY(fold_all(state, records, [](const study::Event&) {}));
  return std::move(state.view);
}

}  // namespace lanista::engine
