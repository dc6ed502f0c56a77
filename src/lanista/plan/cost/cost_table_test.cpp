#include "lanista/plan/cost/cost_table.h"

#include <gtest/gtest.h>

#include <limits>

namespace lanista::plan {
namespace {

using nlohmann::json;

CostKey key(const std::string& work, std::int64_t lanes = 1) {
  return {.work = work, .lanes = lanes, .cpu = "a cpu", .threads = 1, .version = "1"};
}
CostRow row(double us, std::int64_t samples) {
  return {.microseconds = us, .flops = 8, .bytes = 16, .samples = samples};
}

TEST(CostTable, FindsARowByItsWholeKey) {
  CostTable table;
  table.put(key("linear"), row(2, 10));

  ASSERT_NE(table.find(key("linear")), nullptr);
  EXPECT_EQ(*table.find(key("linear")), row(2, 10));
  EXPECT_EQ(table.find(key("linear", 2)), nullptr);
  EXPECT_EQ(table.find(key("conv2d")), nullptr);
  for (auto change : {+[](CostKey& k) { k.cpu = "another"; }, +[](CostKey& k) { k.threads = 2; },
                      +[](CostKey& k) { k.version = "2"; }}) {
    CostKey other = key("linear");
    change(other);
    EXPECT_EQ(table.find(other), nullptr);
  }
}

TEST(CostTable, WeighsSessionsBySamples) {
  CostTable table;
  table.put(key("linear"), row(2, 30));
  table.put(key("linear"), row(6, 10));

  EXPECT_EQ(*table.find(key("linear")), row(3, 40));
}

TEST(CostTable, MergesInAnyOrder) {
  CostTable a, b;
  a.put(key("linear"), row(2, 30));
  a.put(key("relu"), row(1, 1));
  b.put(key("linear"), row(6, 10));
  b.put(key("conv2d"), row(9, 2));
  CostTable ab = a, ba = b;
  ab.merge(b);
  ba.merge(a);

  EXPECT_EQ(ab, ba);
  EXPECT_EQ(ab.rows().size(), 3U);
}

TEST(CostTable, RejectsImpossibleTimes) {
  CostTable table;
  EXPECT_THROW(table.put(key("linear"), row(1, 0)), InternalError);
  EXPECT_THROW(table.put(key("linear"), row(-1, 1)), InternalError);
  EXPECT_THROW(table.put(key("linear"), row(std::numeric_limits<double>::quiet_NaN(), 1)), InternalError);
}

TEST(CostTable, ReadsWhatItWrote) {
  CostTable table;
  table.put(key("relu"), row(0.1, 3));
  table.put(key("linear", 4), row(2.25, 30));
  const json written = table.to_json();

  EXPECT_EQ(written.dump(), R"([{"bytes":16.0,"cpu":"a cpu","flops":8.0,"lanes":4,"samples":30,"threads":1,)"
                            R"("us":2.25,"version":"1","work":"linear"},)"
                            R"({"bytes":16.0,"cpu":"a cpu","flops":8.0,"lanes":1,"samples":3,"threads":1,)"
                            R"("us":0.1,"version":"1","work":"relu"}])");
  const auto read = CostTable::from_json(json::parse(written.dump()));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, table);
}

TEST(CostTable, NamesTheWrongRowAndField) {
  CostTable table;
  table.put(key("linear"), row(2, 30));
  table.put(key("relu"), row(2, 30));
  const auto refused = [&](const char* field, const json& value) {
    json changed = table.to_json();
    changed[1][field] = value;
    const auto read = CostTable::from_json(changed);
    if (read) return std::string("nothing");
    EXPECT_EQ(read.error().code, Code::kDataLoss);
    return read.error().message;
  };
  const std::string where = "row 2 of the cost table: ";

  EXPECT_EQ(refused("work", 7), where + "'work' must be a text");
  EXPECT_EQ(refused("lanes", 0), where + "'lanes' must be a whole number from 1 to 1000000000000");
  EXPECT_EQ(refused("threads", 1.5), where + "'threads' must be a whole number from 1 to 1000000000000");
  EXPECT_EQ(refused("samples", -3), where + "'samples' must be a whole number from 1 to 1000000000000");
  EXPECT_EQ(refused("samples", std::uint64_t{1} << 63),
            where + "'samples' must be a whole number from 1 to 1000000000000");
  EXPECT_EQ(refused("us", -1.0), where + "'us' must be a number from 0 to 1e18");
  EXPECT_EQ(refused("bytes", "many"), where + "'bytes' must be a number from 0 to 1e18");
  EXPECT_EQ(refused("flops", 1e19), where + "'flops' must be a number from 0 to 1e18");
  EXPECT_EQ(refused("work", "linear"), where + "its key is listed twice");
  EXPECT_EQ(CostTable::from_json(json::object()).error().message, "a cost table must be an array of rows");
  EXPECT_EQ(CostTable::from_json(json::array({3})).error().message, "row 1 of the cost table: it must be an object");
}

}  // namespace
}  // namespace lanista::plan
