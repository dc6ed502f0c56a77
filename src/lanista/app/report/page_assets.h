#pragma once

#include <span>
#include <string_view>

// Generated at build time from assets/ (cmake/EmbedText.cmake). A text is a list of parts, to be joined without a gap.
// Hashes are those of the joined parts, in the form of a content security policy: "sha256-…".
namespace lanista::report {

/// The script of the report page.
std::span<const std::string_view> page_script();
/// The hash of page_script().
std::string_view page_script_hash();
/// The style of both pages.
std::span<const std::string_view> page_style();
/// The hash of page_style().
std::string_view page_style_hash();
/// The script of the comparison page.
std::span<const std::string_view> compare_script();
/// The hash of compare_script().
std::string_view compare_script_hash();

}  // namespace lanista::report
