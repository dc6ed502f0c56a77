#include "lanista/io/formats/csv_writer.h"

#include <gtest/gtest.h>

namespace lanista::formats {
namespace {

TEST(CsvWriter, MarksFormulasAndLeavesNumbers) {
  for (const char* number : {"-1", "+1", "-1.5e-3", "-.5", "+0007", "-1e999", "12", "a-b"}) {
    EXPECT_EQ(csv_cell(number), number);
  }
  for (const char* formula : {"-", "+", "-1+2", "=1", "@x", "-inf", "-nan", "--1", "+-1", "-1 ", "-x", "-1'"}) {
    EXPECT_EQ(csv_cell(formula), "\"'" + std::string(formula) + "\"");
  }
}

}  // namespace
}  // namespace lanista::formats
