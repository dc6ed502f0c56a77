#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "lanista/base/digest.h"
#include "lanista/base/printable.h"
#include "lanista/io/data/catalog.h"
#include "lanista/io/data/columns.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/undefined_metrics.h"

namespace lanista::data {
namespace {

constexpr std::array<Part, 3> kParts = {Part::kTrain, Part::kValidation, Part::kTest};
constexpr std::int64_t kImbalance = 10;  // largest class in relation to the smallest

/// Calls `visit(features)` for each row of a part.
template <class F>
void for_each_row(const Dataset& set, Part part, F&& visit) {
  std::vector<float> features(static_cast<std::size_t>(set.spec().features.elements_per_sample()));
  for (const std::int64_t row : set.rows(part)) {
    set.gather_features({&row, 1}, features);
    visit(features);
  }
}

void add_feature_facts(const Dataset& set, DataReport& report) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto width = static_cast<std::size_t>(set.spec().features.elements_per_sample());
  std::vector<float> low(width, kInfinity), high(width, -kInfinity);
  const auto widen = [&](const std::vector<float>& row) {
    for (std::size_t f = 0; f < width; ++f) {
      low[f] = std::min(low[f], row[f]);
      high[f] = std::max(high[f], row[f]);
    }
  };
  std::vector<Digest> seen;
  for_each_row(set, Part::kTrain, [&](const std::vector<float>& row) {
    widen(row);
    seen.push_back(hash_bytes(std::as_bytes(std::span(row))));
  });
  for (std::size_t f = 0; f < width; ++f) report.constant_features += low[f] == high[f] ? 1 : 0;
  std::sort(seen.begin(), seen.end());
  for_each_row(set, Part::kValidation, widen);
  for_each_row(set, Part::kTest, [&](const std::vector<float>& row) {
    widen(row);
    const Digest digest = hash_bytes(std::as_bytes(std::span(row)));
    report.seen_test_rows += std::binary_search(seen.begin(), seen.end(), digest) ? 1 : 0;
  });
  const std::vector<double>& origin = set.spec().origin;
  report.min = std::numeric_limits<double>::infinity();
  report.max = -report.min;
  for (std::size_t f = 0; f < width; ++f) {
    const double from = origin.empty() ? 0 : origin[f * origin.size() / width];
    report.min = std::min(report.min, from + double{low[f]});
    report.max = std::max(report.max, from + double{high[f]});
  }
}

void add_target_facts(const Dataset& set, DataReport& report) {
  const DataSpec& spec = set.spec();
  report.class_rows.resize(static_cast<std::size_t>(spec.multilabel ? spec.target_size : spec.classes));
  bool first = true;
  for (std::size_t p = 0; p < kParts.size(); ++p) {
    const auto& rows = set.rows(kParts[p]);
    if (spec.classes > 0) {
      std::vector<std::int32_t> labels(rows.size() * static_cast<std::size_t>(spec.labels_per_sample()));
      set.gather_labels(rows, labels);
      for (const std::int32_t label : labels) ++report.class_rows[static_cast<std::size_t>(label)][p];
      continue;
    }
    std::vector<float> targets(rows.size() * static_cast<std::size_t>(spec.target_size));
    set.gather_raw_targets(rows, targets);
    for (std::size_t i = 0; spec.multilabel && i < targets.size(); ++i) {
      report.class_rows[i % report.class_rows.size()][p] += targets[i] != 0 ? 1 : 0;
    }
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const double from = spec.target_origin.empty() ? 0 : spec.target_origin[i % spec.target_origin.size()];
      const double target = from + double{targets[i]};
      report.target_min = first ? target : std::min(report.target_min, target);
      report.target_max = first ? target : std::max(report.target_max, target);
      first = false;
    }
  }
}

/// Warns of metrics that have no value on a part, since a class has no row there.
void add_undefined_metrics(const Dataset& set, DataReport& report) {
  for (const UndefinedMetric& each : undefined_metrics(set, study::applicable_metrics(set.spec().targets()))) {
    report.warnings.push_back((each.part == Part::kValidation ? "val_" : "test_") + each.metric +
                              " is undefined, since " + each.reason);
  }
}

/// The name of a class, or of one of several labels.
std::string class_name(const DataSpec& spec, std::size_t index) {
  const std::vector<std::string> targets = spec.multilabel ? target_names(spec) : std::vector<std::string>();
  if (index < targets.size()) return printable(targets[index]);
  return index < spec.labels.size() ? printable(spec.labels[index]) : std::to_string(index);
}

std::string count_of(std::int64_t n, const std::string& one, const std::string& many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

void add_class_warnings(DataReport& report) {
  if (report.spec.multilabel) return;
  std::size_t smallest = 0, largest = 0, absent = 0;
  // After the first rules part_class_warnings() names them.
  const bool counts_absent = report.spec.rules == study::kFirstRules || report.spec.vocab > 0;
  const auto rows = [&](std::size_t c) {
    return report.class_rows[c][0] + report.class_rows[c][1] + report.class_rows[c][2];
  };
  for (std::size_t c = 0; c < report.class_rows.size(); ++c) {
    absent += report.class_rows[c][0] == 0 ? 1 : 0;
    if (rows(c) < rows(smallest)) smallest = c;
    if (rows(c) > rows(largest)) largest = c;
  }
  if (absent > 0 && counts_absent) {
    report.warnings.push_back(count_of(static_cast<std::int64_t>(absent), "class has", "classes have") +
                              " no row in the training part");
  }
  if (!report.class_rows.empty() && rows(largest) > kImbalance * rows(smallest)) {
    report.warnings.push_back("classes are unequal: \"" + class_name(report.spec, largest) + "\" has " +
                              count_of(rows(largest), "row", "rows") + ", \"" + class_name(report.spec, smallest) +
                              "\" has " + std::to_string(rows(smallest)) +
                              " (train.class_weights: balanced makes them count alike)");
  }
}

void warn(const std::vector<std::string>& data_warnings, DataReport& report) {
  add_class_warnings(report);
  const std::int64_t width = report.spec.features.elements_per_sample();
  if (report.constant_features > 0) {
    report.warnings.push_back(std::to_string(report.constant_features) + " of " +
                              count_of(width, "feature is", "features are") + " the same in all training rows");
  }
  if (report.seen_test_rows > 0) {
    report.warnings.push_back(count_of(report.seen_test_rows, "test row has", "test rows have") +
                              " the features of a training row; the test will look better than it "
                              "is");
  }
  const bool has_numbers = report.spec.classes == 0 && !report.spec.multilabel;
  if (has_numbers && report.target_min == report.target_max) {
    report.warnings.push_back("all rows have the target " + short_number(report.target_min) +
                              "; there is nothing to learn");
  }
  report.warnings.insert(report.warnings.end(), data_warnings.begin(), data_warnings.end());
  if (report.missing > 0) report.warnings.push_back(count_of(report.missing, "cell has", "cells have") + " no value");
}

}  // namespace

Result<DataReport> check_source(const study::DataConfig& config, const std::string& folder, FileSystem& fs) {
  DataReport report;
  // The source is read once: first as a study would use the numbers, then as
  // they are.
  LANISTA_ASSIGN(auto raw, open_raw(config, folder, fs));
  LANISTA_TRY(Dataset::fit_statistics(raw.first, raw.second, config.normalize, config.targets));
  report.spec = raw.first.spec;
  LANISTA_ASSIGN(const Dataset set, Dataset::make(std::move(raw.first), std::move(raw.second), "none", "raw"));
  add_feature_facts(set, report);
  add_target_facts(set, report);
  if (!report.spec.schema.is_null()) {
    LANISTA_ASSIGN(const auto columns, parse_columns(report.spec.schema.at("columns")));
    for (const Column& column : columns) report.missing += column.missing;
  }
  report.decisions = set.decisions();
  warn(set.data_warnings(), report);
  std::ranges::move(part_class_warnings(set), std::back_inserter(report.warnings));
  add_undefined_metrics(set, report);
  return report;
}

std::string DataReport::text() const {
  constexpr std::size_t kShownClasses = 20;
  std::string out = printable(spec.name) + "  (" + printable(spec.source) +
                    (spec.licence.empty() ? "" : ", " + printable(spec.licence)) + ")\n";
  out += "rows      " + std::to_string(spec.rows) + ": " + std::to_string(spec.split_rows[0]) + " training, " +
         std::to_string(spec.split_rows[1]) + " validation, " + std::to_string(spec.split_rows[2]) + " test\n";
  constexpr std::size_t kTopicWidth = 10;
  for (const ReadingDecision& decision : decisions) {
    std::string topic = decision.topic;
    topic.resize(kTopicWidth, ' ');
    out += topic + printable(decision.text) + "\n";
  }
  out += "samples   " + spec.features.text() + ", from " + short_number(min) + " to " + short_number(max) + "\n";
  if (spec.multilabel) {
    out += "labels    " + std::to_string(spec.target_size) + " (rows that have it: training, validation, test)\n";
  } else if (spec.classes == 0) {
    out += "targets   " + count_of(spec.target_size, "number", "numbers") + " from " + short_number(target_min) +
           " to " + short_number(target_max) + "\n";
  } else {
    out += "classes   " + std::to_string(spec.classes) + " (training, validation, test)\n";
  }
  for (std::size_t c = 0; c < std::min(class_rows.size(), kShownClasses); ++c) {
    out += "    " + class_name(spec, c) + ": " + std::to_string(class_rows[c][0]) + ", " +
           std::to_string(class_rows[c][1]) + ", " + std::to_string(class_rows[c][2]) + "\n";
  }
  if (class_rows.size() > kShownClasses) {
    out += "    … and " + std::to_string(class_rows.size() - kShownClasses) + " more\n";
  }
  if (!spec.schema.is_null()) out += "columns\n" + schema_text(spec);
  out += "hash      " + spec.hash.hex() + "\n";
  for (const std::string& warning : warnings) out += "warning: " + printable(warning) + "\n";
  return out;
}

nlohmann::json DataReport::json() const {
  nlohmann::json out = {{"data", spec_json(spec)},
                        {"class_rows", class_rows},
                        {"min", min},
                        {"max", max},
                        {"missing", missing},
                        {"constant_features", constant_features},
                        {"seen_test_rows", seen_test_rows},
                        {"warnings", warnings}};
  out["decisions"] = nlohmann::json::object();
  for (const ReadingDecision& decision : decisions) out["decisions"][decision.topic] = decision.text;
  if (spec.classes == 0) out.update({{"target_min", target_min}, {"target_max", target_max}});
  return out;
}

}  // namespace lanista::data
