#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/tokens.h"
#include "inventory/inventory.h"

// Everything in the sources that is a format: it is stored in a file, sent in a message, or it decides a random number
// or a hash. A format must not change when code is renamed or moved. tests/formats/README.md describes the kinds.
namespace lanista::stored_formats {

/// A format: its kind and its value, such as {"stream", "*/trial/*"}.
using Format = std::pair<std::string, std::string>;

/// How often a format occurs, and in which files below src/lanista.
struct Uses {
  int count = 0;
  std::set<std::string> files;
};
using Formats = std::map<Format, Uses>;

/// The sources of the product: neither tests, nor helpers that only tests link, nor benchmarks.
std::vector<inventory::Source> product_sources(const std::string& root);

/// Adds the formats of one source.
void add_formats(const inventory::Source& source, Formats& out);
/// All formats. Words that tests/inventory lists as fields or keys are left out.
Formats formats_of(const std::string& root);

/// The kinds of a table `NAME.txt` in tests/formats: "identities", "names", "numbers", "words".
const std::map<std::string, std::vector<std::string>>& tables();
/// Whether rows of this kind have the count `-`: only the presence of the value matters.
bool is_counted(const std::string& kind);

/// The rows of a table: "KIND | COUNT | VALUE". A count `-` is 0 here. Errors of the text go to `mistakes`.
std::map<Format, int> read_rows(const std::string& text, std::vector<std::string>& mistakes);
/// The rows of a table as text, sorted.
std::string rows_of(const Formats& formats, const std::vector<std::string>& kinds);
/// What differs between a table and the sources, one line each, with the row to write and the files.
std::vector<std::string> differences(const std::map<Format, int>& rows, const Formats& formats,
                                     const std::vector<std::string>& kinds);

}  // namespace lanista::stored_formats
