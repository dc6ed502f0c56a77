#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

namespace lanista::cli {

// The functions that add verbs to the command tree, one for each group. The callback of a verb writes its exit code to
// `code`. `code` must outlive the tree.
void add_study_verbs(CLI::App& app, int& code);     ///< Adds run, plan, simulate, resume, repeat.
void add_inspect_verbs(CLI::App& app, int& code);   ///< Adds status, show, check, report, compare.
void add_control_verbs(CLI::App& app, int& code);   ///< Adds pause, stop.
void add_model_verbs(CLI::App& app, int& code);     ///< Adds predict, eval, export.
void add_data_verbs(CLI::App& app, int& code);      ///< Adds data ls, data check, data rows, data export.
void add_zoo_verbs(CLI::App& app, int& code);       ///< Adds zoo ls, add, match, show, rm, verify, gc.
void add_profiles_verbs(CLI::App& app, int& code);  ///< Adds profiles ls, show, rm.
void add_trust_verbs(CLI::App& app, int& code);     ///< Adds trust add, trust ls, trust rm.
void add_machine_verbs(CLI::App& app, int& code);   ///< Adds doctor, bench, worker, stage, completion, man.

/// Returns the command tree with all verbs.
std::unique_ptr<CLI::App> command_tree(int& code);

/// Returns a check for the value of an option: a whole number from `least` to `most`.
CLI::Validator integer_between(std::int64_t least, std::int64_t most);
/// Returns a check for the value of an option: a finite number from `least` to `most`.
CLI::Validator number_between(double least, double most);

/// Returns the examples for the end of a help text, one a line.
std::string examples(std::initializer_list<const char*> lines);

}  // namespace lanista::cli
