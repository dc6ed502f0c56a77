#pragma once

#include <vector>

#include "lanista/plan/cost/cost_table.h"
#include "lanista/io/store/log.h"

namespace lanista::store {

/// The body of a record of measured costs. They say nothing about a study, only about the machine it ran on, so the
/// canonical export passes them over.
nlohmann::json cost_rows_body(const graph::CostTable& measured);

/// All that a log knows about costs. Errors: kDataLoss naming the record.
Result<graph::CostTable> costs_of_log(const std::vector<Record>& records);

}  // namespace lanista::store
