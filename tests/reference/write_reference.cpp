// Writes the generated tables into the pages of docs/reference: write_reference [source folder].
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "reference/pages.h"

int main(int count, char** arguments) {
  const std::filesystem::path source = count > 1 ? arguments[1] : LANISTA_SOURCE_DIR;
  try {
    const lanista::reference::Reference reference(source);
    for (const auto& [page, text] : reference.pages()) {
      const std::string written = reference.written(page);
      if (written == text) continue;
      std::ofstream(source / "docs" / "reference" / page) << written;
      std::printf("renewed docs/reference/%s\n", page.c_str());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_reference: %s\n", error.what());
    return 1;
  }
  return 0;
}
