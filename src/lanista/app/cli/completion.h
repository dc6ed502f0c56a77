#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lanista::cli {

/// A script that completes verbs, options and their fixed values, and files elsewhere; made from the command tree.
/// `shell`: bash, zsh or fish.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace lanista::cli
