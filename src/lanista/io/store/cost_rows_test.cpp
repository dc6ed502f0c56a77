#include "lanista/io/store/cost_rows.h"

#include <gtest/gtest.h>

#include "lanista/base/memory_file_system.h"

namespace lanista::store {
namespace {

plan::CostTable table_of(const std::string& work, double us, std::int64_t samples) {
  plan::CostTable table;
  table.put({.work = work, .lanes = 1, .cpu = "a cpu", .threads = 1, .version = "1"},
            {.microseconds = us, .flops = 8, .bytes = 16, .samples = samples});
  return table;
}

TEST(CostRows, AreMergedFromTheLog) {
  MemoryFileSystem fs;
  const VirtualClock clock;
  {
    auto log = LogWriter::open(fs, clock, "study");
    ASSERT_TRUE(log);
    ASSERT_TRUE(log->append(RecordType::kHeader, {{"config", "c"}}));
    ASSERT_TRUE(log->append(RecordType::kCostRows, cost_rows_body(table_of("linear", 2, 30))));
    ASSERT_TRUE(log->append(RecordType::kCostRows, cost_rows_body(table_of("relu", 1, 1))));
    ASSERT_TRUE(log->append(RecordType::kCostRows, cost_rows_body(table_of("linear", 6, 10))));
  }
  const auto records = read_log(fs, "study");
  ASSERT_TRUE(records);

  const auto costs = costs_of_log(*records);

  ASSERT_TRUE(costs);
  plan::CostTable want = table_of("linear", 3, 40);
  want.merge(table_of("relu", 1, 1));
  EXPECT_EQ(*costs, want);
}

TEST(CostRows, AreNotExported) {
  const Record header{RecordType::kHeader, {{"config", "c"}}};
  const Record costs{RecordType::kCostRows, cost_rows_body(table_of("linear", 2, 30))};

  EXPECT_EQ(canonical_export({header, costs}), canonical_export({header}));
}

TEST(CostRows, NamesDamagedRecord) {
  const Record header{RecordType::kHeader, {{"config", "c"}}};
  const auto refused = [&](const nlohmann::json& body) {
    return costs_of_log({header, {RecordType::kCostRows, body}});
  };

  const auto none = refused(nlohmann::json::object());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kDataLoss);
  EXPECT_EQ(none.error().text(), "log, record 2: a cost table must be an array of rows");
  EXPECT_EQ(refused({{"rows", {1}}}).error().message, "row 1 of the cost table: it must be an object");
}

}  // namespace
}  // namespace lanista::store
