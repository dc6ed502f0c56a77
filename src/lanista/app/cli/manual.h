#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lanista::cli {

/// Returns the manual page lanista(1) in roff, generated from the command tree.
std::string manual_page(const CLI::App& app);

}  // namespace lanista::cli
