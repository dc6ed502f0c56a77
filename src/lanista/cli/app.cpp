#include "lanista/cli/app.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "lanista/base/text_distance.h"
#include "lanista/cli/session.h"
#include "lanista/cli/streams.h"
#include "lanista/cli/terminal.h"
#include "lanista/cli/verbs.h"
#include "lanista/cli/version.h"

namespace lanista::cli {
namespace {

// CLI11 would only say that a subcommand is required.
int refuse_unknown_verb(const CLI::App& app, const std::string& verb) {
  if (verb.starts_with("-")) return 0;
  std::vector<std::string> known;
  std::string list;
  for (const auto* each : app.get_subcommands({})) {
    if (each->get_name() == verb) return 0;
    known.push_back(each->get_name());
    list += (list.empty() ? "" : ", ") + each->get_name();
  }
  const std::string near = nearest_name(verb, known);
  std::cerr << "lanista: unknown verb '" << printable(verb) << "'; "
            << (near.empty() ? "known: " + list : "did you mean '" + near + "'?") << "\n";
  return kUsage;
}

// Benchmarks live in a program of their own, because loading LibTorch takes longer than most verbs.
int run_bench(char** argv) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::string program = (self.parent_path() / "lanista-bench").string();
  ::execv(program.c_str(), argv + 1);
  std::cerr << "lanista: cannot run " << program << ": " << std::strerror(errno)
            << "; it is built beside lanista where LibTorch is installed, for instance by ./quickstart test\n";
  return kUsage;
}

}  // namespace

// CLI11 appends the footer as it is.
std::string examples(std::initializer_list<const char*> lines) {
  std::string text = "examples:";
  for (const char* line : lines) text += std::string("\n  ") + line;
  return text;
}

std::unique_ptr<CLI::App> command_tree(int& code) {
  auto app = std::make_unique<CLI::App>(
      "lanista: exploratory training. Describe a space of models and a goal; it hands over the best trained model.",
      "lanista");
  app->set_version_flag("--version", "lanista " + std::string(kVersion), "print the version");
  app->require_subcommand(1);
  app->footer(examples({"lanista run                        explore models for handwritten digits",
                        "lanista resume studies/digits-1    continue exactly where it was",
                        "lanista run --help                 all options of a verb"}));
  add_study_verbs(*app, code);
  add_inspect_verbs(*app, code);
  add_control_verbs(*app, code);
  add_model_verbs(*app, code);
  add_data_verbs(*app, code);
  add_machine_verbs(*app, code);
  return app;
}

namespace {

int run_verb(int argc, char** argv) {
  int code = kDone;
  if (argc >= 2 && std::string_view(argv[1]) == "bench") return run_bench(argv);
  const auto app = command_tree(code);
  try {
    if (argc < 2) {
      std::cerr << app->help();
      return kUsage;
    }
    if (const int refused = refuse_unknown_verb(*app, argv[1])) return refused;
    app->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream said;  // on a mistake it quotes what was typed
    const bool asked = app->exit(e, std::cout, said) == 0;
    std::cerr << printable_lines(said.str());
    return asked ? kDone : kUsage;
  } catch (const std::exception& e) {
    std::cerr << "lanista: internal error: " << printable(e.what()) << "\n";
    return kStudyFailed;
  }
  return code;
}

}  // namespace

int run(int argc, char** argv) {
  if (!guard_streams()) return kStudyFailed;
  const int code = run_verb(argc, argv);
  const auto told = check_output();
  if (told) return code;
  report(told.error());
  return code == kDone ? kStudyFailed : code;
}

}  // namespace lanista::cli
