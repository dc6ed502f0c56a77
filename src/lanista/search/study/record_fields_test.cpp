#include "lanista/search/study/record_fields.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lanista::study::fields {
namespace {

using Json = nlohmann::json;

template <class Reader>
bool refuses(const Reader& reader) {
  return !read_record<int>("record", [&] {
            static_cast<void>(reader());
            return 1;
          }).ok();
}

TEST(RecordFields, RejectMissingOrMistypedFields) {
  const Json record{{"n", 3}, {"x", 0.5}, {"t", "text"}, {"null", Json()}, {"big", 18446744073709551615U}};
  EXPECT_EQ(integer(record, "n"), 3);
  EXPECT_EQ(real(record, "n"), 3.0);
  EXPECT_TRUE(refuses([&] { return integer(record, "x"); }));
  EXPECT_TRUE(refuses([&] { return integer(record, "big"); }));
  EXPECT_TRUE(refuses([&] { return real(record, "t"); }));
  EXPECT_TRUE(refuses([&] { return real(record, "null"); }));
  EXPECT_TRUE(refuses([&] { return text(record, "n"); }));
  EXPECT_TRUE(refuses([&] { return trial(record, "big"); }));
  EXPECT_TRUE(refuses([&] { return member(record, "absent"); }));
  EXPECT_TRUE(refuses([&] { return member(Json(3), "n"); }));
}

TEST(RecordFields, ReadOldNullsAsNanInMetrics) {
  std::int64_t nulls = 0;
  const auto read = metrics({{"test", {{"a", Json()}, {"b", 0.5}, {"c", "inf"}}}}, "test", &nulls);
  EXPECT_EQ(nulls, 1);
  EXPECT_TRUE(std::isnan(read.at("a")));
  EXPECT_EQ(read.at("b"), 0.5);
  EXPECT_TRUE(std::isinf(read.at("c")));
  EXPECT_TRUE(refuses([] { return metrics({{"test", {{"a", "many"}}}}, "test"); }));
}

}  // namespace
}  // namespace lanista::study::fields
