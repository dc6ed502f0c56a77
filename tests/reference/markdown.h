#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

// Markdown of reference pages.
namespace lanista::reference {

using Row = std::vector<std::string>;  ///< cells of one line of a table

/// Returns a table with one line a row. A "|" inside a cell is escaped.
std::string table(const Row& header, const std::vector<Row>& rows);

/// Returns `text` as inline code, "" for "".
std::string code(const std::string& text);

/// Returns the anchor of a heading, as GitHub makes it: "traintune" for "`train.tune`".
std::string anchor(const std::string& heading);

/// Returns a number for readers: "1,000,000", "0.5", "1e300".
std::string number_text(const nlohmann::json& number);

/// Returns a JSON value as flow YAML that a study file may contain: "[0.5, 2]", "adam".
std::string value_text(const nlohmann::json& value);

/// Returns `text` in lines of at most 120 columns.
std::string wrapped(const std::string& text);

/// Returns `help` as a sentence, with a capital letter and a full stop.
std::string sentence(std::string help);

/// Returns the names of the blocks of a page.
///
/// A block begins with the line `<!-- generated: NAME -->` and ends with `<!-- end -->`.
std::vector<std::string> block_names(std::string_view page);

/// Returns `page` with each block filled by `render(NAME)`. Throws std::runtime_error for a block without an end.
std::string with_blocks(std::string_view page, const std::function<std::string(const std::string&)>& render);

/// Returns the texts of all fenced blocks of a page that the line "```" + `kind` opens.
std::vector<std::string> fenced(std::string_view page, std::string_view kind);

}  // namespace lanista::reference
