// Prints the rows of one table of tests/formats, as the sources have them now.
//
// usage: list_formats SOURCE_FOLDER identities|names|numbers|words
#include <iostream>
#include <span>

#include "formats/formats.h"

int main(int argc, char** argv) {
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  const auto& tables = lanista::stored_formats::tables();
  const auto table = argc == 3 ? tables.find(arguments[2]) : tables.end();
  if (table == tables.end()) {
    std::cerr << "usage: list_formats SOURCE_FOLDER identities|names|numbers|words\n";
    return 2;
  }
  std::cout << lanista::stored_formats::rows_of(lanista::stored_formats::formats_of(arguments[1]), table->second);
  return 0;
}
