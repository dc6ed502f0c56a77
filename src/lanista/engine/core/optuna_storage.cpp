#include "lanista/engine/core/optuna_storage.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "lanista/base/edit_distance.h"
#include "lanista/io/studyfile/notation.h"
#include "lanista/io/zoo/database.h"

namespace lanista::engine {
namespace {

using nlohmann::json;

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();
// Codes of an Optuna journal (optuna/storages/journal/_storage.py and optuna/trial/_state.py).
enum Operation { kCreateStudy = 0, kDeleteStudy = 1, kCreateTrial = 4, kSetParam = 5, kSetState = 6, kSetValue = 7 };
enum State { kComplete = 1, kPruned = 2 };
constexpr int kMinimize = 1, kMaximize = 2;
constexpr std::int64_t kSchemaVersion = 12;  // of RDBStorage, since Optuna 3.0

/// A trial of a storage.
struct StoredTrial {
  std::size_t study = 0;  ///< Index of its study.
  json params = json::object();
  int state = 0;
  bool is_refinement = false;  ///< As in our export.
  std::vector<double> values;
  std::map<std::int64_t, double> reported;  ///< By step.
};

/// A study of a storage.
struct StoredStudy {
  std::string name;
  std::vector<int> directions;
  bool deleted = false;
};

/// Parses JSON as Python writes it: NaN, Infinity and -Infinity are numbers, which become texts. It throws
/// json::exception.
json parse_python_json(std::string_view text) {
  std::string out;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"') in_text = !in_text;
    std::string_view word;
    for (const std::string_view each : {"NaN", "Infinity", "-Infinity"}) {
      if (!in_text && text.substr(i).starts_with(each)) word = each;
    }
    if (word.empty()) {
      out += c;
    } else {
      out += '"' + std::string(word) + '"';
      i += word.size() - 1;
    }
  }
  return json::parse(out);
}

/// A number, also one that parse_python_json() made a text. NaN for anything else.
double json_number(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "Infinity") return kInfinity;
  return value == "-Infinity" ? -kInfinity : kUndefined;
}

void set_param(StoredTrial& trial, const std::string& name, const json& internal, const std::string& distribution) {
  const json described = parse_python_json(distribution);
  if (described.at("name") != "CategoricalDistribution") {
    trial.params[name] = internal;
    return;
  }
  const double index = json_number(internal);
  const json& choices = described.at("attributes").at("choices");
  const bool is_choice = index >= 0 && index < static_cast<double>(choices.size()) && index == std::floor(index);
  trial.params[name] = is_choice ? choices.at(static_cast<std::size_t>(index)) : internal;
}

void set_values(StoredTrial& trial, const json& record) {
  trial.state = record.at("state").get<int>();
  const auto values = record.find("values");
  if (values == record.end() || !values->is_array()) return;
  trial.values.clear();
  for (const json& value : *values) trial.values.push_back(json_number(value));
}

/// Replays a journal. It throws json::exception for an invalid line.
class Journal {
 public:
  void apply(const json& record) {
    switch (record.at("op_code").get<int>()) {
      case kCreateStudy:
        studies.push_back({record.value("study_name", ""), record.at("directions").get<std::vector<int>>()});
        break;
      case kDeleteStudy:
        studies.at(record.at("study_id").get<std::size_t>()).deleted = true;
        break;
      case kCreateTrial:
        create(record);
        break;
      case kSetParam:
        set_param(of(record), record.at("param_name").get<std::string>(), record.at("param_value_internal"),
                  record.at("distribution").get<std::string>());
        break;
      case kSetState:
        set_values(of(record), record);
        break;
      case kSetValue:
        of(record).reported[record.at("step").get<std::int64_t>()] = json_number(record.at("intermediate_value"));
        break;
      default:
        break;  // attributes
    }
  }

  std::vector<StoredStudy> studies;
  std::vector<StoredTrial> trials;

 private:
  StoredTrial& of(const json& record) { return trials.at(record.at("trial_id").get<std::size_t>()); }
  void create(const json& record) {
    StoredTrial& trial = trials.emplace_back();
    trial.study = record.value("study_id", std::size_t{0});
    if (trial.study >= studies.size()) throw std::out_of_range("study_id");
    if (!record.contains("state")) return;  // else it comes with all that it has
    set_values(trial, record);
    trial.is_refinement = record.value("user_attrs", json::object()).value("tunes", false);
    const json params = record.value("params", json::object()),
               steps = record.value("intermediate_values", json::object());
    for (const auto& [name, value] : params.items()) {
      set_param(trial, name, value, record.at("distributions").at(name).get<std::string>());
    }
    for (const auto& [step, value] : steps.items()) trial.reported[std::stoll(step)] = json_number(value);
  }
};

/// Returns the index of the study `name`, or of the only one if the name is empty.
Result<std::size_t> study_index(const std::vector<StoredStudy>& studies, const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  std::size_t index = studies.size();
  for (std::size_t i = 0; i < studies.size(); ++i) {
    if (studies[i].deleted) continue;
    names.push_back(studies[i].name);
    list += (list.empty() ? "" : ", ") + studies[i].name;
    if (name.empty() || studies[i].name == name) index = i;
  }
  if (names.empty()) return Error{Code::kInvalidArgument, "it has no study", ""};
  if (name.empty() && names.size() > 1) {
    return Error{Code::kInvalidArgument,
                 "it has " + std::to_string(names.size()) + " studies: " + list + "; name one with --study NAME", ""};
  }
  if (index < studies.size()) return index;
  const std::string near = nearest_name(name, names);
  return Error{
      Code::kInvalidArgument,
      "it has no study '" + name + "'; there are " + list + (near.empty() ? "" : " (did you mean '" + near + "'?)"),
      "--study"};
}

/// Checks that the objectives of a study are the goals.
Result<void> check_directions(const std::vector<int>& directions, const std::vector<study::Goal>& goals) {
  if (directions.size() != goals.size()) {
    return Error{Code::kInvalidArgument,
                 "its study has " + std::to_string(directions.size()) + " objectives, this study has " +
                     std::to_string(goals.size()) + " goals",
                 "goal"};
  }
  for (std::size_t k = 0; k < goals.size(); ++k) {
    if (directions[k] == (goals[k].maximize ? kMaximize : kMinimize)) continue;
    return Error{Code::kInvalidArgument,
                 "objective " + std::to_string(k) + " is " + (directions[k] == kMaximize ? "maximised" : "minimised") +
                     ", the goal is to " + studyfile::goal_text(goals[k]),
                 "goal"};
  }
  return {};
}

/// The trials of one study that have a result.
std::vector<ExternalTrial> finished_trials(const std::vector<StoredTrial>& trials, std::size_t study,
                                           const std::vector<study::Goal>& goals) {
  std::vector<ExternalTrial> out;
  std::size_t number = 0;
  for (const StoredTrial& trial : trials) {
    if (trial.study != study) continue;
    ExternalTrial row{"trial " + std::to_string(number++), trial.params, {}, 0};
    row.is_refinement = trial.is_refinement;
    if (trial.state == kComplete && trial.values.size() == goals.size()) {
      for (std::size_t k = 0; k < goals.size(); ++k) row.metrics[goals[k].metric] = trial.values[k];
    } else if (trial.state == kPruned && goals.size() == 1 && !trial.reported.empty()) {
      row.metrics[goals[0].metric] = trial.reported.rbegin()->second;
      row.epoch = trial.reported.rbegin()->first >= 1 ? trial.reported.rbegin()->first : -1;
    } else {
      continue;  // failed, waiting, running: no result
    }
    out.push_back(std::move(row));
  }
  return out;
}

Result<std::vector<ExternalTrial>> trials_of_study(const std::vector<StoredStudy>& studies,
                                                   const std::vector<StoredTrial>& trials,
                                                   const std::vector<study::Goal>& goals, const std::string& study) {
  LANISTA_ASSIGN(const std::size_t index, study_index(studies, study));
  LANISTA_TRY(check_directions(studies[index].directions, goals));
  return finished_trials(trials, index, goals);
}

/// A value column and its type column: FINITE, INF_POS, INF_NEG or NAN.
double typed_value(const zoo::SqlRow& row, int column) {
  const std::string type = row.text(column + 1);
  if (type == "FINITE" && row.is_number(column)) return row.real(column);
  return type == "INF_POS" ? kInfinity : type == "INF_NEG" ? -kInfinity : kUndefined;
}

/// Reads the tables of Optuna's RDBStorage.
class StorageReader {
 public:
  explicit StorageReader(zoo::Database& database) : database_(database) {}

  Result<void> read() {
    LANISTA_TRY(check_version());
    std::map<std::int64_t, std::size_t> study_of;
    LANISTA_TRY(each("SELECT study_id, study_name FROM studies ORDER BY study_id", [&](const zoo::SqlRow& row) {
      study_of[row.integer(0)] = studies.size();
      studies.push_back({row.text(1), {}});
    }));
    LANISTA_TRY(each("SELECT study_id, direction FROM study_directions ORDER BY study_id, objective",
                     [&](const zoo::SqlRow& row) {
                       const std::string direction = row.text(1);
                       studies.at(study_of.at(row.integer(0)))
                           .directions.push_back(direction == "MAXIMIZE"   ? kMaximize
                                                 : direction == "MINIMIZE" ? kMinimize
                                                                           : 0);
                     }));
    LANISTA_TRY(each("SELECT trial_id, study_id, state FROM trials ORDER BY study_id, number, trial_id",
                     [&](const zoo::SqlRow& row) {
                       trial_of_[row.integer(0)] = trials.size();
                       StoredTrial& trial = trials.emplace_back();
                       trial.study = study_of.at(row.integer(1));
                       const std::string state = row.text(2);
                       trial.state = state == "COMPLETE" ? kComplete : state == "PRUNED" ? kPruned : 0;
                     }));
    LANISTA_TRY(each("SELECT trial_id, param_name, param_value, distribution_json FROM trial_params",
                     [&](const zoo::SqlRow& row) {
                       const json value = row.is_number(2) ? json(row.real(2)) : json(row.text(2));
                       set_param(of(row), row.text(1), value, row.text(3));
                     }));
    LANISTA_TRY(each("SELECT trial_id, value, value_type FROM trial_values ORDER BY trial_id, objective",
                     [&](const zoo::SqlRow& row) { of(row).values.push_back(typed_value(row, 1)); }));
    return each("SELECT trial_id, step, intermediate_value, intermediate_value_type FROM trial_intermediate_values",
                [&](const zoo::SqlRow& row) { of(row).reported[row.integer(1)] = typed_value(row, 2); });
  }

  std::vector<StoredStudy> studies;
  std::vector<StoredTrial> trials;

 private:
  Result<void> check_version() {
    std::optional<std::int64_t> version;
    const auto read =
        each("SELECT schema_version FROM version_info", [&](const zoo::SqlRow& row) { version = row.integer(0); });
    if (!read || !version) {
      return Error{Code::kDataLoss,
                   "it is a database of SQLite, and no Optuna storage" + (read ? "" : ": " + read.error().message), ""};
    }
    if (*version == kSchemaVersion) return {};
    return Error{Code::kUnimplemented,
                 "its schema has version " + std::to_string(*version) + ", allowed is " +
                     std::to_string(kSchemaVersion) + "; run `optuna storage upgrade` on a copy of it",
                 ""};
  }

  StoredTrial& of(const zoo::SqlRow& row) { return trials.at(trial_of_.at(row.integer(0))); }

  /// Calls `visit` for each row. A row that does not belong to the others is an error.
  template <class Visit>
  Result<void> each(const std::string& sql, const Visit& visit) {
    return database_.each(sql, {}, [&](const zoo::SqlRow& row) -> Result<void> {
      try {
        visit(row);
      } catch (const std::exception&) {  // invalid JSON, an index, or an unknown id
        return Error{Code::kDataLoss, "a row of it is invalid (" + sql + ")", ""};
      }
      return {};
    });
  }

  zoo::Database& database_;
  std::map<std::int64_t, std::size_t> trial_of_;
};

}  // namespace

Result<std::vector<ExternalTrial>> read_optuna_trials(std::string_view text, const std::vector<study::Goal>& goals,
                                                      const std::string& study) {
  Journal journal;
  std::size_t line = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const bool whole = end != std::string_view::npos;
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(whole ? end + 1 : text.size());
    ++line;
    if (one.empty()) continue;
    try {
      journal.apply(parse_python_json(one));
    } catch (const std::exception&) {     // invalid JSON, index or step
      if (!whole || (text.empty() && line > 1)) break;  // the last line, which its writer did not finish
      return Error{Code::kDataLoss, "is not a line of an Optuna journal", "line " + std::to_string(line)};
    }
  }
  return trials_of_study(journal.studies, journal.trials, goals, study);
}

bool is_sqlite(std::string_view bytes) { return bytes.starts_with(std::string_view("SQLite format 3\0", 16)); }

Result<std::vector<ExternalTrial>> read_optuna_database(const std::string& path, const std::vector<study::Goal>& goals,
                                                        const std::string& study) {
  LANISTA_ASSIGN(zoo::Database database, zoo::Database::open_immutable(path, "the Optuna storage"));
  StorageReader reader(database);
  LANISTA_TRY(reader.read());
  return trials_of_study(reader.studies, reader.trials, goals, study);
}

}  // namespace lanista::engine
