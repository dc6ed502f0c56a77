#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "lanista/app/report/page_assets.h"

namespace lanista::report {

/// An HTML page without its data, in two parts. Its content security policy allows only its script and style, by hash.
struct PageFrame {
  std::string before;                                                 ///< HTML before the JSON block.
  std::string behind;                                                 ///< HTML after the JSON block.
  std::size_t size() const { return before.size() + behind.size(); }  ///< Bytes of both parts.
};
/// Returns a page with this title and script, and the common style of all pages. The title is not escaped.
/// `script_hash` is the hash of `script`: "sha256-…".
PageFrame page_frame(std::string_view title, std::span<const std::string_view> script, std::string_view script_hash);

}  // namespace lanista::report
