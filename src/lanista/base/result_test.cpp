#include "lanista/base/result.h"

#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace lanista {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) return Error{Code::kInvalidArgument, std::to_string(x) + " is odd", "input"};
  return x / 2;
}

Result<int> quarter(int x) {
  LANISTA_ASSIGN(const int h, half(x));
  LANISTA_TRY(half(h));
  return half(h);
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = half(8);
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 4);
  const Result<int> bad = half(7);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Code::kInvalidArgument);
  EXPECT_EQ(bad.error().text(), "input: 7 is odd");
}

TEST(Result, MacrosReturnFirstError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(7).error().message, "7 is odd");
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
}

TEST(Result, WrongSideReadIsInternalError) {
  EXPECT_THROW(static_cast<void>(*half(7)), InternalError);
  EXPECT_THROW(static_cast<void>(half(8).error()), InternalError);
  const Result<void> fine;
  EXPECT_TRUE(fine.ok());
  EXPECT_THROW(static_cast<void>(fine.error()), InternalError);
}

TEST(Result, HoldsMoveOnlyValues) {
  Result<std::unique_ptr<int>> owner(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = *std::move(owner);
  EXPECT_EQ(*taken, 5);
}

TEST(Result, CopiesAndMovesItsError) {
  Result<int> first = half(7);
  const Result<int> copy = first;
  const Result<std::string> moved = std::move(first).failure();
  EXPECT_EQ(copy.error().text(), "input: 7 is odd");
  EXPECT_EQ(moved.error().text(), "input: 7 is odd");
  Result<void> other = Error{Code::kIo, "gone", ""};
  other = Result<void>(Error{Code::kNotFound, "none", "file"});
  EXPECT_EQ(other.error().text(), "file: none");
  other = Result<void>();
  EXPECT_TRUE(other.ok());
}

TEST(Error, TextOmitsEmptyLocation) { EXPECT_EQ((Error{Code::kIo, "gone", ""}).text(), "gone"); }

TEST(Code, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (int c = 0; c <= static_cast<int>(Code::kInternal); ++c) names.insert(code_name(static_cast<Code>(c)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Code::kInternal) + 1);
  EXPECT_EQ(code_name(Code::kDataLoss), "data_loss");
}

TEST(Check, NamesConditionAndLocation) {
  try {
    LANISTA_CHECK(1 + 1 == 3, "arithmetic");
    FAIL() << "did not throw";
  } catch (const InternalError& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("1 + 1 == 3"), std::string::npos) << what;
    EXPECT_NE(what.find("arithmetic"), std::string::npos) << what;
    EXPECT_NE(what.find("result_test.cpp:"), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace lanista
