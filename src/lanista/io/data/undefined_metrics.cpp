#include "lanista/io/data/undefined_metrics.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lanista/base/printable.h"
#include "lanista/io/data/columns.h"

namespace lanista::data {
namespace {

/// The rows of a part that have each class or label.
std::vector<std::int64_t> rows_of_classes(const Dataset& set, Part part) {
  const DataSpec& spec = set.spec();
  const auto& rows = set.rows(part);
  std::vector<std::int64_t> out(static_cast<std::size_t>(spec.multilabel ? spec.target_size : spec.classes));
  if (spec.classes > 0) {
    std::vector<std::int32_t> labels(rows.size() * static_cast<std::size_t>(spec.labels_per_sample()));
    set.gather_labels(rows, labels);
    for (const std::int32_t label : labels) ++out[static_cast<std::size_t>(label)];
  } else if (spec.multilabel) {
    std::vector<float> targets(rows.size() * out.size());
    set.gather_raw_targets(rows, targets);
    for (std::size_t i = 0; i < targets.size(); ++i) out[i % out.size()] += targets[i] != 0 ? 1 : 0;
  }
  return out;
}

/// Why a metric that needs rows of all classes has no value on a part; nullopt: it has one.
std::optional<std::string> missing_class(const Dataset& set, Part part, const std::string& where) {
  const auto counts = rows_of_classes(set, part);
  const auto labels = static_cast<std::int64_t>(set.rows(part).size()) * set.spec().labels_per_sample();
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const std::string name = class_text(set.spec(), k);
    if (counts[k] == 0) return where + " has no row of " + name;
    if (set.spec().multilabel && counts[k] == static_cast<std::int64_t>(set.rows(part).size())) {
      return "all rows of " + where + " have " + name;
    }
  }
  const bool is_single = counts.size() == 1 && labels > 0;
  return is_single ? std::optional(where + " has rows of one class only") : std::nullopt;
}

/// What classes a part lacks; empty if it has rows of all classes.
std::string lacking_classes(const DataSpec& spec, const std::vector<std::int64_t>& counts, std::size_t rows,
                            const std::vector<std::int64_t>& of_all) {
  const auto has_rows = [](std::int64_t count) { return count > 0; };
  const auto first = static_cast<std::size_t>(std::ranges::find_if(counts, has_rows) - counts.begin());
  const bool is_known_single = std::ranges::count_if(of_all, has_rows) > 1;
  if (!spec.multilabel && is_known_single && std::ranges::count_if(counts, has_rows) == 1) {
    return "has rows of " + class_text(spec, first) + " alone, so a constant prediction is right in all of them";
  }
  if (spec.vocab > 0) return {};
  std::string text;
  std::size_t others = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const bool lacks = counts[k] == 0 && of_all[k] > 0;
    const bool is_everywhere = spec.multilabel && counts[k] == static_cast<std::int64_t>(rows);
    if (!lacks && !is_everywhere) continue;
    others += text.empty() ? 0 : 1;
    if (text.empty()) text = (lacks ? "has no row of " : "has only rows of ") + class_text(spec, k);
  }
  if (others == 0) return text;
  const std::string kind = spec.multilabel ? (others == 1 ? "label" : "labels") : (others == 1 ? "class" : "classes");
  return text + " and of " + std::to_string(others) + " more " + kind;
}

}  // namespace

std::string class_text(const DataSpec& spec, std::size_t index) {
  const std::string kind = spec.multilabel ? "label " : "class ";
  const std::vector<std::string> targets = spec.multilabel ? target_names(spec) : std::vector<std::string>();
  const std::vector<std::string>& names = targets.empty() ? spec.labels : targets;
  return kind + (index < names.size() ? "\"" + printable(names[index]) + "\"" : std::to_string(index));
}

std::vector<UndefinedMetric> undefined_metrics(const Dataset& set, const std::vector<std::string>& metrics,
                                               std::span<const study::Metric> own) {
  std::vector<UndefinedMetric> out;
  const auto needs_all = [&](const std::string& name) {
    const auto found = study::find_metric(name, own);
    return found && found->metric.needs_all_classes;
  };
  if (std::ranges::none_of(metrics, needs_all)) return out;
  const auto add = [&](Part part, const std::optional<std::string>& reason) {
    for (const std::string& name : metrics) {
      const bool is_known = std::ranges::any_of(
          out, [&](const UndefinedMetric& other) { return other.metric == name && other.part == part; });
      if (reason && needs_all(name) && !is_known) out.push_back({name, part, *reason});
    }
  };
  const auto folds = std::ssize(set.spec().folds);
  for (std::int64_t fold = 0; fold < folds; ++fold) {
    add(Part::kValidation, missing_class(set.training(fold), Part::kValidation,
                                         "the validation part of fold " + std::to_string(fold + 1)));
  }
  if (folds == 0 && !set.rows(Part::kValidation).empty()) {
    add(Part::kValidation, missing_class(set, Part::kValidation, "the validation part"));
  }
  if (!set.rows(Part::kTest).empty()) add(Part::kTest, missing_class(set, Part::kTest, "the test part"));
  return out;
}

std::vector<std::string> part_class_warnings(const Dataset& set) {
  const DataSpec& spec = set.spec();
  if (spec.rules == study::kFirstRules || (spec.classes == 0 && !spec.multilabel)) return {};
  const auto folds = std::ssize(spec.folds);
  std::vector<std::int64_t> of_all = rows_of_classes(set, Part::kTest);
  for (const Part part : {Part::kTrain, Part::kValidation}) {
    const auto counts = rows_of_classes(folds > 0 ? set.training(0) : set, part);
    for (std::size_t k = 0; k < of_all.size(); ++k) of_all[k] += counts[k];
  }
  std::vector<std::string> out;
  const auto add = [&](const std::string& where, const std::string& lack) {
    if (lack.empty()) return;
    out.push_back(where + " " + lack + "; data.split and, of a table, group= and order= decide which rows it gets");
  };
  const auto lack_of = [&](const Dataset& part_of, Part part) {
    const auto& rows = part_of.rows(part);
    return rows.empty() ? std::string() : lacking_classes(spec, rows_of_classes(part_of, part), rows.size(), of_all);
  };
  for (const auto& [part, name] : {std::pair(Part::kTrain, "the training part"),
                                   {Part::kValidation, "the validation part"},
                                   {Part::kTest, "the test part"}}) {
    if (folds == 0 || part == Part::kTest) {
      add(name, lack_of(set, part));
      continue;
    }
    for (std::int64_t fold = 0; fold < folds; ++fold) {
      const std::string lack = lack_of(set.training(fold), part);
      if (lack.empty()) continue;
      add(std::string(name) + " of fold " + std::to_string(fold + 1), lack);
      break;
    }
  }
  return out;
}

}  // namespace lanista::data
