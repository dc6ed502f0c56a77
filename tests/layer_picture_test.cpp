#include "layer_picture.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

namespace lanista::layering {
namespace {

namespace fs = std::filesystem;

const Arrows kArrows{
    {"base", {}}, {"model", {"base"}}, {"plan", {"base", "model"}}, {"app", {"base", "model", "plan"}}};

TEST(LayerPicture, InArchitecturePageMatchesIncludes) {
  const fs::path source = LANISTA_SOURCE_DIR;
  std::ostringstream page;
  page << std::ifstream(source / kPicturePage).rdbuf();

  const std::string expected = with_picture(page.str(), picture_of(arrows_of(source / "src" / "lanista")));

  EXPECT_EQ(page.str(), expected) << kPicturePage << " is stale; renew it by\n"
                                  << "  ninja -C build/release write_layer_picture && "
                                     "build/release/tests/write_layer_picture";
}

TEST(LayerPicture, LeavesOutImpliedArrows) {
  EXPECT_EQ(without_implied(kArrows),
            (Arrows{{"base", {}}, {"model", {"base"}}, {"plan", {"model"}}, {"app", {"plan"}}}));
  const Arrows diamond{{"a", {}}, {"b", {"a"}}, {"c", {"a"}}, {"d", {"a", "b", "c"}}};
  EXPECT_EQ(without_implied(diamond).at("d"), (std::set<std::string>{"b", "c"}));
  EXPECT_THROW(without_implied({{"a", {"b"}}, {"b", {"c"}}, {"c", {"a"}}}), std::runtime_error);
}

TEST(LayerPicture, PutsEachLayerAboveWhatItIncludes) {
  EXPECT_EQ(picture_of({{"base", {}}, {"model", {"base"}}, {"ipc", {"base"}}, {"exec", {"base", "model", "ipc"}}}),
            "```\n"
            " 2  exec  -> ipc model\n"
            " 1  ipc   -> base\n"
            "    model -> base\n"
            " 0  base\n"
            "```\n\n"
            "```mermaid\n"
            "flowchart TD\n"
            "  exec --> ipc\n"
            "  exec --> model\n"
            "  ipc --> base\n"
            "  model --> base\n"
            "```\n");
}

TEST(LayerPicture, IgnoresTestsAndTheLayerItself) {
  const fs::path root = fs::temp_directory_path() / ("lanista_layers_" + std::to_string(getpid()));
  const auto add = [&](const std::string& file, const std::string& text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  };
  add("base/a.h", "#include <vector>\n");
  add("model/graph/a.cpp", "#include \"lanista/model/ops/a.h\"\n#include \"lanista/base/a.h\"\n");
  add("model/a_test.cpp", "#include \"lanista/plan/a.h\"\n");
  add("plan/a.h", "// #include \"lanista/base/a.h\"\n#include \"lanista/model/a.h\"\n");

  const Arrows arrows = arrows_of(root);
  fs::remove_all(root);

  EXPECT_EQ(arrows, (Arrows{{"base", {}}, {"model", {"base"}}, {"plan", {"model"}}}));
}

TEST(LayerPicture, NeedsMarkersInThePage) {
  const std::string begins(kPictureBegins), ends(kPictureEnds);
  EXPECT_EQ(with_picture("a\n" + begins + "old\n" + ends + "b\n", "new\n"), "a\n" + begins + "new\n" + ends + "b\n");
  EXPECT_THROW(with_picture("a\n" + begins, "new\n"), std::runtime_error);
  EXPECT_THROW(with_picture(ends + begins, "new\n"), std::runtime_error);
}

}  // namespace
}  // namespace lanista::layering
