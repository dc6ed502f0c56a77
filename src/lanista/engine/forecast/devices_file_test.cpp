#include "lanista/engine/forecast/devices_file.h"

#include <gtest/gtest.h>

namespace lanista::engine {
namespace {

constexpr const char* kTwo =
    "note: stated\n"
    "classes:\n"
    "  - {name: V100, count: 8, per_machine: 4, memory_mb: 16000, inside: {us: 10, gb_per_second: 50}}\n"
    "  - {name: CPU, count: 2, speed: 0.1, inside: {gb_per_second: 10}}\n"
    "links:\n"
    "  - {between: [V100, V100], us: 20, gb_per_second: 12.5}\n"
    "  - {between: [CPU, V100], gb_per_second: 1}\n";

std::string mistakes_in(const std::string& text) {
  const auto read = read_devices(text, "d.yaml");
  return read ? "" : read.error().text();
}

TEST(DevicesFile, ReadsEveryField) {
  const auto read = read_devices(kTwo, "d.yaml");

  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->classes.size(), 2u);
  EXPECT_EQ(read->count(), 10);
  EXPECT_EQ(read->note, "stated");
  EXPECT_DOUBLE_EQ(read->classes[0].memory_bytes, 1.6e10);
  EXPECT_DOUBLE_EQ(read->classes[1].speed, 0.1);
  EXPECT_EQ(read->classes[1].per_machine, 2);
  EXPECT_DOUBLE_EQ(read->link({0}, {3}).bytes_per_second, 5e10);
  EXPECT_DOUBLE_EQ(read->link({0}, {4}).seconds, 20e-6);
  EXPECT_DOUBLE_EQ(read->link({0}, {8}).bytes_per_second, 1e9);
  EXPECT_DOUBLE_EQ(read->link({8}, {9}).bytes_per_second, 1e10);
}

TEST(DevicesFile, ReportsEveryErrorWithItsLocation) {
  const std::string text = kTwo;
  EXPECT_EQ(mistakes_in(text + "  - {between: [V100, A100], gb_per_second: 5}\n"),
            "d.yaml:8:22: links[2].between: there is no class \"A100\"; known are V100, CPU");
  EXPECT_NE(mistakes_in(text + "  - {between: [V100, CPU], gb_per_second: 5}\n").find("defined twice"),
            std::string::npos);
  EXPECT_NE(mistakes_in(text.substr(0, text.rfind("  - {"))).find("no link between V100 and CPU"), std::string::npos);
  EXPECT_NE(mistakes_in(text + "  - {between: [CPU, CPU]}\n").find("gb_per_second: is missing"), std::string::npos);
  EXPECT_NE(mistakes_in("classes: [{name: a, count: 0}]\n").find("d.yaml:1:28: classes[0].count: 0 is not allowed"),
            std::string::npos);
  EXPECT_NE(mistakes_in("classes: [{name: a, memory: 1}]\n").find("memory"), std::string::npos);
  EXPECT_NE(mistakes_in("classes: [{name: a}, {name: a}]\n").find("two classes have the name a"), std::string::npos);
  EXPECT_NE(mistakes_in("classes: [{name: a, count: 4}]\n").find("no link between a and a"), std::string::npos);
  EXPECT_NE(mistakes_in("classes: 3\n").find("a list of classes"), std::string::npos);
  EXPECT_NE(mistakes_in("- 3\n").find("is no mapping"), std::string::npos);
  EXPECT_EQ(mistakes_in("classes: [{name: a}]\n"), "");
}

}  // namespace
}  // namespace lanista::engine
