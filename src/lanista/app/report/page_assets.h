#pragma once

#include <span>
#include <string_view>

// Generated at build time from assets/ (cmake/EmbedText.cmake). A text is a list of parts, to be joined without a gap.
// Hashes are those of the joined parts, in the form of a content security policy: "sha256-…".
namespace lanista::report {

/// Returns the script of the report page, in parts to be joined.
std::span<const std::string_view> page_script();
/// Returns the hash of page_script(): "sha256-…".
std::string_view page_script_hash();
/// Returns the style of the report page and the comparison page, in parts to be joined.
std::span<const std::string_view> page_style();
/// Returns the hash of page_style(): "sha256-…".
std::string_view page_style_hash();
/// Returns the script of the comparison page, in parts to be joined.
std::span<const std::string_view> compare_script();
/// Returns the hash of compare_script(): "sha256-…".
std::string_view compare_script_hash();

}  // namespace lanista::report
