#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lanista::cli {

/// Returns a shell script that completes verbs, options, their fixed values, and files. It is generated from the
/// command tree. `shell` is bash, zsh or fish; another text is a bug of the caller.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace lanista::cli
