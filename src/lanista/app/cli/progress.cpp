#include "lanista/app/cli/progress.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "lanista/app/cli/leaderboard.h"
#include "lanista/app/cli/terminal.h"

namespace lanista::cli {
namespace {

constexpr double kRedrawSeconds = 0.25;
constexpr double kHeartbeatSeconds = 60;

std::optional<double> goal_value(const engine::StudyView& view, TrialId id) {
  const auto& trial = view.trials[id.value - 1];
  if (trial.measurements.empty()) return std::nullopt;
  const auto& metrics = study::result_of(view.config, trial).metrics;
  const auto it = metrics.find(view.config.goals.front().metric);
  if (it == metrics.end() || std::isnan(it->second)) return std::nullopt;
  return it->second;
}

/// The candidate for the best result after a trial has ended, with its value. Without folds it is the trial. With folds
/// it is the proposal, once all of its trainings have ended, because the folds count only together.
std::pair<TrialId, std::optional<double>> trial_news_text(const engine::StudyView& view, TrialId id) {
  if (!view.config.data.folds) return {id, goal_value(view, id)};
  const auto trainings = study::trainings_of(view, view.trials[id.value - 1]);
  const auto standing = study::joint_ranking_key(view.config, trainings);
  const study::Goal& goal = view.config.goals.front();
  if (!standing || standing->losses.empty() || standing->losses.front().first) return {id, std::nullopt};
  return {standing->trial, goal.maximize ? -standing->losses.front().second : standing->losses.front().second};
}

}  // namespace

Progress::Progress(ProgressStyle style, Terminal terminal, const Clock& clock)
    : style_(style), terminal_(terminal), clock_(clock), start_seconds_(clock.now()) {}

void Progress::on_event(const engine::StudyView& view, const study::Event& event) {
  if (const auto* ended = std::get_if<study::Ended>(&event)) {
    ++ended_;
    const auto kind = ended->outcome.kind;
    const bool counts = kind == study::OutcomeKind::kSucceeded || kind == study::OutcomeKind::kStopped;
    const auto [trial, value] = trial_news_text(view, ended->trial);
    const bool maximize = view.config.goals.front().maximize;
    if (counts && value && (!best_ || (maximize ? *value > best_value_ : *value < best_value_))) {
      best_ = trial;
      best_value_ = *value;
    }
    if (style_ == ProgressStyle::kLines) print_line(view, *ended);
  }
  if (style_ == ProgressStyle::kJson) print_json(view, event);
  on_idle(view);
}

void Progress::on_idle(const engine::StudyView& view) {
  const double now = clock_.now();
  if (style_ == ProgressStyle::kLive && now - last_redraw_seconds_ >= kRedrawSeconds) {
    redraw(view);
    last_redraw_seconds_ = now;
  }
  if (style_ == ProgressStyle::kLines) {
    if (last_redraw_seconds_ == 0) last_redraw_seconds_ = now;
    if (now - last_redraw_seconds_ >= kHeartbeatSeconds) {
      std::cerr << status_line(view) << "\n";
      last_redraw_seconds_ = now;
    }
  }
}

void Progress::finish() {
  if (block_shown_) std::cerr << "\r\033[K" << std::flush;
  block_shown_ = false;
}

std::string Progress::status_line(const engine::StudyView& view) const {
  std::string line = std::to_string(ended_);
  if (view.config.budget.trials) line += "/" + std::to_string(*view.config.budget.trials);
  line += " trials   " + clock_text(clock_.now() - start_seconds_);
  if (best_) {
    line += "   best " + view.config.goals.front().metric + " " + four_digits(best_value_) + " (#" +
            std::to_string(best_->value) + ", " +
            short_number(static_cast<double>(view.trials[best_->value - 1].parameters)) + " params)";
  }
  std::size_t paused = 0;
  for (const auto& trial : view.trials) paused += trial.paused ? 1 : 0;
  line += "   " + std::to_string(view.trials.size() - ended_ - paused) + " under way";
  if (paused > 0) line += ", " + std::to_string(paused) + " paused";
  return printable(line);
}

void Progress::redraw(const engine::StudyView& view) {
  std::string bar;
  if (view.config.budget.trials) {
    constexpr std::size_t kWidth = 18;
    const auto total = static_cast<std::size_t>(std::max<std::int64_t>(1, *view.config.budget.trials));
    const std::size_t full = std::min(kWidth, kWidth * ended_ / total);
    bar = "[" + std::string(full, '#') + std::string(kWidth - full, '-') + "]  ";
  }
  std::string line = " " + bar + status_line(view);
  const auto width = static_cast<std::size_t>(std::max(20, terminal_.columns - 1));
  if (line.size() > width) line.resize(width);
  line = printable(line);  // the cut may split a character
  std::cerr << "\r\033[K" << line << std::flush;
  block_shown_ = true;
}

void Progress::print_line(const engine::StudyView& view, const study::Ended& ended) {
  const auto& trial = view.trials[ended.trial.value - 1];
  std::string line =
      "#" + std::to_string(ended.trial.value) + " " + std::string(study::outcome_name(ended.outcome.kind));
  if (const auto value = goal_value(view, ended.trial)) {
    line += "  " + view.config.goals.front().metric + " " + four_digits(*value) + "  epochs " +
            std::to_string(trial.measurements.back().epoch);
  }
  line += "  params " + short_number(static_cast<double>(trial.parameters)) + "  " + lineage_text(view, trial.proposal);
  const std::string sample = sample_text(trial.proposal.sample);
  if (!sample.empty()) line += "  " + sample;
  if (!ended.outcome.reason.empty()) line += "  (" + ended.outcome.reason + ")";
  std::cerr << printable(line) << "\n";
}

void Progress::print_json(const engine::StudyView& view, const study::Event& event) {
  nlohmann::json line{{"v", 1}, {"t", clock_.now() - start_seconds_}};
  if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
    line["event"] = "proposed";
    line["trial"] = proposed->trial.value;
    line["sample"] = space::sample_json(proposed->proposal.sample);
    if (proposed->proposal.fold) line["fold"] = *proposed->proposal.fold;
    if (proposed->proposal.is_refinement) line["tunes"] = true;
  } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
    line["event"] = "metric";
    line.update(study::measurement_json(measured->measurement));
  } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
    line["event"] = "ended";
    line["trial"] = ended->trial.value;
    line["outcome"] = study::outcome_json(ended->outcome);
    const auto& trial = view.trials[ended->trial.value - 1];
    if (study::ranks(trial, ended->outcome)) line["kept_epoch"] = study::result_of(view.config, trial).epoch;
  } else if (const auto* paused = std::get_if<study::Paused>(&event)) {
    line["event"] = "paused";
    line["trial"] = paused->trial.value;
    line["epoch"] = paused->epoch;
  } else if (const auto* resumed = std::get_if<study::Resumed>(&event)) {
    line["event"] = "resumed";
    line["trial"] = resumed->trial.value;
    line["epoch"] = resumed->epoch;
    line["budget"] = resumed->budget;
  }
  std::cout << json_line(line) << std::flush;
}

}  // namespace lanista::cli
