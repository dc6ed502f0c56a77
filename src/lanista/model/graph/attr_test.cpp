#include "lanista/model/graph/attr.h"

#include <gtest/gtest.h>

#include <limits>

#include "lanista/model/graph/shape.h"

namespace lanista::graph {
namespace {

TEST(AttrText, WritesEveryKind) {
  EXPECT_EQ(attr_text(true), "true");
  EXPECT_EQ(attr_text(std::int64_t{-64}), "-64");
  EXPECT_EQ(attr_text(0.5), "0.5");
  EXPECT_EQ(attr_text(std::string("a\"b\\\n\x02")), "\"a\\\"b\\\\\\n\\x02\"");
  EXPECT_EQ(attr_text(std::vector<std::int64_t>{1, 8, 8}), "[1,8,8]");
  EXPECT_EQ(attr_text(std::vector<std::int64_t>{}), "[]");
}

TEST(AttrText, KeepsWholeRealsApartFromIntegers) {
  EXPECT_EQ(attr_text(3.0), "3.0");
  EXPECT_EQ(attr_text(-0.0), "-0.0");
  EXPECT_EQ(attr_text(1e300), "1e+300");
  EXPECT_EQ(attr_text(0.1), "0.1");
}

TEST(Attrs, KeepsNamesInOrderAndReplaces) {
  Attrs attrs{{"out", 3}, {"bias", false}, {"out", 4}};

  std::string names;
  for (const auto& [name, value] : attrs) names += name + " ";
  EXPECT_EQ(names, "bias out ");
  EXPECT_EQ(*attrs.find("out"), AttrValue(std::int64_t{4}));
  EXPECT_EQ(attrs.find("in"), nullptr);

  attrs.erase("out");
  attrs.erase("never there");
  EXPECT_EQ(attrs, (Attrs{{"bias", false}}));
}

TEST(Shape, CountsElementsWithAndWithoutBatch) {
  const Shape image{{kBatch, 3, 8, 8}};
  EXPECT_TRUE(image.has_batch());
  EXPECT_EQ(image.elements_per_sample(), 192);
  EXPECT_EQ(image.elements(10), 1920);
  EXPECT_EQ(image.text(), "[N, 3, 8, 8]");

  const Shape weight{{5, 4}};
  EXPECT_FALSE(weight.has_batch());
  EXPECT_EQ(weight.elements(10), 20);
  EXPECT_EQ(weight.text(), "[5, 4]");
  EXPECT_EQ(Shape{}.elements_per_sample(), 1);
}

TEST(Shape, StaysAtTheLargestNumberWhenTheProductIsLarger) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ((Shape{{kBatch, most, 2}}).elements_per_sample(), most);
  EXPECT_EQ((Shape{{kBatch, most / 2}}).elements(3), most);
}

}  // namespace
}  // namespace lanista::graph
