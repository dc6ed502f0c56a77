// The pages of docs/reference must match the tables of the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "lanista/io/studyfile/study_file.h"
#include "lanista/model/autodiff/optimizer.h"
#include "reference/markdown.h"
#include "reference/pages.h"

namespace lanista::reference {
namespace {

const Reference& reference() {
  static const Reference all(LANISTA_SOURCE_DIR);
  return all;
}

/// Returns the first line of `page` that differs from `other`, "" if the pages are equal.
std::string first_difference(const std::string& page, const std::string& other) {
  std::istringstream lines(page), others(other);
  std::string line, written;
  while (std::getline(lines, line)) {
    if (!std::getline(others, written) || line != written) return "  page:    " + line + "\n  program: " + written;
  }
  return std::getline(others, written) ? "  program: " + written : "";
}

TEST(ReferencePages, AreUpToDate) {
  for (const auto& [page, text] : reference().pages()) {
    EXPECT_EQ(first_difference(text, reference().written(page)), "")
        << "docs/reference/" << page << " is stale; renew it by\n"
        << "  ninja -C build/release write_reference && build/release/tests/write_reference";
  }
}

/// Returns the row of a path of the schema, null if there is none.
const Key* row_of(const std::vector<Key>& keys, const std::string& path) {
  // Options of strategy.then.mltuner are those of train.tune.mltuner.
  const std::string then = "strategy.then.mltuner.";
  const std::string documented = path.starts_with(then) ? "train.tune.mltuner." + path.substr(then.size()) : path;
  const auto found = std::ranges::find_if(keys, [&](const Key& key) { return is_row_of(key, documented); });
  return found == keys.end() ? nullptr : &*found;
}

TEST(ReferencePages, CoverEachSchemaKey) {
  const std::vector<Key> keys = reference().keys();
  const auto paths = schema_paths(studyfile::study_json_schema());
  EXPECT_GE(paths.size(), 300U);
  for (const std::string& path : paths) {
    const Key* key = row_of(keys, path);
    ASSERT_NE(key, nullptr) << "no row for " << path;
  }
  for (const Key& key : keys) {
    const std::string page = reference().page_of(key);
    ASSERT_TRUE(reference().pages().contains(page)) << key.path << " has no page";
    EXPECT_FALSE(key.type.empty()) << key.path << " has no type";
    EXPECT_FALSE(key.default_value.empty()) << key.path << " has no default";
    EXPECT_FALSE(key.allowed.empty()) << key.path << " has no range";
    EXPECT_FALSE(key.help.empty()) << key.path << " has no help";
    EXPECT_FALSE(key.example.empty()) << key.path << " has no example; add one to tests/reference/study_keys.txt";
    const auto lists = [&](const auto& each) { return each.second.find(code(key.path)) != std::string::npos; };
    EXPECT_TRUE(std::ranges::any_of(reference().pages(), lists)) << "no page lists " << key.path;
  }
}

/// Returns the last name of a path.
std::string name_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }

TEST(ReferencePages, ExamplesAreAccepted) {
  for (const Key& key : reference().keys()) {
    const auto study = studyfile::read_study(key.example, "example.yaml");
    EXPECT_TRUE(study.ok()) << key.path << ": " << key.example << "\n" << (study ? "" : study.error().text());
    EXPECT_NE(key.example.find(name_of(key.path)), std::string::npos) << key.path << " is not in " << key.example;
  }
  int blocks = 0;
  for (const auto& [page, text] : reference().pages()) {
    if (page == "cluster-file.md") continue;
    for (const std::string& example : fenced(text, "yaml")) {
      ++blocks;
      const auto study = studyfile::read_study(example, page);
      EXPECT_TRUE(study.ok()) << "docs/reference/" << page << "\n" << example << (study ? "" : study.error().text());
    }
  }
  EXPECT_GE(blocks, 4);
}

// `sgd` | `momentum` (0.9), `nesterov` (false): each number is one that the study file accepts.
TEST(ReferencePages, DefaultsOfOptimizersAreAccepted) {
  const std::string page = reference().written("study-file/train.md");
  std::size_t checked = 0;
  for (const autodiff::Optimizer& optimizer : autodiff::optimizers()) {
    const std::size_t begin = page.find("\n| `" + optimizer.name + "` | `") + 1;
    ASSERT_GT(begin, 0U) << optimizer.name;
    const std::string row = page.substr(begin, page.find('\n', begin) - begin);
    for (const auto& [name, usual] : optimizer.numbers) {
      const std::size_t value = row.find("`" + name + "` (") + name.size() + 4;
      const std::string text = row.substr(value, row.find(')', value) - value);
      const std::string study = "train: {optimizer: " + optimizer.name + ", " + name + ": " + text + "}";
      const auto read = studyfile::read_study(study, "study.yaml");
      EXPECT_TRUE(read.ok()) << study << "\n" << (read.ok() ? "" : read.error().text());
      ++checked;
    }
  }
  EXPECT_GE(checked, 13U);
}

TEST(ReferencePages, EscapeCellsOfTables) {
  EXPECT_EQ(table({"a", "b"}, {{"x|y", ""}}), "| a | b |\n|---|---|\n| x\\|y | |\n");
  EXPECT_EQ(anchor("`train.start_from`"), "trainstart_from");
  EXPECT_EQ(number_text(1000000), "1,000,000");
  EXPECT_EQ(number_text(-1234.0), "-1,234");
  EXPECT_EQ(number_text(1e300), "1e300");
  EXPECT_EQ(value_text({0.5, 2.0, "adam"}), "[0.5, 2, adam]");
}

TEST(ReferencePages, RefuseBlockWithoutEnd) {
  const auto render = [](const std::string& name) { return name + "!\n"; };
  EXPECT_EQ(with_blocks("a\n<!-- generated: x -->\nold\n<!-- end -->\nb\n", render),
            "a\n<!-- generated: x -->\nx!\n<!-- end -->\nb\n");
  EXPECT_THROW(with_blocks("<!-- generated: x -->\n", render), std::runtime_error);
}

}  // namespace
}  // namespace lanista::reference
