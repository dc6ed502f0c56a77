#pragma once

#include <vector>

#include "lanista/io/store/log.h"
#include "lanista/plan/cost/cost_table.h"

namespace lanista::store {

/// The body of a record kCostRows with measured costs of kernel calls: {"rows": CostTable::to_json()}. They describe
/// the host and not the study, so the canonical export omits them.
nlohmann::json cost_rows_body(const plan::CostTable& measured);

/// The costs of all records kCostRows in `records`, in one table; other records are ignored. Errors: kDataLoss (an
/// invalid body, with the number of the record from 1).
Result<plan::CostTable> costs_of_log(const std::vector<Record>& records);

}  // namespace lanista::store
