#include "bench/table_search.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <set>

#include "bench/arms.h"
#include "lanista/base/csv.h"

namespace lanista::bench {
namespace {

constexpr std::size_t kMaxCodes = 1 << 26;

Error at_line(std::size_t row, const std::string& message) {
  return {Code::kDataLoss, message, "line " + std::to_string(row + 2)};
}

/// The operations of a cell, edge by edge; empty if the text is not a cell.
std::vector<std::string_view> operations_of(std::string_view cell) {
  std::vector<std::string_view> out;
  std::size_t nodes = 0;
  while (!cell.empty()) {
    if (nodes > 0 && (cell.size() < 2 || cell[0] != '+')) return {};
    cell.remove_prefix(nodes > 0 ? 1 : 0);
    ++nodes;
    if (cell.empty() || cell[0] != '|') return {};
    cell.remove_prefix(1);
    for (std::size_t source = 0; source < nodes; ++source) {
      const std::size_t end = cell.find('|');
      const std::string suffix = "~" + std::to_string(source);
      if (end == std::string_view::npos || !cell.substr(0, end).ends_with(suffix)) return {};
      out.push_back(cell.substr(0, end - suffix.size()));
      if (out.back().empty()) return {};
      cell.remove_prefix(end + 1);
    }
  }
  return out;
}

/// The value of a percentage; nullopt if the text is not one.
std::optional<double> percentage(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= 100)) return std::nullopt;
  return value;
}

Result<std::size_t> column_of(const formats::CsvTable& table, const std::string& name) {
  const auto& header = table.header();
  const auto it = std::find(header.begin(), header.end(), name);
  if (it != header.end()) return static_cast<std::size_t>(it - header.begin());
  std::string known;
  for (const std::string& column : header) known += (known.empty() ? "" : ", ") + column;
  return Error{Code::kNotFound, "the table has no column '" + name + "'; its columns are " + known, ""};
}

/// The position of an operation in the sorted list, a digit of the code of a cell.
std::size_t digit(const std::vector<std::string>& sorted, std::string_view operation) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), operation) - sorted.begin());
}

double weights_of(const std::vector<std::string_view>& operations) {
  double sum = 0;
  for (std::string_view operation : operations) {
    const std::size_t at = operation.find("conv");
    if (at == std::string_view::npos) continue;
    operation.remove_prefix(std::min(operation.size(), operation.find_first_of("0123456789", at)));
    double side = 0;
    std::from_chars(operation.data(), operation.data() + operation.size(), side);
    sum += side * side;
  }
  return sum;
}

}  // namespace

Result<AccuracyTable> AccuracyTable::read(std::string_view csv, const std::string& name) {
  LANISTA_ASSIGN(const formats::CsvTable table, formats::parse_csv(csv, {',', true}));
  LANISTA_ASSIGN(const std::size_t cell_column, column_of(table, "cell"));
  LANISTA_ASSIGN(const std::size_t val_column, column_of(table, name + "-val"));
  LANISTA_ASSIGN(const std::size_t test_column, column_of(table, name + "-test"));
  if (table.rows() == 0) return Error{Code::kDataLoss, "the table has no rows", ""};

  std::set<std::string_view> known;
  std::size_t edges = 0;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto operations = operations_of(table.cell(i, cell_column));
    if (operations.empty())
      return at_line(
          i, "'" + std::string(table.cell(i, cell_column)) + "' is not a cell; expected like |op~0|+|op~0|op~1|");
    if (i > 0 && operations.size() != edges) {
      return at_line(i, "the cell has " + std::to_string(operations.size()) + " edges, the cells before have " +
                            std::to_string(edges));
    }
    edges = operations.size();
    known.insert(operations.begin(), operations.end());
  }
  AccuracyTable out;
  out.operations_.assign(known.begin(), known.end());
  std::size_t codes = 1;
  for (std::size_t i = 0; i < edges; ++i) {
    out.edges_.push_back("edge" + std::to_string(i));
    codes *= out.operations_.size();
    if (codes > kMaxCodes) {
      return Error{Code::kResourceExhausted, "the cells of the table allow more than 2^26 combinations", ""};
    }
  }
  out.row_of_code_.assign(codes, -1);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    std::size_t code = 0;
    const auto operations = operations_of(table.cell(i, cell_column));
    for (const std::string_view operation : operations) {
      code = code * out.operations_.size() + digit(out.operations_, operation);
    }
    if (out.row_of_code_[code] >= 0) return at_line(i, "the cell is repeated");
    const auto validation = percentage(table.cell(i, val_column)), test = percentage(table.cell(i, test_column));
    if (!validation || !test) {
      return at_line(i, "'" + std::string(table.cell(i, validation ? test_column : val_column)) +
                            "' is not a percentage from 0 to 100");
    }
    out.row_of_code_[code] = static_cast<std::int32_t>(i);
    out.rows_.push_back({*validation, *test});
    out.weights_.push_back(weights_of(operations));
    out.worst_validation_ = std::min(out.worst_validation_, *validation);
    out.best_ = {std::max(out.best_.validation, *validation), std::max(out.best_.test, *test)};
  }
  return out;
}

std::optional<std::size_t> AccuracyTable::row_of(const space::Sample& sample) const {
  std::size_t code = 0;
  for (const std::string& edge : edges_) {
    const auto it = sample.find(edge);
    const auto* operation = it == sample.end() ? nullptr : std::get_if<std::string>(&it->second);
    const std::size_t at = operation == nullptr ? operations_.size() : digit(operations_, *operation);
    if (at == operations_.size() || operations_[at] != *operation) return std::nullopt;
    code = code * operations_.size() + at;
  }
  const std::int32_t row = row_of_code_[code];
  return row < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(row));
}

const AccuracyTable::CellAccuracy* AccuracyTable::find(const space::Sample& sample) const {
  const auto row = row_of(sample);
  return row ? &rows_[*row] : nullptr;
}

search::Context AccuracyTable::context(std::uint64_t seed) const {
  space::Categorical operations;
  for (const std::string& operation : operations_) operations.values.emplace_back(operation);
  space::SearchSpace params;
  for (const std::string& edge : edges_) {
    LANISTA_CHECK(params.add({edge, operations, {}}).ok(), "an edge is a parameter");
  }
  auto base = mutate::builtin_base("small-mlp", {{1}}, 2);
  LANISTA_CHECK(base.ok(), "a built-in base");
  std::vector<mutate::BaseModel> bases{*std::move(base)};
  auto models = mutate::ModelSpace::make(graph::builtin_ops(), std::move(bases), {}, {}, {});
  LANISTA_CHECK(models.ok(), "a space of one base");
  return {std::make_shared<const mutate::ModelSpace>(*std::move(models)),
          std::move(params),
          {{true, "val_accuracy"}},
          1,
          Rng(seed)};
}

Result<SearchRun> search_table(const AccuracyTable& table, const search::StrategyPlugin& plugin, const Options& options,
                               const std::vector<std::int64_t>& marks, std::uint64_t seed) {
  LANISTA_ASSIGN(auto sampler, plugin.make(table.context(seed), options));
  const auto strategy = search::compose(std::move(sampler), nullptr);
  SearchRun out;
  AccuracyTable::CellAccuracy best{-1, 0};
  const double begin = now_seconds();
  for (const std::int64_t mark : marks) {
    for (; out.queries < mark; ++out.queries) {
      const auto group = strategy->suggest({1});
      if (!group && group.error().code != Code::kResourceExhausted) return group.error();
      if (!group || group->proposals().empty()) break;
      const TrialId trial{static_cast<std::uint32_t>(out.queries + 1)};
      const AccuracyTable::CellAccuracy* row = table.find(group->proposals()[0].sample);
      strategy->observe(study::Proposed{trial, group->proposals()[0]});
      study::Outcome outcome;
      if (row != nullptr) {
        strategy->observe(study::Measured{{trial, 1, 1, {{"val_accuracy", row->validation}}}});
        if (row->validation > best.validation) best = *row;
      } else {
        outcome.kind = study::OutcomeKind::kFailed;
      }
      strategy->observe(study::Ended{trial, outcome});
    }
    out.after.push_back({table.best_validation() - std::max(best.validation, 0.0), table.best_test() - best.test});
  }
  out.seconds = now_seconds() - begin;
  return out;
}

}  // namespace lanista::bench
