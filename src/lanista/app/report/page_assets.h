#pragma once

#include <span>
#include <string_view>

// Made at build time from assets/ (cmake/EmbedText.cmake). The hashes are those of the parts, joined without a gap, as
// a content security policy writes them: "sha256-…".
namespace lanista::report {

std::span<const std::string_view> page_script();
std::string_view page_script_hash();
std::span<const std::string_view> page_style();
std::string_view page_style_hash();
std::span<const std::string_view> compare_script();
std::string_view compare_script_hash();

}  // namespace lanista::report
