#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

namespace lanista::cli {

// The command tree, one function a group of verbs. A verb's callback leaves its exit code in `code`, which outlives the
// tree.
void add_study_verbs(CLI::App& app, int& code);     ///< run, plan, simulate, resume, repeat
void add_inspect_verbs(CLI::App& app, int& code);   ///< status, show, check, report, compare
void add_control_verbs(CLI::App& app, int& code);   ///< pause, stop
void add_model_verbs(CLI::App& app, int& code);     ///< predict, eval, export
void add_data_verbs(CLI::App& app, int& code);      ///< data ls, data check, data rows, data export
void add_zoo_verbs(CLI::App& app, int& code);       ///< zoo ls, add, match, show, rm, verify, gc
void add_profiles_verbs(CLI::App& app, int& code);  ///< profiles ls, show, rm
void add_trust_verbs(CLI::App& app, int& code);     ///< trust add, trust ls, trust rm
void add_machine_verbs(CLI::App& app, int& code);   ///< doctor, bench, completion, man

/// The whole tree.
std::unique_ptr<CLI::App> command_tree(int& code);

/// What an option takes: a whole number from `least` to `most`.
CLI::Validator integer_between(std::int64_t least, std::int64_t most);
/// What an option takes: a finite number from `least` to `most`.
CLI::Validator number_between(double least, double most);

/// Examples for the end of a help text, a line each.
std::string examples(std::initializer_list<const char*> lines);

}  // namespace lanista::cli
