#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/autodiff/loss.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/graph/op.h"

// Facts about an operator, an optimiser or a loss are in its definition or its kernel entry. These tests count the
// files of the product that name one, so that no list of names appears elsewhere. CONTRIBUTING.md has the same numbers.

namespace lanista {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPointwise = 5, kWindowed = 7, kOptimizer = 4, kLoss = 4;

/// Folders of modules that build networks or change them. They use operators, and define none.
const std::vector<std::string> kUsers{"model/spaces", "model/mutate"};

/// What may be named in more files than others of its kind, and why.
struct Exception {
  std::size_t files;
  std::string_view reason;
};
using Exceptions = std::map<std::string, Exception>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Adds the words of one line of code: whole string literals, the first argument of a macro, and identifiers with a
/// suffix of step operators.
void add_words(const std::string& line, std::set<std::string>& words) {
  for (std::size_t i = 0; i < line.size();) {
    if (line.compare(i, 2, "//") == 0) return;
    std::size_t end = i;
    if (line[i] == '"') {
      end = line.find('"', i + 1);
      if (end == std::string::npos) return;
      words.insert(line.substr(i + 1, end - i - 1));
      i = end + 1;
      continue;
    }
    while (end < line.size() && is_word(line[end])) ++end;
    const std::string word = line.substr(i, end - i);
    const bool in_macro = i > 1 && line[i - 1] == '(' && std::isupper(static_cast<unsigned char>(line[i - 2])) != 0 &&
                          line.compare(end, 2, ", ") == 0;
    if (in_macro || word.ends_with("_grad") || word.ends_with("_train")) words.insert(word);
    i = end + (end == i ? 1 : 0);
  }
}

/// The words of each product file, by its path below src/lanista.
const std::map<std::string, std::set<std::string>>& words_of_files() {
  static const std::map<std::string, std::set<std::string>> kAll = [] {
    std::map<std::string, std::set<std::string>> all;
    const fs::path root = fs::path(LANISTA_SOURCE_DIR) / "src" / "lanista";
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string path = fs::relative(entry.path(), root).generic_string();
      if (!path.ends_with(".h") && !path.ends_with(".cpp")) continue;
      if (path.ends_with("_test.cpp") || path.ends_with("_benchmark.cpp")) continue;
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) add_words(line, all[path]);
    }
    return all;
  }();
  return kAll;
}

std::vector<std::string> files_that_name(const std::string& name) {
  std::vector<std::string> files;
  for (const auto& [path, words] : words_of_files()) {
    bool counts = words.contains(name) || words.contains("update_" + name);
    for (const char* suffix : {"_grad", "_train", "_update"}) counts |= words.contains(name + suffix);
    for (const std::string& folder : kUsers) counts &= !path.starts_with(folder + "/");
    counts &= path != "io/studyfile/foreign_table.cpp";  // values of examples for people, which stay as they are
    if (counts) files.push_back(path);
  }
  return files;
}

/// Checks the number of files for each of `names`. An exception must be needed and exact.
void expect_few_files(const std::vector<std::string>& names, std::size_t most, const Exceptions& exceptions) {
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    const std::vector<std::string> files = files_that_name(name);
    std::string listed;
    for (const std::string& file : files) listed += "\n  " + file;
    EXPECT_FALSE(files.empty()) << name;
    if (const auto more = exceptions.find(name); more != exceptions.end()) {
      EXPECT_GT(more->second.files, most) << name << " needs no exception";
      EXPECT_EQ(files.size(), more->second.files) << name << " is an exception: " << more->second.reason << listed;
    } else {
      EXPECT_LE(files.size(), most) << name << " is named in" << listed;
    }
  }
  for (const auto& [name, exception] : exceptions) EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
}

std::vector<std::string> operators(bool (*has)(const graph::OpDef&)) {
  const graph::OpTable ops = graph::builtin_ops();
  std::vector<std::string> names;
  for (const std::string& name : ops.names()) {
    if (has(*ops.find(name))) names.push_back(name);
  }
  return names;
}

template <class Definition>
std::vector<std::string> names_of(const std::vector<Definition>& all) {
  std::vector<std::string> names;
  for (const Definition& each : all) names.push_back(each.name);
  return names;
}

TEST(DefinitionFiles, AreFewForAPointwiseOperator) {
  const auto activation = [](const graph::OpDef& def) {
    return def.family == graph::OpFamily::kActivation && !def.exports.cpp.empty();
  };
  constexpr std::string_view kLanes = "it has lane kernels", kArguments = "its attributes are arguments of its kernels",
                             kComposed = "it has lane kernels, and ONNX composes it of several nodes";
  expect_few_files(operators(activation), kPointwise,
                   {{"relu", {13, "others have fused forms with it, and the import of ONNX composes others of it"}},
                    {"gelu", {10, kComposed}},
                    {"silu", {10, kComposed}},
                    {"gelu_erf", {7, "ONNX composes it of several nodes"}},
                    {"hard_swish", {7, kLanes}},
                    {"tanh", {7, "a form of Gelu in ONNX has this name, and Mish is composed of it"}},
                    {"leaky_relu", {8, kArguments}},
                    {"elu", {9, "its attributes are arguments of its kernels, and SELU is composed of it"}},
                    {"hard_sigmoid", {8, kArguments}}});
}

TEST(DefinitionFiles, AreFewForAWindowedOperator) {
  const auto window = [](const graph::OpDef& def) {
    return def.facts.units == graph::UnitFlow::kChannels && !def.exports.onnx.empty();
  };
  expect_few_files(operators(window), kWindowed, {});
}

TEST(DefinitionFiles, AreFewForAnOptimizer) {
  expect_few_files(names_of(autodiff::optimizers()), kOptimizer, {{"sgd", {6, "it is the default of recipes"}}});
}

TEST(DefinitionFiles, AreFewForALoss) {
  expect_few_files(names_of(autodiff::losses()), kLoss,
                   {{"cross_entropy", {8, "it is the default of recipes, and has lane kernels"}},
                    {"mae", {7, "a metric has this name"}}});
}

}  // namespace
}  // namespace lanista
