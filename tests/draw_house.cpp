// Draws the picture of rooms and arrows in docs/internals/architecture.md anew: draw_house [source folder].
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "house_picture.h"

int main(int count, char** arguments) {
  namespace layering = lanista::layering;
  const std::filesystem::path source = count > 1 ? arguments[1] : LANISTA_SOURCE_DIR;
  try {
    const std::filesystem::path page = source / "docs" / "internals" / "architecture.md";
    std::ostringstream text;
    text << std::ifstream(page).rdbuf();
    const std::string drawn =
        layering::with_picture(text.str(), layering::picture_of(layering::arrows_of(source / "src" / "lanista")));
    std::ofstream(page) << drawn;
    std::printf("%s: %s\n", page.c_str(), drawn == text.str() ? "as it was" : "drawn anew");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "draw_house: %s\n", error.what());
    return 1;
  }
  return 0;
}
