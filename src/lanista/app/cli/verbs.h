#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

namespace lanista::cli {

/// Adds the verbs run, plan, simulate, resume and repeat to `app`. Parsing runs the verb of the command line and writes
/// its exit code to `code`, which must outlive `app`.
void add_study_verbs(CLI::App& app, int& code);
/// Adds the verbs status, show, check, report and compare to `app`. Parsing runs the verb of the command line and
/// writes its exit code to `code`, which must outlive `app`.
void add_inspect_verbs(CLI::App& app, int& code);
/// Adds the verbs pause and stop to `app`. Parsing runs the verb of the command line and writes its exit code
/// to `code`, which must outlive `app`.
void add_control_verbs(CLI::App& app, int& code);
/// Adds the verbs predict, eval and export to `app`. Parsing runs the verb of the command line and writes its exit code
/// to `code`, which must outlive `app`.
void add_model_verbs(CLI::App& app, int& code);
/// Adds the verbs data ls, data check, data rows and data export to `app`. Parsing runs the verb of the command line
/// and writes its exit code to `code`, which must outlive `app`.
void add_data_verbs(CLI::App& app, int& code);
/// Adds the verbs zoo ls, add, match, show, rm, verify and gc to `app`. Parsing runs the verb of the command line and
/// writes its exit code to `code`, which must outlive `app`.
void add_zoo_verbs(CLI::App& app, int& code);
/// Adds the verbs profiles ls, show and rm to `app`. Parsing runs the verb of the command line and writes its exit code
/// to `code`, which must outlive `app`.
void add_profiles_verbs(CLI::App& app, int& code);
/// Adds the verbs trust add, trust ls and trust rm to `app`. Parsing runs the verb of the command line and writes its
/// exit code to `code`, which must outlive `app`.
void add_trust_verbs(CLI::App& app, int& code);
/// Adds the verbs doctor, bench, worker, stage, completion and man to `app`. Parsing runs the verb of the command line
/// and writes its exit code to `code`, which must outlive `app`.
void add_machine_verbs(CLI::App& app, int& code);

/// Returns the command tree with all verbs. Parsing runs a verb. Its exit code is in `code`, which must outlive the
/// tree.
std::unique_ptr<CLI::App> command_tree(int& code);

/// Returns a check for the value of an option: a whole number from `least` to `most`.
CLI::Validator integer_between(std::int64_t least, std::int64_t most);
/// Returns a check for the value of an option: a finite number from `least` to `most`.
CLI::Validator number_between(double least, double most);

/// Returns the text for the end of a help text: the line "examples:" and then one example a line.
std::string examples(std::initializer_list<const char*> lines);

/// Adds a verb with examples to `parent`. Returns it with its request, which its options fill. Parsing the verb writes
/// the result of `run(request)` to `code`, which must outlive `parent`.
template <class Request, class Run>
std::pair<CLI::App&, Request&> add_verb(CLI::App& parent, int& code, const char* name, const char* help,
                                        std::initializer_list<const char*> lines, Run run) {
  const auto request = std::make_shared<Request>();
  CLI::App& verb = *parent.add_subcommand(name, help);
  verb.footer(examples(lines));
  verb.callback([request, run, &code] { code = run(*request); });
  return {verb, *request};
}

}  // namespace lanista::cli
