#include "lanista/app/cli/app.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>
#include <system_error>

#include "lanista/app/cli/session.h"
#include "lanista/app/cli/streams.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/cli/unknown_options.h"
#include "lanista/app/cli/verbs.h"
#include "lanista/app/cli/version.h"
#include "lanista/base/bad_alloc_reserve.h"
#include "lanista/base/edit_distance.h"

namespace lanista::cli {
namespace {

// CLI11 would only report that a subcommand is required.
int refuse_unknown_verb(const CLI::App& app, const std::string& verb) {
  if (verb.starts_with("-")) return 0;
  std::vector<std::string> known;
  std::string list;
  for (const auto* each : app.get_subcommands({})) {
    if (each->get_name() == verb) return 0;
    if (each->get_group().empty()) continue;  // a hidden verb
    known.push_back(each->get_name());
    list += (list.empty() ? "" : ", ") + each->get_name();
  }
  const std::string nearest = nearest_name(verb, known);
  std::cerr << "lanista: unknown verb '" << printable(verb) << "'; "
            << (nearest.empty() ? "known: " + list : "did you mean '" + nearest + "'?") << "\n";
  return kUsage;
}

// Replaces this process by lanista-bench; returns only if that fails. It is a second program, because loading LibTorch
// needs more time than most verbs.
int run_bench(char** argv) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) {  // a bare name would be looked up in the current folder
    std::cerr << "lanista: cannot find the folder of this program: " << failed.message() << "\n";
    return kUsage;
  }
  const std::string program = (self.parent_path() / "lanista-bench").string();
  ::execv(program.c_str(), argv + 1);
  std::cerr << "lanista: cannot run " << program << ": " << std::strerror(errno)
            << "; it is built next to lanista if LibTorch is installed, for instance by ./quickstart test\n";
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
      "lanista: exploratory training. Describe a space of models and a goal; lanista returns the "
      "best trained model.",
      "lanista");
  app->set_help_flag("-h,--help", "Print this help.");
  app->set_version_flag("--version", "lanista " + std::string(kVersion), "Print the version.");
  app->require_subcommand(1);
  app->footer(examples({"lanista run                        explore models for handwritten digits",
                        "lanista resume studies/digits-1    continue exactly where it was",
                        "lanista run --help                 all options of a verb"}));
  add_study_verbs(*app, code);
  add_inspect_verbs(*app, code);
  add_control_verbs(*app, code);
  add_model_verbs(*app, code);
  add_data_verbs(*app, code);
  add_zoo_verbs(*app, code);
  add_profiles_verbs(*app, code);
  add_trust_verbs(*app, code);
  add_machine_verbs(*app, code);
  return app;
}

namespace {

/// The text of a usage error in which each quoted argument is one printable line. A shell may have made an argument
/// from the name of a file.
std::string with_printable_arguments(std::string text, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::size_t equals = argument.find('=');
    for (const std::string_view quoted :
         {argument, equals == std::string_view::npos ? std::string_view() : argument.substr(equals + 1)}) {
      const std::string shown = printable(quoted);
      if (shown == quoted) continue;
      for (std::size_t at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at + shown.size())) {
        text.replace(at, quoted.size(), shown);
      }
    }
  }
  return text;
}

int run_verb(int argc, char** argv) {
  int code = kDone;
  if (argc >= 2 && std::string_view(argv[1]) == "bench") return run_bench(argv);
  const auto app = command_tree(code);
  if (argc < 2) {
    std::cerr << app->help();
    return kUsage;
  }
  if (const int refused = refuse_unknown_verb(*app, argv[1])) return refused;
  for (const CLI::App* verb : app->get_subcommands({})) {
    if (argc < 3 || verb->get_name() != argv[1] || verb->get_subcommands({}).empty()) continue;
    if (const int refused = refuse_unknown_verb(*verb, argv[2])) return refused;
  }
  try {
    app->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (const std::string unknown = unknown_options_text(*app); !unknown.empty()) {
      std::cerr << printable_lines(unknown);
      return kUsage;
    }
    std::ostringstream message;
    const bool asked = app->exit(e, std::cout, message) == 0;
    std::cerr << printable_lines(with_printable_arguments(message.str(), argc, argv));
    return asked ? kDone : kUsage;
  }
  return code;
}

int run_and_check(int argc, char** argv) {
  const int code = run_verb(argc, argv);
  const auto output_check = check_output();
  if (output_check) return code;
  print_error(output_check.error());
  return code == kDone ? kStudyFailed : code;
}

// Ends the process with a message if memory runs out in a destructor (that of nlohmann::json allocates). The study is
// then as after a kill, and no trial is recorded as the cause.
[[noreturn]] void on_terminate() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kWords =
        "lanista: out of memory: the system gives this process no more; continue the study with: lanista resume DIR\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kWords.data(), kWords.size());
    ::_exit(kStudyFailed);
  } catch (...) {
  }
  __gnu_cxx::__verbose_terminate_handler();
  std::abort();
}

}  // namespace

int run(int argc, char** argv) {
  if (!reserve_standard_streams()) return kStudyFailed;
  std::set_terminate(on_terminate);
  try {
    if (!reserve_memory_for_bad_alloc()) throw std::bad_alloc();
    return run_and_check(argc, argv);
  } catch (const std::bad_alloc&) {
    std::cerr << "lanista: out of memory: the system gives this process no more (ulimit -v shows a limit)\n";
  } catch (const std::system_error& e) {  // of the standard library: a thread, a path
    std::cerr << "lanista: system call failed: " << printable(e.what()) << "\n";
  } catch (const std::exception& e) {
    std::cerr << "lanista: internal error: " << printable(e.what()) << "\n";
  }
  return kStudyFailed;
}

}  // namespace lanista::cli
