#include "house_picture.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

namespace lanista::layering {
namespace {

namespace fs = std::filesystem;

const Arrows kHouse{{"base", {}}, {"graph", {"base"}}, {"step", {"base", "graph"}}, {"cli", {"base", "graph", "step"}}};

TEST(HousePicture, InTheArchitecturePageIsWhatTheIncludesGive) {
  const fs::path source = LANISTA_SOURCE_DIR;
  std::ostringstream page;
  page << std::ifstream(source / "docs" / "internals" / "architecture.md").rdbuf();

  const std::string drawn = with_picture(page.str(), picture_of(arrows_of(source / "src" / "lanista")));

  EXPECT_EQ(page.str(), drawn)
      << "docs/internals/architecture.md shows another house than the includes do; renew its picture by\n"
      << "  ninja -C build/release draw_house && build/release/tests/draw_house";
}

TEST(HousePicture, LeavesOutArrowsThatOthersImply) {
  EXPECT_EQ(without_implied(kHouse),
            (Arrows{{"base", {}}, {"graph", {"base"}}, {"step", {"graph"}}, {"cli", {"step"}}}));
  const Arrows diamond{{"a", {}}, {"b", {"a"}}, {"c", {"a"}}, {"d", {"a", "b", "c"}}};
  EXPECT_EQ(without_implied(diamond).at("d"), (std::set<std::string>{"b", "c"}));
  EXPECT_THROW(without_implied({{"a", {"b"}}, {"b", {"c"}}, {"c", {"a"}}}), std::runtime_error);
}

TEST(HousePicture, PutsEveryRoomAboveWhatItStandsOn) {
  EXPECT_EQ(picture_of({{"base", {}}, {"graph", {"base"}}, {"space", {"base"}}, {"study", {"base", "graph", "space"}}}),
            "```\n"
            " 2  study -> graph space\n"
            " 1  graph -> base\n"
            "    space -> base\n"
            " 0  base\n"
            "```\n\n"
            "```mermaid\n"
            "flowchart TD\n"
            "  study --> graph\n"
            "  study --> space\n"
            "  graph --> base\n"
            "  space --> base\n"
            "```\n");
}

TEST(HousePicture, CountsNeitherTestsNorTheRoomItself) {
  const fs::path root = fs::temp_directory_path() / ("lanista_house_" + std::to_string(getpid()));
  const auto add = [&](const std::string& file, const std::string& text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  };
  add("base/a.h", "#include <vector>\n");
  add("graph/sub/a.cpp", "#include \"lanista/graph/a.h\"\n#include \"lanista/base/a.h\"\n");
  add("graph/a_test.cpp", "#include \"lanista/step/a.h\"\n");
  add("graph/test_models.h", "#include \"lanista/step/a.h\"\n");
  add("step/a.h", "// #include \"lanista/base/a.h\"\n#include \"lanista/graph/a.h\"\n");

  const Arrows arrows = arrows_of(root);
  fs::remove_all(root);

  EXPECT_EQ(arrows, (Arrows{{"base", {}}, {"graph", {"base"}}, {"step", {"graph"}}}));
}

TEST(HousePicture, NeedsItsPlaceInThePage) {
  const std::string begins(kPictureBegins), ends(kPictureEnds);
  EXPECT_EQ(with_picture("a\n" + begins + "old\n" + ends + "b\n", "new\n"), "a\n" + begins + "new\n" + ends + "b\n");
  EXPECT_THROW(with_picture("a\n" + begins, "new\n"), std::runtime_error);
  EXPECT_THROW(with_picture(ends + begins, "new\n"), std::runtime_error);
}

}  // namespace
}  // namespace lanista::layering
