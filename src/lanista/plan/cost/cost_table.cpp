#include "lanista/plan/cost/cost_table.h"

#include <algorithm>
#include <utility>

namespace lanista::plan {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxCount = 1'000'000'000'000;
constexpr double kMaxAmount = 1e18;

bool is_amount(double value) { return value >= 0 && value <= kMaxAmount; }  // False for NaN.

Error damaged(std::size_t row, const std::string& message) {
  return {Code::kDataLoss, "row " + std::to_string(row + 1) + " of the cost table: " + message, ""};
}

Result<std::string> text_of(const json& row, std::size_t number, const char* name) {
  const auto found = row.find(name);
  if (found == row.end() || !found->is_string()) return damaged(number, std::string("'") + name + "' must be a text");
  return found->get<std::string>();
}

Result<std::int64_t> count_of(const json& row, std::size_t number, const char* name) {
  const auto found = row.find(name);
  if (found != row.end() && found->is_number_integer()) {
    const auto value = found->get<std::int64_t>();  // A larger number wraps to a negative one.
    if (value >= 1 && value <= kMaxCount) return value;
  }
  return damaged(number, std::string("'") + name + "' must be a whole number from 1 to " + std::to_string(kMaxCount));
}

Result<double> amount_of(const json& row, std::size_t number, const char* name) {
  const auto found = row.find(name);
  if (found != row.end() && found->is_number() && is_amount(found->get<double>())) return found->get<double>();
  return damaged(number, std::string("'") + name + "' must be a number from 0 to 1e18");
}

}  // namespace

const CostRow* CostTable::find(const CostKey& key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : &found->second;
}

void CostTable::put(const CostKey& key, const CostRow& row) {
  LANISTA_CHECK(
      row.samples >= 1 && is_amount(row.microseconds),
      "a cost of " + std::to_string(row.microseconds) + " us from " + std::to_string(row.samples) + " samples");
  const auto [at, is_new] = rows_.try_emplace(key, row);
  if (is_new) return;
  CostRow& kept = at->second;
  const double share = static_cast<double>(row.samples) / static_cast<double>(row.samples + kept.samples);
  kept.microseconds += share * (row.microseconds - kept.microseconds);
  kept.samples = std::min(kept.samples + row.samples, kMaxCount);
  kept.flops = row.flops;
  kept.bytes = row.bytes;
}

void CostTable::merge(const CostTable& other) {
  for (const auto& [key, row] : other.rows_) put(key, row);
}

json CostTable::to_json() const {
  json all = json::array();
  for (const auto& [key, row] : rows_) {
    all.push_back({{"work", key.work},
                   {"lanes", key.lanes},
                   {"cpu", key.cpu},
                   {"threads", key.threads},
                   {"version", key.version},
                   {"us", row.microseconds},
                   {"flops", row.flops},
                   {"bytes", row.bytes},
                   {"samples", row.samples}});
  }
  return all;
}

Result<CostTable> CostTable::from_json(const json& json) {
  if (!json.is_array()) return Error{Code::kDataLoss, "a cost table must be an array of rows", ""};
  CostTable table;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto& item = json[i];
    if (!item.is_object()) return damaged(i, "it must be an object");
    CostKey key;
    CostRow row;
    LANISTA_ASSIGN(key.work, text_of(item, i, "work"));
    LANISTA_ASSIGN(key.lanes, count_of(item, i, "lanes"));
    LANISTA_ASSIGN(key.cpu, text_of(item, i, "cpu"));
    LANISTA_ASSIGN(key.threads, count_of(item, i, "threads"));
    LANISTA_ASSIGN(key.version, text_of(item, i, "version"));
    LANISTA_ASSIGN(row.microseconds, amount_of(item, i, "us"));
    LANISTA_ASSIGN(row.flops, amount_of(item, i, "flops"));
    LANISTA_ASSIGN(row.bytes, amount_of(item, i, "bytes"));
    LANISTA_ASSIGN(row.samples, count_of(item, i, "samples"));
    if (!table.rows_.try_emplace(std::move(key), row).second) return damaged(i, "its key is listed twice");
  }
  return table;
}

}  // namespace lanista::plan
