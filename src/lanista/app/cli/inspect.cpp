#include "lanista/app/cli/inspect.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <thread>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/leaderboard.h"
#include "lanista/app/cli/live_page.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/cli/pipeline_verbs.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/show_plan.h"
#include "lanista/app/cli/signals.h"
#include "lanista/app/cli/status.h"
#include "lanista/app/cli/stored_assessment.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/cli/version.h"
#include "lanista/app/report/importance.h"
#include "lanista/app/report/page.h"
#include "lanista/base/real_json.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/study/host_usage.h"
#include "lanista/search/study/select_branches.h"
#include "lanista/search/study/start_race.h"
#include "lanista/search/tuning/adaptive_batch_rules.h"

namespace lanista::cli {
namespace {

using nlohmann::json;

int print_status(const std::string& folder, bool as_json) {
  const auto view = load_study(folder);
  if (!view) return print_error(view.error());
  if (as_json) {
    std::cout << json_line(status_json(folder, *view));
  } else {
    std::cout << status_text(folder, *view) << "\n";
  }
  return kDone;
}

json trial_json(const LoadedTrial& loaded) {
  const auto& trial = loaded.trial();
  json measurements = json::array();
  for (const auto& measurement : trial.measurements) measurements.push_back(study::measurement_json(measurement));
  json out{{"v", 1},
           {"trial", trial.id.value},
           {"proposal", study::proposal_json(trial.proposal)},
           {"parameters", trial.parameters},
           {"measurements", measurements},
           {"model", graph::to_text(loaded.model)}};
  if (!trial.forks.empty()) {
    out["began_with"] = space::sample_json(trial.first_sample);
    out["forks"] = json::array();
    for (const study::Fork& fork : trial.forks) out["forks"].push_back(study::fork_json(fork));
    out["line"] = json::array();
    for (const study::LineageSegment& lineage_segment :
         study::lineage(loaded.view, trial, std::ssize(trial.measurements))) {
      out["line"].push_back({{"trial", lineage_segment.trial.value},
                             {"epochs", {lineage_segment.from + 1, lineage_segment.through}},
                             {"sample", space::sample_json(lineage_segment.sample)}});
    }
  }
  for (const study::WorkerHistory::Move& move : study::moves_of(loaded.view, trial.id)) {
    json from{{"worker", move.from}, {"host", move.from_host}};
    json to = move.to ? json{{"worker", *move.to}} : json();
    if (!move.to_host.empty()) to["host"] = move.to_host;
    out["moves"].push_back({{"from", std::move(from)}, {"to", std::move(to)}, {"seconds", real_json(move.seconds)}});
  }
  if (const std::string device = study::device_of(loaded.view, trial); !device.empty()) out["device"] = device;
  if (trial.outcome) out["outcome"] = study::outcome_json(*trial.outcome);
  if (!trial.measurements.empty()) out["kept_epoch"] = study::result_of(loaded.view.config, trial).epoch;
  return out;
}

/// The lineage of a forked trial, one line for each stretch of training; empty without a fork.
std::string line_text(const study::StudyView& view, const study::TrialView& trial) {
  if (trial.forks.empty()) return "";
  std::ostringstream out;
  out << "\nforked        ";
  for (const study::Fork& fork : trial.forks) {
    out << (&fork == &trial.forks.front() ? "" : ", ") << "after epoch " << fork.epoch << " from #" << fork.from.value;
  }
  out << "\nits weights";
  for (const study::LineageSegment& lineage_segment : study::lineage(view, trial, std::ssize(trial.measurements))) {
    const bool is_one = lineage_segment.from + 1 == lineage_segment.through;
    out << "\n  epoch" << (is_one ? " " : "s ") << lineage_segment.from + 1;
    if (!is_one) out << "-" << lineage_segment.through;
    out << " as #" << lineage_segment.trial.value << " with " << sample_text(lineage_segment.sample);
  }
  return out.str();
}

/// The tune searches of a trial: one line for each branch, below the step at which the branches began.
std::string branches_text(const study::TrialView& trial) {
  std::ostringstream out;
  for (const auto& measurement : trial.measurements) {
    if (measurement.branches.empty()) continue;
    if (const study::Branch* adapted = study::batch_change_before(measurement)) {
      out << "\nbefore epoch " << measurement.epoch << ", after step " << adapted->step
          << ": batch size changed by the gradient noise scale\n  > " << sample_text(adapted->setting) << "  "
          << adapted->speed << " times the expected goodput\n";
      continue;
    }
    std::int64_t steps = 0;
    for (const study::Branch& branch : measurement.branches) steps += branch.steps;
    out << "\nbefore epoch " << measurement.epoch << ", after step " << measurement.branches.front().step << ": "
        << measurement.branches.size() - 1 << " branches tried, " << steps << " steps with them\n";
    for (const study::Branch& branch : measurement.branches) {
      if (branch.setting.empty()) {
        out << "    loss " << branch.speed << " at the start\n";
        continue;
      }
      out << (branch.kept ? "  > " : "    ") << sample_text(branch.setting) << "  " << branch.steps << " steps, "
          << printable(branch.trend) << ", " << branch.speed << " a step\n";
    }
    const bool any = std::ranges::any_of(measurement.branches, &study::Branch::kept);
    out << (any ? "" : "  > no branch made progress; the setting stays\n");
  }
  return out.str();
}

/// The factors of the learning rate, by part of the model: "\nrates of      base 0.1, head 2"; empty without any.
std::string rates_text(const study::TrainConfig& train) {
  std::ostringstream out;
  const char* before = "\nrates of      ";
  for (const auto& [part, factor] : train.optimizer.rates) {
    out << before << printable(part) << " " << factor;
    before = ", ";
  }
  return out.str();
}

/// The moves of a trial to another worker after its worker was lost, one line each.
std::string moves_text(const study::StudyView& view, const study::TrialView& trial) {
  std::string text;
  for (const study::WorkerHistory::Move& move : study::moves_of(view, trial.id)) {
    text += (text.empty() ? "\nmoved         " : "\n              ") + printable(study::move_text(move));
  }
  return text;
}

std::string trial_text(const LoadedTrial& loaded) {
  std::ostringstream out;
  const auto& trial = loaded.trial();
  out << "trial #" << trial.id.value << "  " << lineage_text(loaded.view, trial.proposal);
  if (trial.proposal.parent) {
    out << (trial.proposal.is_refinement ? "  (again, #" : "  (from #") << trial.proposal.parent->value << ")";
  }
  if (trial.proposal.start) {
    out << "\nstarted from  " << printable(study::start_summary(trial));
  }
  if (const study::Start* start = study::winning_start(trial)) {
    if (const auto model = loaded.view.zoo_models.find(start->zoo); model != loaded.view.zoo_models.end()) {
      out << "\n              of quality " << four_digits(model->second.quality) << " "
          << printable(model->second.metric) << (model->second.related ? ", trained on other data" : "");
    }
    if (start->is_file() && loaded.view.start_file) out << " (" << printable(loaded.view.start_file->name) << ")";
  }
  const std::string choices = choices_text(trial.proposal.sample, std::string::npos);
  if (!choices.empty()) out << "\nchosen        " << choices;
  if (const std::string device = study::device_of(loaded.view, trial); !device.empty()) {
    out << "\ntrained on    " << printable(device);
  }
  const auto& folds = loaded.view.config.data.folds;
  if (const auto& fold = trial.proposal.fold; fold && folds) {
    out << "\nmeasured on   fold " << *fold % *folds + 1 << " of " << *folds;
    if (loaded.view.config.strategy.repeat > 1) out << ", fold assignment " << *fold / *folds + 1;
  }
  out << "\ntrained with  " << sample_text(trial.proposal.sample) << line_text(loaded.view, trial)
      << rates_text(loaded.view.config.train) << "\nparameters    " << trial.parameters << "\noutcome       "
      << (trial.outcome ? std::string(study::outcome_name(trial.outcome->kind)) +
                              (trial.outcome->reason.empty() ? "" : ": " + printable(trial.outcome->reason))
                        : std::string(trial.paused ? "none yet: paused" : "under way"))
      << moves_text(loaded.view, trial) << "\n\nepoch  metrics\n";
  const std::int64_t kept = trial.measurements.empty() ? 0 : study::result_of(loaded.view.config, trial).epoch;
  for (const auto& measurement : trial.measurements) {
    out << "  " << measurement.epoch << (measurement.epoch == kept ? "* " : "  ");
    for (const auto& [name, value] : measurement.metrics) out << "  " << printable(name) << " " << value;
    out << "\n";
  }
  if (const std::string race = study::race_text(trial); !race.empty()) out << "\nrace of starts" << race << "\n";
  out << branches_text(trial) << study::selection_text(trial);
  if (kept > 0) out << "* the epoch that gives the trial's weights and metrics\n";
  out << "\nedits from " << printable(loaded.base_name()) << ": " << trial.proposal.edits.size() << "\n";
  for (const auto& edit : trial.proposal.edits) out << "  " << printable(graph::edit_text(edit)) << "\n";
  out << "\nmodel\n" << graph::to_text(loaded.model);
  return out.str();
}

int print_study(const ShowRequest& request) {
  const auto records = store::read_log(real_file_system(), request.target);
  if (!records) return print_error(records.error());
  if (request.canonical) {
    std::cout << store::canonical_export(*records);  // JSON; readers compare it byte by byte
    return kDone;
  }
  const auto view = replay_log(*records, request.target);
  if (!view) return print_error(view.error());
  if (request.config) {
    std::cout << printable_lines(view->config_text);
  } else if (request.json) {
    json out = status_json(request.target, *view);
    out["importance"] = report::importance_json(report::importance(*view));
    std::cout << json_line(out);
  } else {
    std::cout << status_text(request.target, *view) << "\n" << printable_lines(leaderboard(*view, request.top));
  }
  return kDone;
}

/// Updates the page until the study ends or a signal arrives. Returns the exit code.
int watch_study(const std::string& folder, const std::string& path) {
  const RealClock clock;
  const PauseSignals signals;
  auto page = LivePage::open(real_file_system(), clock, folder, path);
  if (!page) return print_error(page.error());
  if (!page->view().end_reason) {
    std::cerr << "watching " << printable(folder) << "   page " << printable(path) << "   Ctrl-C ends it\n";
  }
  while (!page->view().end_reason && signals.requested() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (const auto refreshed = page->refresh(); !refreshed) return print_error(refreshed.error());
  }
  if (const auto written = page->finish(); !written) return print_error(written.error());
  std::cerr << "wrote " << printable(path) << "\n";
  return kDone;
}

}  // namespace

int show_status(const StatusRequest& request) {
  if (!request.folder.empty()) return print_status(request.folder, request.json);
  const auto names = real_file_system().list("studies");
  if (!names || names->empty()) {
    std::cerr << "no studies below studies/; start one with: lanista run\n";
    return kDone;
  }
  for (const auto& name : *names) {
    const std::string folder = "studies/" + name;
    if (std::filesystem::exists(folder + "/log")) print_status(folder, request.json);
  }
  return kDone;
}

int show_study(const ShowRequest& request) {
  if (request.plan && request.target.ends_with(".json")) return show_pipeline_plan(request.target, request.json);
  if (request.plan) return show_plan(request.target, request.json);
  if (!parse_target(request.target).has_trial) {
    if (request.dot) return print_error({Code::kInvalidArgument, "--dot needs a trial: DIR#TRIAL", request.target});
    return print_study(request);
  }
  const auto loaded = load_trial(request.target);
  if (!loaded) return print_error(loaded.error());
  if (request.dot) {
    std::cout << printable_lines(graph::to_dot(loaded->model));
  } else if (request.json) {
    std::cout << json_line(trial_json(*loaded));
  } else {
    std::cout << printable_lines(trial_text(*loaded));
  }
  return kDone;
}

int check_study(const CheckRequest& request) {
  if (request.schema) {
    std::cout << studyfile::study_json_schema().dump(2) << "\n";
    return kDone;
  }
  RunRequest run;
  run.study_file = request.file;
  run.dry_run = true;
  for (const auto& pair : request.set) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos)
      return print_error({Code::kInvalidArgument, "'" + pair + "' is not KEY=VALUE", "--set"});
    run.overrides.push_back({pair.substr(0, equals), pair.substr(equals + 1)});
  }
  return run_study(run);
}

std::string report_text(const std::string& folder, const study::StudyView& view, double reload_seconds) {
  // The page shows the last component only: a page may be published, and a whole path is private.
  std::error_code failed;
  std::filesystem::path whole = std::filesystem::absolute(folder, failed).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  const std::string name = failed || !whole.has_filename() ? folder : whole.filename().string();
  return report::report_page(view,
                             {.folder = name,
                              .version = std::string(kVersion),
                              .reload_seconds = reload_seconds,
                              .assessment = stored_assessment(*real_file_system().confined_to(folder), folder, view)});
}

int write_report(const ReportRequest& request) {
  const std::string path = request.out.empty() ? request.folder + "/report.html" : request.out;
  if (request.watch) return watch_study(request.folder, path);
  const auto view = load_study(request.folder);
  if (!view) return print_error(view.error());
  const auto files = real_file_system().confined_to(request.folder);
  const auto written = write_atomically(*files, path, report_text(request.folder, *view));
  if (!written) return print_error(written.error());
  std::cerr << "wrote " << printable(path) << "\n";
  return kDone;
}

int control_study(const ControlRequest& given) {
  ControlRequest request = given;
  if (const Target target = parse_target(request.folder); target.has_trial) {
    std::uint32_t number = 0;
    const char* const end = target.trial.data() + target.trial.size();
    const auto read = std::from_chars(target.trial.data(), end, number);
    if (request.action != "stop" || request.trial || read.ec != std::errc() || read.ptr != end || number == 0) {
      return print_error({Code::kInvalidArgument,
                          request.action + " has '" + printable(request.folder) + "'; allowed are FOLDER" +
                              (request.action == "stop" ? " and FOLDER#NUMBER" : ""),
                          ""});
    }
    request.folder = target.folder;
    request.trial = number;
  }
  const auto files = real_file_system().confined_to(request.folder);
  const auto view = load_study(request.folder);
  if (!view) return print_error(view.error());
  if (view->end_reason)
    return print_error(
        {Code::kFailedPrecondition, "the study has ended already (" + *view->end_reason + ")", request.folder});
  std::string name = request.action;
  if (request.trial) {
    if (*request.trial > view->trials.size()) {
      return print_error({Code::kNotFound,
                          "there is no trial " + std::to_string(*request.trial) + "; the study has trials 1 to " +
                              std::to_string(view->trials.size()),
                          request.folder});
    }
    name += "-trial-" + std::to_string(*request.trial);
  }
  if (auto made = make_durable_folder(*files, request.folder + "/control"); !made) return print_error(made.error());
  if (auto written = write_atomically(*files, request.folder + "/control/" + name, std::string_view()); !written)
    return print_error(written.error());
  std::cerr << "request sent; a running study acts on it at its next step\n";
  return kDone;
}

}  // namespace lanista::cli
