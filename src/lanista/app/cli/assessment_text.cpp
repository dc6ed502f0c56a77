#include "lanista/app/cli/assessment_text.h"

#include <cstdio>

#include "lanista/app/cli/text_table.h"
#include "lanista/base/printable.h"
#include "lanista/base/real_json.h"
#include "lanista/io/formats/csv_writer.h"
#include "lanista/search/study/record_fields.h"

namespace lanista::cli {
namespace {

constexpr std::int64_t kLargestMatrix = 20;
constexpr std::size_t kHardest = 10;
constexpr std::size_t kLabelColumns = 24;

/// A class as "3 cat": its number, and its name if that is another text.
std::string class_name(const data::DataSpec& data, std::size_t label) {
  const std::string number = std::to_string(label);
  if (label >= data.labels.size() || data.labels[label] == number) return number;
  std::string name = printable(data.labels[label]);
  if (display_width(name) > kLabelColumns) {
    // Removes whole UTF-8 characters: bytes 10xxxxxx continue a character.
    while (display_width(name) > kLabelColumns - 3) {
      while ((static_cast<unsigned char>(name.back()) & 0xC0U) == 0x80U) name.pop_back();
      name.pop_back();
    }
    name += "...";
  }
  return number + " " + name;
}

std::string four_digits(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string matrix_text(const inference::Assessment& assessment, const data::DataSpec& data) {
  const auto n = static_cast<std::size_t>(assessment.classes);
  std::vector<TableRow> rows{{"label"}};
  for (std::size_t j = 0; j < n; ++j) rows[0].push_back(std::to_string(j));
  for (std::size_t i = 0; i < n; ++i) {
    TableRow row{class_name(data, i)};
    for (std::size_t j = 0; j < n; ++j) row.push_back(std::to_string(assessment.confusion[i * n + j]));
    rows.push_back(std::move(row));
  }
  std::vector<bool> right(n + 1, true);
  right[0] = false;
  return "\nconfusion: a row for each label, a column for each prediction\n" + text_table(rows, right);
}

std::string hardest_text(const inference::Assessment& assessment, const data::DataSpec& data) {
  std::vector<TableRow> rows{{"label", "recall", "precision", "rows"}};
  for (const auto& score : inference::hardest_classes(assessment.confusion, assessment.classes, kHardest)) {
    rows.push_back({class_name(data, static_cast<std::size_t>(score.label)), four_digits(score.recall),
                    four_digits(score.precision), std::to_string(score.rows)});
  }
  return "\nclasses with the lowest recall, of " + std::to_string(assessment.classes) + "\n" +
         text_table(rows, {false, true, true, true});
}

/// The name of output `k`: its column in the table of the training data, or its number.
std::string output_name(const data::DataSpec& data, std::size_t index) {
  const std::vector<std::string> names = data::target_names(data);
  return names.size() > 1 || data.multilabel ? (index < names.size() ? printable(names[index]) : std::to_string(index))
                                             : std::to_string(index);
}

std::string labels_text(const inference::Assessment& assessment, const data::DataSpec& data) {
  std::vector<TableRow> rows{{"label", "precision", "recall", "f1", "rows"}};
  for (const auto& score : inference::label_scores(assessment.confusion)) {
    rows.push_back({output_name(data, static_cast<std::size_t>(score.label)), four_digits(score.precision),
                    four_digits(score.recall), four_digits(score.f1()), std::to_string(score.rows)});
  }
  return "\nlabels, with the rows that have them\n" + text_table(rows, {false, true, true, true, true});
}

/// MAE, RMSE and R2 of each output of a regression.
std::string targets_text(const inference::Assessment& assessment, const data::DataSpec& data) {
  std::vector<TableRow> rows{{"target", "mae", "rmse", "r2"}};
  for (std::size_t k = 0; k < assessment.residuals.size(); ++k) {
    const inference::Residuals& of = assessment.residuals[k];
    rows.push_back({output_name(data, k), four_digits(of.mae), four_digits(of.rmse), four_digits(of.r2)});
  }
  return "\nmetrics of each target\n" + text_table(rows, {false, true, true, true});
}

std::string residuals_text(const inference::Assessment& assessment, const data::DataSpec& data) {
  std::vector<TableRow> rows{{"output", "mean", "spread"}};
  for (const int percent : inference::kResidualPercents) rows[0].push_back(std::to_string(percent) + "%");
  for (std::size_t k = 0; k < assessment.residuals.size(); ++k) {
    const inference::Residuals& of = assessment.residuals[k];
    TableRow row{output_name(data, k), four_digits(of.mean), four_digits(of.spread)};
    for (const double quantile : of.quantiles) row.push_back(four_digits(quantile));
    rows.push_back(std::move(row));
  }
  return "\nresiduals: target minus prediction, with quantiles\n" +
         text_table(rows, std::vector<bool>(rows[0].size(), true));
}

}  // namespace

std::string assessment_text(const inference::Assessment& assessment, const data::DataSpec& data) {
  std::string out = "rows  " + std::to_string(assessment.rows) + "\n";
  if (assessment.lost > 0) out += "without a prediction  " + std::to_string(assessment.lost) + "\n";
  for (const auto& [name, value] : assessment.metrics) out += printable(name) + "  " + formats::csv_cell(value) + "\n";
  if (assessment.multilabel) return out + labels_text(assessment, data);
  if (assessment.classes == 0) {
    return out + (assessment.residuals.size() > 1 ? targets_text(assessment, data) : "") +
           residuals_text(assessment, data);
  }
  return out + (assessment.classes <= kLargestMatrix ? matrix_text(assessment, data) : hardest_text(assessment, data));
}

nlohmann::json assessment_json(const inference::Assessment& assessment, const data::DataSpec& data) {
  nlohmann::json out{{"v", 1},
                     {"rows", assessment.rows},
                     {"lost", assessment.lost},
                     {"metrics", study::fields::metrics_json(assessment.metrics)}};
  if (assessment.multilabel) {
    out["labels"] = nlohmann::json::array();
    for (const inference::ClassScore& score : inference::label_scores(assessment.confusion)) {
      out["labels"].push_back({{"name", output_name(data, static_cast<std::size_t>(score.label))},
                               {"rows", score.rows},
                               {"precision", score.precision},
                               {"recall", score.recall},
                               {"f1", score.f1()}});
    }
    return out;
  }
  if (assessment.classes == 0) {
    out["residuals"] = nlohmann::json::array();
    for (std::size_t k = 0; k < assessment.residuals.size(); ++k) {
      const inference::Residuals& of = assessment.residuals[k];
      nlohmann::json one{{"mean", real_json(of.mean)}, {"spread", real_json(of.spread)}};
      if (assessment.residuals.size() > 1) {
        one.update({{"name", output_name(data, k)},
                    {"mae", real_json(of.mae)},
                    {"rmse", real_json(of.rmse)},
                    {"r2", real_json(of.r2)}});
      }
      for (std::size_t i = 0; i < of.quantiles.size(); ++i) {
        one["quantiles"][std::to_string(inference::kResidualPercents[i])] = real_json(of.quantiles[i]);
      }
      out["residuals"].push_back(std::move(one));
    }
    return out;
  }
  const auto n = static_cast<std::size_t>(assessment.classes);
  out["classes"] = out["confusion"] = nlohmann::json::array();
  for (const inference::ClassScore& score : inference::class_scores(assessment.confusion, assessment.classes)) {
    const auto label = static_cast<std::size_t>(score.label);
    out["classes"].push_back({{"label", score.label},
                              {"name", label < data.labels.size() ? data.labels[label] : std::to_string(label)},
                              {"rows", score.rows},
                              {"precision", score.precision},
                              {"recall", score.recall}});
    const auto row = assessment.confusion.begin() + static_cast<std::ptrdiff_t>(label * n);
    out["confusion"].push_back(std::vector<std::int64_t>(row, row + static_cast<std::ptrdiff_t>(n)));
  }
  return out;
}

}  // namespace lanista::cli
