#include "lanista/app/cli/compare_studies.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <utility>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/cli/text_table.h"
#include "lanista/app/cli/version.h"
#include "lanista/base/file_system.h"
#include "lanista/io/studyfile/study_file.h"

namespace lanista::cli {
namespace {

constexpr std::size_t kMeasuresShown = 3;
constexpr std::size_t kValueWidth = 36;  ///< columns of a setting

std::string value_text(const std::optional<double>& value) { return value ? four_digits(*value) : "-"; }

/// Seconds with three significant digits, since small studies need less than one.
std::string forecast_time_text(double seconds) {
  if (!(seconds < 100)) return clock_text(seconds);
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

std::string shortened(std::string text) {
  text = printable(text);
  if (display_width(text) <= kValueWidth) return text;
  while (!text.empty() && display_width(text) > kValueWidth - 3) {
    do {
      const bool continued = (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U;
      text.pop_back();
      if (!continued) break;
    } while (!text.empty());
  }
  return text + "...";
}

std::string results_table(const report::StudyComparison& comparison) {
  const std::size_t shown = std::min(kMeasuresShown, comparison.measures.size());
  std::vector<TableRow> rows{{"study"}};
  std::vector<bool> right{false};
  const auto head = [&](const std::string& text, bool number) {
    rows.front().push_back(text);
    right.push_back(number);
  };
  for (std::size_t m = 0; m < shown; ++m) {
    head("best " + printable(comparison.measures[m].metric), true);
    head("trial", true);
  }
  head("test", true);
  for (const auto* name : {"trials", "trained", "failed", "steps", "time"}) head(name, true);
  head("strategy", false);
  head("", false);
  for (const auto& of : comparison.studies) {
    TableRow row{printable(of.name)};
    for (std::size_t m = 0; m < shown; ++m) {
      const auto& best = of.best[m];
      row.push_back(best.empty() ? "-" : four_digits(best.back().value));
      row.push_back(best.empty() ? "" : "#" + std::to_string(best.back().trial.value));
    }
    const std::string metric = shown > 0 ? comparison.measures.front().metric : "";
    const auto test = of.test.find(metric.starts_with("val_") ? "test_" + metric.substr(4) : std::string());
    row.push_back(test == of.test.end() ? "" : four_digits(test->second));
    row.push_back(std::to_string(of.trials));
    row.push_back(std::to_string(of.trainings));
    row.push_back(std::to_string(of.failed));
    row.push_back(short_number(static_cast<double>(of.steps)));
    row.push_back(forecast_time_text(of.seconds));
    row.push_back(printable(of.strategy));
    row.push_back(of.ended ? "" : "not ended");
    rows.push_back(std::move(row));
  }
  return text_table(rows, right);
}

/// The best values at equal effort, by the first metric only. The JSON and the page have the others.
std::string effort_table(const report::StudyComparison& comparison) {
  const auto counts = report::training_milestones(comparison);
  const auto seconds = report::seconds_milestones(comparison);
  if (comparison.measures.empty() || counts.empty()) return "";
  std::vector<TableRow> rows{{"best " + printable(comparison.measures.front().metric) + " after"}};
  std::vector<bool> right{false};
  for (const auto count : counts) rows.front().push_back(std::to_string(count) + (count == 1 ? " trial" : " trials"));
  for (const auto second : seconds) rows.front().push_back(forecast_time_text(second));
  right.insert(right.end(), counts.size() + seconds.size(), true);
  for (const auto& of : comparison.studies) {
    TableRow row{printable(of.name)};
    for (const auto count : counts) row.push_back(value_text(report::best_after_trainings(of.best.front(), count)));
    for (const auto second : seconds) row.push_back(value_text(report::best_after_seconds(of.best.front(), second)));
    rows.push_back(std::move(row));
  }
  return "\n" + text_table(rows, right);
}

std::string differences_table(const report::StudyComparison& comparison) {
  if (comparison.differences.empty()) return "\n The study files have equal settings.\n";
  std::vector<TableRow> rows{{"setting"}};
  for (const auto& of : comparison.studies) rows.front().push_back(shortened(of.name));
  for (const auto& difference : comparison.differences) {
    TableRow row{printable(difference.key)};
    for (const auto& value : difference.values) row.push_back(value.empty() ? "-" : shortened(value));
    rows.push_back(std::move(row));
  }
  return "\n" + text_table(rows, std::vector<bool>(comparison.studies.size() + 1, false));
}

}  // namespace

std::string comparison_text(const report::StudyComparison& comparison) {
  std::string out = results_table(comparison) + effort_table(comparison) + differences_table(comparison);
  if (!comparison.notes.empty()) out += "\n";
  for (const std::string& note : comparison.notes) out += " " + printable(note) + "\n";
  return out;
}

int compare_studies(const CompareRequest& request) {
  std::vector<study::StudyView> views;
  for (const std::string& folder : request.folders) {
    auto view = load_study(folder);
    if (!view) return print_error(view.error());
    views.push_back(*std::move(view));
  }
  std::vector<report::ComparedStudy> studies;
  for (std::size_t i = 0; i < views.size(); ++i) {
    studies.push_back({request.folders[i], &views[i], studyfile::write_study(views[i].config)});
  }
  const report::StudyComparison comparison = report::compare(studies);
  if (!request.page.empty()) {
    const std::string page = report::compare_page(comparison, std::string(kVersion));
    const auto written = write_atomically(real_file_system(), request.page, page);
    if (!written) return print_error(written.error());
    std::cerr << "wrote " << printable(request.page) << "\n";
  }
  if (request.json) {
    std::cout << json_line(report::compare_json(comparison));
  } else {
    std::cout << comparison_text(comparison);
  }
  return kDone;
}

}  // namespace lanista::cli
