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
    "# a small house\n"
    "base ->\n"
    "graph -> base\n"
    "step -> graph  # transitive\n"
    "nn[T] -> step\n";

Layers real_layers() {
  std::ifstream in(fs::path(LANISTA_SOURCE_DIR) / "cmake" / "layers.txt");
  std::ostringstream text;
  text << in.rdbuf();
  return read_layers(text.str());
}

// A house of our own in a temporary folder, so that the checker is seen to object.
class SyntheticHouse : public testing::Test {
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

TEST(Layering, NoIncludeGoesUpstairs) {
  std::string all;
  for (const auto& v : find_violations(fs::path(LANISTA_SOURCE_DIR) / "src" / "lanista", real_layers()))
    all += v + "\n";
  EXPECT_EQ(all, "");
}

TEST(Layering, TheTableKnowsTheWholeHouse) {
  const Layers layers = real_layers();
  EXPECT_EQ(layers.torch, (std::set<std::string>{"nn", "train", "runtime", "bench", "device"}));
  EXPECT_TRUE(layers.may_include.at("engine").contains("base"));
  EXPECT_FALSE(layers.may_include.at("engine").contains("nn"));
  EXPECT_FALSE(layers.may_include.at("base").contains("graph"));
  EXPECT_EQ(layers.may_include.at("cli").size(), layers.may_include.size());
}

TEST_F(SyntheticHouse, GoodIncludesPass) {
  add("base/a.h", "#include <vector>\n#include \"lanista/base/b.h\"\n");
  add("step/a.cpp", "#include \"lanista/base/a.h\"\n  #  include \"lanista/graph/a.h\"\n");
  add("nn/a.cpp", "#include <torch/torch.h>\n#include \"lanista/step/a.h\"\n");
  add("graph/a_test.cpp", "#include <torch/torch.h>\n");
  EXPECT_EQ(violations(), std::vector<std::string>{});
}

TEST_F(SyntheticHouse, AnIncludeThatGoesUpstairsIsFound) {
  add("graph/a.cpp", "#include \"lanista/graph/a.h\"\n#include \"lanista/step/a.h\"\n");
  add("graph/b_test.cpp", "#  include <lanista/nn/a.h>\n");
  EXPECT_EQ(violations(),
            (std::vector<std::string>{"graph/a.cpp:2: room graph may not include room step (lanista/step/a.h)",
                                      "graph/b_test.cpp:1: room graph may not include room nn (lanista/nn/a.h)"}));
}

TEST_F(SyntheticHouse, TorchInFrontOfTheWallIsFound) {
  add("step/a.h", "#include <ATen/ATen.h>\n");
  add("step/b.cpp", "#include \"c10/core/Device.h\"\n");
  add("step/c.cpp", "// no room for it\n#include <torch/torch.h>\n");
  EXPECT_EQ(violations().size(), 3u);
}

TEST_F(SyntheticHouse, RelativeIncludesAndUnknownRoomsAreFound) {
  add("base/a.cpp", "#include \"../graph/a.h\"\n");
  add("attic/a.cpp", "int x;\n");
  add("loose.cpp", "int x;\n");
  add("graph/a.cpp", "#include \"lanista/attic/a.h\"\n");
  EXPECT_EQ(violations().size(), 4u);
}

TEST_F(SyntheticHouse, CommentedIncludesDoNotCount) {
  add("base/a.cpp", "// #include \"lanista/nn/a.h\"\n");
  EXPECT_TRUE(violations().empty());
}

TEST(LayersTable, MalformedTablesAreRefused) {
  EXPECT_THROW(read_layers("base\n"), std::runtime_error);
  EXPECT_THROW(read_layers("graph -> base\n"), std::runtime_error);
  EXPECT_THROW(read_layers("a -> b\nb -> a\n"), std::runtime_error);
  EXPECT_THROW(read_layers("a ->\na ->\n"), std::runtime_error);
}

}  // namespace
}  // namespace lanista::layering
