#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/io/store/log.h"

namespace lanista::store {
namespace {

using Json = nlohmann::json;

/// Fields that describe a run and not a study. They may be in any record.
constexpr std::array<std::string_view, 6> kAnywhere = {"time", "seconds", "wall_seconds", "host", "pid", "workers"};

struct Rule {
  RecordType type;
  std::string_view name;
  std::vector<std::string_view> keep;  ///< empty: every field except those above
};

// The rule of a record type; null for types that do not describe the study.
const Rule* rule_of(RecordType type) {
  static const std::array<Rule, 10> kRules = {{
      {RecordType::kHeader, "header", {"schema", "config", "data", "earlier"}},
      {RecordType::kNumerics, "numerics", {"class"}},
      {RecordType::kProposed, "proposed", {}},
      {RecordType::kMeasurement, "measurement", {}},
      {RecordType::kVerdict, "verdict", {}},
      {RecordType::kOutcome, "outcome", {}},
      {RecordType::kStudyEnd, "study_end", {}},
      {RecordType::kGroup, "group", {}},
      {RecordType::kPaused, "paused", {"trial", "epoch", "logical_time", "weights_hash"}},
      {RecordType::kResumed, "resumed", {}},
  }};
  for (const Rule& rule : kRules) {
    if (rule.type == type) return &rule;
  }
  return nullptr;
}

bool kept(const Rule& rule, std::string_view field) {
  if (rule.keep.empty()) return std::find(kAnywhere.begin(), kAnywhere.end(), field) == kAnywhere.end();
  return std::find(rule.keep.begin(), rule.keep.end(), field) != rule.keep.end();
}

std::string line_of(const Rule& rule, const Json& body) {
  Json out = {{"record", rule.name}};
  for (const auto& [field, value] : body.items()) {
    if (kept(rule, field)) out[field] = value;
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string canonical_export(const std::vector<Record>& records) {
  std::string out, numerics, end;
  for (const Record& record : records) {
    const Rule* rule = rule_of(record.type);
    if (rule == nullptr) continue;
    std::string line = line_of(*rule, record.body);
    if (record.type == RecordType::kStudyEnd) {
      end = std::move(line);
      continue;
    }
    if (record.type == RecordType::kNumerics) {  // every process writes one
      if (line == numerics) continue;
      numerics = line;
    } else {
      end.clear();
    }
    out += line;
  }
  return out + end;
}

}  // namespace lanista::store
