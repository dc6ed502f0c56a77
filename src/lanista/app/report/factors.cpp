#include "lanista/app/report/factors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lanista/app/report/facts.h"

namespace lanista::report {
namespace {

using space::Domain;
using space::Parameter;
using space::Sample;
using space::Value;
using study::StudyView;

constexpr std::size_t kRangeCells = 32;
constexpr std::size_t kMaxFactors = 100;
constexpr const char* kNotUsed = "not used";
constexpr double kNoPosition = std::numeric_limits<double>::quiet_NaN();

/// A factor with the cell of every trial.
struct Column {
  Factor factor;
  std::vector<std::uint8_t> cells;
  std::vector<double> positions;  ///< 0 to 1; NaN without a cell
  std::vector<Value> values;      ///< [cells], if each cell is one value

  /// Sets the positions to the middles of the cells.
  void assign_cells() {
    std::vector<double> middles;
    double from = 0;
    for (const double weight : factor.axis.weights) {
      middles.push_back(from + 0.5 * weight);
      from += weight;
    }
    positions.clear();
    for (const std::uint8_t cell : cells) positions.push_back(cell == kNoCell ? kNoPosition : middles[cell]);
  }
};

std::string short_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr) return space::value_text(value);
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", *real);
  return text;
}

std::optional<double> number_of(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::nullopt;
}

void even_weights(ForestAxis& axis, std::size_t cells) { axis.weights.assign(cells, 1.0 / static_cast<double>(cells)); }

/// A range on the scale on which its prior is uniform on [lo, hi].
struct Scale {
  double lo = 0, hi = 1;
  bool log = false;

  explicit Scale(const Domain& domain) {
    if (const auto* whole = std::get_if<space::IntRange>(&domain)) {
      // A whole number has all reals that round to it, so a logarithmic range is half a unit wider at both ends.
      const double half = whole->log ? 0.5 : 0.5 * static_cast<double>(whole->step);
      lo = static_cast<double>(whole->lo) - half;
      hi = static_cast<double>(whole->lo + (whole->hi - whole->lo) / whole->step * whole->step) + half;
      log = whole->log && lo > 0;
    } else if (const auto* real = std::get_if<space::FloatRange>(&domain)) {
      lo = real->lo;
      hi = real->hi;
      log = real->log;
    }
    if (!log) return;
    lo = std::log(lo);
    hi = std::log(hi);
  }
  double position(double value) const {
    const double at = log ? std::log(std::max(value, 1e-300)) : value;
    return hi > lo ? std::clamp((at - lo) / (hi - lo), 0.0, 1.0) : 0.5;
  }
  double value(double position) const { return log ? std::exp(lo + position * (hi - lo)) : lo + position * (hi - lo); }
};

/// A column with one cell for each value.
Column add_by_value(std::string name, std::vector<Value> values, const std::vector<std::optional<Value>>& seen) {
  Column out;
  out.factor.name = std::move(name);
  out.factor.axis.ordered =
      std::all_of(values.begin(), values.end(), [](const Value& value) { return number_of(value).has_value(); });
  if (out.factor.axis.ordered) {
    std::stable_sort(values.begin(), values.end(),
                     [](const Value& a, const Value& b) { return *number_of(a) < *number_of(b); });
  }
  // The last cell has all further values.
  const std::size_t cells = std::min(values.size(), kMaxCells - 1);
  even_weights(out.factor.axis, std::max<std::size_t>(cells, 1));
  for (std::size_t c = 0; c < cells; ++c) out.factor.labels.push_back(short_text(values[c]));
  if (values.size() > cells && cells > 0) out.factor.labels.back() = "other";
  std::map<Value, std::uint8_t> cell;
  for (std::size_t k = 0; k < values.size(); ++k) cell[values[k]] = static_cast<std::uint8_t>(std::min(k, cells - 1));
  for (const auto& value : seen) {
    const auto found = value ? cell.find(*value) : cell.end();
    out.cells.push_back(found == cell.end() ? kNoCell : found->second);
  }
  if (values.size() == cells) out.values = std::move(values);
  return out;
}

/// A column with cells between the observed positions, with about equal numbers of trials.
Column add_by_position(std::string name, const std::vector<std::optional<double>>& seen,
                       const std::function<std::string(double)>& label) {
  std::vector<double> positions;
  for (const auto& position : seen) {
    if (position) positions.push_back(*position);
  }
  std::sort(positions.begin(), positions.end());
  std::vector<double> cuts;  // upper ends of all cells except the last
  const auto cut_behind = [&](std::size_t k) {
    const double at = 0.5 * (positions[k] + positions[k + 1]);
    if (positions[k] < at && at < positions[k + 1] && (cuts.empty() || cuts.back() < at)) cuts.push_back(at);
  };
  const std::set<double> distinct(positions.begin(), positions.end());
  if (distinct.size() <= kRangeCells) {
    for (std::size_t k = 0; k + 1 < positions.size(); ++k) cut_behind(k);
  } else {
    for (std::size_t cell = 1; cell < kRangeCells; ++cell) cut_behind(cell * positions.size() / kRangeCells - 1);
  }
  Column out;
  out.factor.name = std::move(name);
  for (std::size_t c = 0; c <= cuts.size(); ++c) {
    const double from = c == 0 ? 0 : cuts[c - 1], to = c == cuts.size() ? 1 : cuts[c];
    out.factor.axis.weights.push_back(to - from);
    out.factor.labels.push_back(label(0.5 * (from + to)));
  }
  for (const auto& position : seen) {
    const auto above = position ? std::upper_bound(cuts.begin(), cuts.end(), *position) - cuts.begin() : 0;
    out.cells.push_back(position ? static_cast<std::uint8_t>(above) : kNoCell);
    out.positions.push_back(position.value_or(kNoPosition));
  }
  return out;
}

/// Adds "not used" as the first cell. Its weight is the share of trials without a value.
void add_not_used_cell(Column& column) {
  const auto without = std::count(column.cells.begin(), column.cells.end(), kNoCell);
  ForestAxis& axis = column.factor.axis;
  if (without == 0 || axis.weights.size() >= kMaxCells) return;
  const double share = static_cast<double>(without) / static_cast<double>(column.cells.size());
  for (double& weight : axis.weights) weight *= 1 - share;
  axis.weights.insert(axis.weights.begin(), share);
  column.factor.labels.insert(column.factor.labels.begin(), kNotUsed);
  for (std::uint8_t& cell : column.cells) cell = cell == kNoCell ? 0 : static_cast<std::uint8_t>(cell + 1);
  for (double& position : column.positions)
    position = std::isnan(position) ? 0.5 * share : share + (1 - share) * position;
  column.factor.range.reset();
  column.values.clear();
}

/// The declaration of a name that a sample's value belongs to.
const Parameter* declaration_of(const std::vector<const Parameter*>& declared, const Sample& sample,
                                const Value& value) {
  for (const Parameter* parameter : declared) {
    if (space::is_active(*parameter, sample) && space::domain_contains(parameter->domain, value)) return parameter;
  }
  for (const Parameter* parameter : declared) {
    if (space::domain_contains(parameter->domain, value)) return parameter;
  }
  return declared.front();
}

struct FactorTableBuilder {
  const StudyView& view;
  std::span<const std::size_t> trials;
  std::vector<Column> columns = {};

  const study::Proposal& proposal(std::size_t row) const { return view.trials[trials[row]].proposal; }

  std::vector<std::optional<Value>> seen_of(const std::string& name) const {
    std::vector<std::optional<Value>> out;
    for (std::size_t row = 0; row < trials.size(); ++row) {
      const Sample& sample = proposal(row).sample;
      const auto found = sample.find(name);
      out.push_back(found == sample.end() ? std::nullopt : std::optional<Value>(found->second));
    }
    return out;
  }

  static std::vector<Value> with_seen_values(std::vector<Value> values, const std::vector<std::optional<Value>>& seen) {
    std::set<Value> more;
    for (const auto& value : seen) {
      if (value && std::find(values.begin(), values.end(), *value) == values.end()) more.insert(*value);
    }
    values.insert(values.end(), more.begin(), more.end());
    return values;
  }

  Column declared_column(const std::string& name, const std::vector<const Parameter*>& declared) const {
    const auto seen = seen_of(name);
    const Domain& domain = declared.front()->domain;
    const bool one = std::all_of(declared.begin(), declared.end(), [&](const auto* p) { return p->domain == domain; });
    const auto is_range = [](const auto* p) { return !std::holds_alternative<space::Categorical>(p->domain); };
    const auto fits = [&](const std::optional<Value>& value) { return !value || number_of(*value); };
    if (!std::all_of(declared.begin(), declared.end(), is_range) || !std::all_of(seen.begin(), seen.end(), fits)) {
      std::vector<Value> values;
      for (const Parameter* parameter : declared) {
        const auto* choice = std::get_if<space::Categorical>(&parameter->domain);
        if (choice == nullptr) continue;
        for (const Value& value : choice->values) {
          if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
        }
      }
      return add_by_value(name, with_seen_values(std::move(values), seen), seen);
    }
    const auto contained = [&](const auto& value) { return !value || space::domain_contains(domain, *value); };
    const auto size = space::domain_size(domain);
    if (one && size && *size < static_cast<std::int64_t>(kMaxCells) &&
        std::all_of(seen.begin(), seen.end(), contained)) {
      return countable_column(name, domain, *size, seen);
    }
    std::vector<std::optional<double>> positions;
    for (std::size_t row = 0; row < seen.size(); ++row) {
      positions.emplace_back();
      if (!seen[row]) continue;
      const Parameter* own = declaration_of(declared, proposal(row).sample, *seen[row]);
      positions.back() = Scale(own->domain).position(*number_of(*seen[row]));
    }
    const Scale scale(domain);
    Column out = add_by_position(name, positions, [&](double position) {
      if (!one) return std::to_string(std::lround(100 * position)) + " % of its range";
      const double value = scale.value(position);
      const bool whole = std::holds_alternative<space::IntRange>(domain);
      return short_text(whole ? Value(static_cast<std::int64_t>(std::llround(value))) : Value(value));
    });
    out.factor.range =
        one ? Factor::Range{scale.value(0), scale.value(1), scale.log} : Factor::Range{0, 100, false, true};
    return out;
  }

  /// All values of a short range, with their probabilities under the prior.
  static Column countable_column(const std::string& name, const Domain& domain, std::int64_t size,
                                 const std::vector<std::optional<Value>>& seen) {
    std::vector<Value> values;
    for (std::int64_t i = 0; i < size; ++i) values.push_back(space::domain_value(domain, i, size));
    Column out = add_by_value(name, values, seen);
    const Scale scale(domain);
    if (!scale.log) return out;
    double from = 0;
    for (std::size_t c = 0; c + 1 < values.size(); ++c) {
      const double to = scale.position(0.5 * (*number_of(values[c]) + *number_of(values[c + 1])));
      out.factor.axis.weights[c] = to - from;
      from = to;
    }
    out.factor.axis.weights.back() = 1 - from;
    return out;
  }

  /// Adds conditions on cells. False if a condition is on a factor that has no cells for the named values.
  bool add_conditions(ForestAxis& axis, const std::vector<const Parameter*>& declared) const {
    std::map<std::size_t, std::uint64_t> cells;
    for (const Parameter* parameter : declared) {
      if (parameter->when.empty()) {
        axis.when.clear();
        return true;
      }
      for (const Parameter::Condition& condition : parameter->when) {
        const auto on = std::find_if(columns.begin(), columns.end(),
                                     [&](const Column& c) { return c.factor.name == condition.parameter; });
        if (on == columns.end() || on->values.empty()) return false;
        std::uint64_t& bits = cells[static_cast<std::size_t>(on - columns.begin())];
        for (std::size_t c = 0; c < on->values.size(); ++c) {
          const bool meant =
              std::find(condition.values.begin(), condition.values.end(), on->values[c]) != condition.values.end();
          if (meant) bits |= std::uint64_t{1} << c;
        }
      }
    }
    for (const auto& [on, bits] : cells) {
      const Column& parent = columns[on];
      const bool always = static_cast<std::size_t>(std::popcount(bits)) == parent.values.size();
      if (always && parent.factor.axis.when.empty()) {  // a parameter of all optimisers, for instance
        axis.when.clear();
        return true;
      }
      axis.when.push_back({on, bits});
    }
    return true;
  }

  void add_declared() {
    std::vector<std::string> names;
    std::map<std::string, std::vector<const Parameter*>> declared;
    const auto& parameters = view.config.space.params.parameters();
    for (const Parameter& parameter : parameters) {
      if (!declared.contains(parameter.name)) names.push_back(parameter.name);
      declared[parameter.name].push_back(&parameter);
    }
    for (const std::string& name : names) {
      Column column = declared_column(name, declared[name]);
      if (!add_conditions(column.factor.axis, declared[name])) add_not_used_cell(column);
      columns.push_back(std::move(column));
    }
    for (const Axis& axis : axes(view)) {
      if (declared.contains(axis.name)) continue;
      const auto seen = seen_of(axis.name);
      const bool model = space::is_model_choice(axis.name);
      const std::string name = model ? axis.name.substr(space::kModelPrefix.size()) + " (model)" : axis.name;
      Column column = add_by_value(name, with_seen_values({}, seen), seen);
      add_not_used_cell(column);
      columns.push_back(std::move(column));
    }
  }

  void add_base() {
    std::vector<std::optional<Value>> seen;
    std::vector<Value> values;
    for (std::size_t base = 0; view.models.is_array() && base < view.models.size(); ++base) {
      values.emplace_back(static_cast<std::int64_t>(base));
    }
    for (std::size_t row = 0; row < trials.size(); ++row) seen.emplace_back(Value(proposal(row).base));
    Column column = add_by_value("base model", with_seen_values(std::move(values), seen), seen);
    column.factor.axis.ordered = false;
    for (std::size_t c = 0; c < column.values.size(); ++c) {
      study::Proposal of;
      of.base = std::get<std::int64_t>(column.values[c]);
      column.factor.labels[c] = base_name(view, of);
    }
    columns.push_back(std::move(column));
  }

  /// The number of uses of each mutator since the base model, up to seven. Weights are the observed shares.
  void add_mutators() {
    std::map<std::string, std::vector<std::int64_t>> times;
    for (std::size_t row = 0; row < trials.size(); ++row) {
      for (const space::MutationStep& step : proposal(row).steps) {
        auto& counts = times[step.mutator];
        counts.resize(trials.size(), 0);
        counts[row] = std::min<std::int64_t>(counts[row] + 1, 7);
      }
    }
    for (const auto& [mutator, counts] : times) {
      std::vector<std::optional<Value>> seen(counts.begin(), counts.end());
      Column column = add_by_value(mutator + " (times)", with_seen_values({}, seen), seen);
      std::fill(column.factor.axis.weights.begin(), column.factor.axis.weights.end(), 0.0);
      for (const std::uint8_t cell : column.cells) {
        column.factor.axis.weights[cell] += 1.0 / static_cast<double>(trials.size());
      }
      if (column.factor.labels.back() == "7") column.factor.labels.back() = "7 or more";
      columns.push_back(std::move(column));
    }
  }
};

/// Whether the trials have at least two values of the column.
bool varies(const Column& column) {
  std::optional<std::uint8_t> first;
  for (const std::uint8_t cell : column.cells) {
    if (cell == kNoCell) continue;
    if (first && *first != cell) return true;
    first = cell;
  }
  return false;
}

}  // namespace

FactorTable factor_table(const StudyView& view, std::span<const std::size_t> trials) {
  FactorTable out;
  if (trials.empty()) return out;
  FactorTableBuilder builder{view, trials};
  builder.add_declared();
  builder.add_base();
  builder.add_mutators();
  auto& columns = builder.columns;
  for (Column& column : columns) {
    if (column.positions.empty()) column.assign_cells();
  }
  // Keeps the factors that vary, and those that their conditions need.
  std::vector<bool> kept(columns.size(), false);
  for (std::size_t k = columns.size(); k-- > 0;) {
    if (!kept[k] && !varies(columns[k])) continue;
    kept[k] = true;
    for (const ForestAxis::Condition& condition : columns[k].factor.axis.when) kept[condition.axis] = true;
  }
  std::vector<std::size_t> position(columns.size(), 0);
  std::vector<const Column*> shown;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    position[k] = shown.size();
    if (kept[k]) shown.push_back(&columns[k]);
  }
  if (shown.size() > kMaxFactors) {
    out.num_omitted = shown.size() - kMaxFactors;
    shown.resize(kMaxFactors);  // conditions are on earlier factors
  }
  for (const Column* column : shown) {
    out.factors.push_back(column->factor);
    for (auto& condition : out.factors.back().axis.when) condition.axis = position[condition.axis];
  }
  for (std::size_t row = 0; row < trials.size(); ++row) {
    for (const Column* column : shown) {
      out.cells.push_back(column->cells[row]);
      out.positions.push_back(column->positions[row]);
    }
  }
  return out;
}

}  // namespace lanista::report
