#pragma once

#include <vector>

#include "lanista/io/store/log.h"
#include "lanista/plan/cost/cost_table.h"

namespace lanista::store {

/// The body of a record with measured costs. They describe the machine and not the study, so the canonical export omits
/// them.
nlohmann::json cost_rows_body(const graph::CostTable& measured);

/// All costs in a log. Errors: kDataLoss with the record.
Result<graph::CostTable> costs_of_log(const std::vector<Record>& records);

}  // namespace lanista::store
