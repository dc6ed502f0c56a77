// Tests that documents name must exist.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

namespace lanista {
namespace {

std::string page(const std::string& name) {
  std::ifstream file(std::string(LANISTA_SOURCE_DIR) + "/docs/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Returns the text of all tests: C++ files and scripts below src and tests.
std::string test_sources() {
  std::string out;
  for (const char* folder : {"/src", "/tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(LANISTA_SOURCE_DIR) + folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with("_test.cpp")) continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      out += text.str();
    }
  }
  return out;
}

TEST(ThreatModelPage, NamesTestsThatExist) {
  const std::string text = page("internals/threat-model.md"), sources = test_sources();
  const std::regex name("`([A-Z][A-Za-z]+)\\.([A-Z][A-Za-z]+|\\*)`|`(tests/[a-z_/.A-Z]+)`");
  int named = 0;
  for (std::sregex_iterator found(text.begin(), text.end(), name); found != std::sregex_iterator(); ++found) {
    ++named;
    const std::string suite = (*found)[1], test = (*found)[2], path = (*found)[3];
    if (!path.empty()) {
      EXPECT_TRUE(std::filesystem::exists(std::string(LANISTA_SOURCE_DIR) + "/" + path)) << path;
      continue;
    }
    const std::string rest = test == "*" ? "" : ", " + test + ")";
    const bool exists = sources.find("TEST(" + suite + rest) != std::string::npos ||
                        sources.find("TEST_F(" + suite + rest) != std::string::npos;
    EXPECT_TRUE(exists) << "docs/internals/threat-model.md names " << suite << "." << test;
  }
  EXPECT_GE(named, 50);
}

}  // namespace
}  // namespace lanista
