#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace lanista::cli {

/// What to write instead of the options that the last parse of `app` did not know, one line each: the option that was
/// meant, the setting that a word of other tools means, or where the options are listed. Empty: all options are known.
std::string unknown_options_text(const CLI::App& app);

}  // namespace lanista::cli
