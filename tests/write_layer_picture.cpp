// Writes the picture of the layers into docs/internals/architecture.md: write_layer_picture [source folder].
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "layer_picture.h"

int main(int count, char** arguments) {
  namespace layering = lanista::layering;
  const std::filesystem::path source = count > 1 ? arguments[1] : LANISTA_SOURCE_DIR;
  try {
    const std::filesystem::path page = source / layering::kPicturePage;
    std::ostringstream text;
    text << std::ifstream(page).rdbuf();
    const std::string written =
        layering::with_picture(text.str(), layering::picture_of(layering::arrows_of(source / "src" / "lanista")));
    std::ofstream(page) << written;
    std::printf("%s: %s\n", page.c_str(), written == text.str() ? "unchanged" : "renewed");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_layer_picture: %s\n", error.what());
    return 1;
  }
  return 0;
}
