#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "lanista/app/report/page_assets.h"

namespace lanista::report {

/// A page but for its data, in two halves: what stands before the text of the JSON block and what stands behind it. It
/// admits this script and the pages' common style by hash, and nothing else.
struct PageFrame {
  std::string before, behind;
  std::size_t size() const { return before.size() + behind.size(); }
};
PageFrame page_frame(std::string_view title, std::span<const std::string_view> script, std::string_view script_hash);

}  // namespace lanista::report
