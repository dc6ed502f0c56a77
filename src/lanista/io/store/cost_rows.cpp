#include "lanista/io/store/cost_rows.h"

namespace lanista::store {

nlohmann::json cost_rows_body(const plan::CostTable& measured) { return {{"rows", measured.to_json()}}; }

Result<plan::CostTable> costs_of_log(const std::vector<Record>& records) {
  plan::CostTable all;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].type != RecordType::kCostRows) continue;
    const auto rows = records[i].body.find("rows");
    auto table = plan::CostTable::from_json(rows == records[i].body.end() ? nlohmann::json() : *rows);
    if (!table) return Error{Code::kDataLoss, table.error().message, "log, record " + std::to_string(i + 1)};
    all.merge(*table);
  }
  return all;
}

}  // namespace lanista::store
