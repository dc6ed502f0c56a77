#include "layering.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace lanista::layering {
namespace {

namespace fs = std::filesystem;

const char* const kTable =
    "# a small table\n"
    "base ->\n"
    "model -> base\n"
    "plan -> model  # transitive\n"
    "exec -> plan\n"
    "app -> exec\n"
    "torch: exec/aten\n";

Layers real_layers() {
  std::ifstream in(fs::path(LANISTA_SOURCE_DIR) / "cmake" / "layers.txt");
  std::ostringstream text;
  text << in.rdbuf();
  return read_layers(text.str());
}

// Sources in a temporary folder with broken rules, which the check must report.
class SyntheticSources : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("lanista_layering_" + std::to_string(getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void add(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::vector<std::string> violations() { return find_violations(root_, read_layers(kTable)); }

  fs::path root_;
};

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

TEST(Layering, HasNoUpwardInclude) {
  const fs::path source = LANISTA_SOURCE_DIR;
  EXPECT_EQ(joined(find_violations(source / "src" / "lanista", real_layers())), "");
  EXPECT_EQ(joined(find_violations_of(source / "bench", "bench", real_layers())), "");
}

/// The headers of modules that cmake/InstallLanista.cmake installs.
std::set<std::string> installed_module_headers() {
  const fs::path source = LANISTA_SOURCE_DIR;
  std::ostringstream text;
  text << std::ifstream(source / "cmake" / "InstallLanista.cmake").rdbuf();
  const std::string mark = "set(LANISTA_PUBLIC_HEADERS ";
  const auto begin = text.str().find(mark) + mark.size();
  std::istringstream words(text.str().substr(begin, text.str().find(')', begin) - begin));
  std::set<std::string> out;
  for (std::string word; words >> word;) out.insert(word);
  return out;
}

TEST(Layering, InstalledHeadersIncludeNoOthers) {
  const fs::path source = LANISTA_SOURCE_DIR;
  EXPECT_EQ(installed_module_headers(), (std::set<std::string>{"base/check.h", "base/result.h", "base/tensor.h"}));
  EXPECT_EQ(joined(find_violations_of_public_headers(source / "include" / "lanista", source / "src" / "lanista",
                                                     installed_module_headers())),
            "");
}

TEST(Layering, TableListsEveryLayer) {
  const Layers layers = real_layers();
  EXPECT_EQ(layers.may_include.size(), 11u);
  EXPECT_EQ(layers.torch_folders, (std::set<std::string>{"bench", "exec/backends/aten"}));
  EXPECT_TRUE(layers.may_include.at("engine").contains("base"));
  EXPECT_FALSE(layers.may_include.at("engine").contains("app"));
  EXPECT_FALSE(layers.may_include.at("base").contains("model"));
  EXPECT_FALSE(layers.may_include.at("plan").contains("io"));
  EXPECT_EQ(layers.may_include.at("bench").size(), layers.may_include.size());
}

TEST_F(SyntheticSources, AcceptsAllowedIncludes) {
  add("base/a.h", "#include <vector>\n#include \"lanista/base/b.h\"\n");
  add("plan/a.cpp", "#include \"lanista/base/a.h\"\n  #  include \"lanista/model/a.h\"\n");
  add("exec/aten/a.cpp", "#include <torch/torch.h>\n#include \"lanista/plan/a.h\"\n");
  add("model/a_test.cpp", "#include <torch/torch.h>\n#include \"support/a.h\"\n#include \"lanista/exec/a.h\"\n");
  EXPECT_EQ(violations(), std::vector<std::string>{});
}

TEST_F(SyntheticSources, ReportsUpwardIncludes) {
  add("model/a.cpp", "#include \"lanista/model/a.h\"\n#include \"lanista/plan/a.h\"\n");
  add("model/b.h", "#  include <lanista/exec/a.h>\n");
  EXPECT_EQ(violations(),
            (std::vector<std::string>{"model/a.cpp:2: layer model may not include layer plan (lanista/plan/a.h)",
                                      "model/b.h:1: layer model may not include layer exec (lanista/exec/a.h)"}));
}

TEST_F(SyntheticSources, ReportsTorchOutsideItsFolders) {
  add("plan/a.h", "#include <ATen/ATen.h>\n");
  add("plan/b.cpp", "#include \"c10/core/Device.h\"\n");
  add("exec/c.cpp", "// not a folder of LibTorch\n#include <torch/torch.h>\n");
  EXPECT_EQ(violations().size(), 3u);
}

TEST_F(SyntheticSources, ReportsRelativeIncludesAndUnknownLayers) {
  add("base/a.cpp", "#include \"../model/a.h\"\n#include \"support/a.h\"\n");
  add("other/a.cpp", "int x;\n");
  add("loose.cpp", "int x;\n");
  add("model/a.cpp", "#include \"lanista/other/a.h\"\n#include \"bench/a.h\"\n");
  EXPECT_EQ(violations().size(), 6u);
}

TEST_F(SyntheticSources, LetsOneModuleIncludePublicHeaders) {
  add("app/api/a.cpp", "#include \"lanista/study.h\"\n");
  add("app/api/a_test.cpp", "#include \"lanista/lanista.h\"\n");
  add("app/cli/a.cpp", "#include \"lanista/study.h\"\n");
  EXPECT_EQ(violations(),
            (std::vector<std::string>{"app/cli/a.cpp:1: only app/api may include the public header lanista/study.h"}));
}

TEST_F(SyntheticSources, ReportsIncludesOfInstalledHeaders) {
  add("include/a.h", "#include <vector>\n#include \"lanista/base/result.h\"\n#include \"lanista/b.h\"\n");
  add("include/b.h", "#include <nlohmann/json.hpp>\n#include \"lanista/base/rng.h\"\n#include <zlib.h>\n");
  add("base/result.h", "#include \"lanista/a.h\"\n");
  EXPECT_EQ(find_violations_of_public_headers(root_ / "include", root_, {"base/result.h"}),
            (std::vector<std::string>{"b.h:1: installed headers may not include nlohmann/json.hpp",
                                      "b.h:2: installed headers may not include lanista/base/rng.h",
                                      "b.h:3: installed headers may not include zlib.h",
                                      "base/result.h:1: installed headers may not include lanista/a.h"}));
}

TEST_F(SyntheticSources, IgnoresIncludesInComments) {
  add("base/a.cpp", "// #include \"lanista/exec/a.h\"\n");
  EXPECT_TRUE(violations().empty());
}

TEST(LayersTable, RefusesMalformedTables) {
  EXPECT_THROW(read_layers("base\n"), std::runtime_error);
  EXPECT_THROW(read_layers("graph -> base\n"), std::runtime_error);
  EXPECT_THROW(read_layers("a -> b\nb -> a\n"), std::runtime_error);
  EXPECT_THROW(read_layers("a ->\na ->\n"), std::runtime_error);
}

}  // namespace
}  // namespace lanista::layering
