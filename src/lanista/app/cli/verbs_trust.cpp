#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/app/cli/verbs.h"
#include "lanista/io/studyfile/trust.h"

namespace lanista::cli {
namespace {

Result<study::TrustList> open_trust_list() {
  LANISTA_ASSIGN(const std::string path, study::trust_list_path(std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME")));
  return study::TrustList::open(path);
}

void print_entry(const std::string& what, const study::TrustEntry& entry) {
  std::cout << what << entry.hash << "  " << printable(entry.path) << "\n";
}

Result<void> add_code(const std::string& path) {
  LANISTA_ASSIGN(const study::CodeCopy code, study::read_code(path));
  LANISTA_ASSIGN(study::TrustList list, open_trust_list());
  LANISTA_TRY(list.add(code));
  print_entry("trusted ", {code.hash, code.path});
  return {};
}

Result<void> list_code() {
  LANISTA_ASSIGN(const study::TrustList list, open_trust_list());
  for (const study::TrustEntry& entry : list.entries()) print_entry("", entry);
  return {};
}

/// By hash, else by the path at which the code was added, else by the hash of what is at the path now.
Result<void> remove_code(const std::string& hash_or_path) {
  LANISTA_ASSIGN(study::TrustList list, open_trust_list());
  if (list.entries().empty()) return Error{Code::kNotFound, "the list is empty", list.file()};
  auto removed = list.remove(hash_or_path);
  if (!removed) {
    std::error_code failed;
    const auto path = std::filesystem::absolute(hash_or_path, failed).lexically_normal();
    if (const auto by_path = list.remove(path.string()); by_path) removed = by_path;
  }
  if (!removed) {
    if (const auto code = study::read_code(hash_or_path)) {
      if (const auto by_hash = list.remove(code->hash); by_hash) removed = by_hash;
    }
  }
  if (!removed) return removed.error();
  for (const study::TrustEntry& entry : *removed) print_entry("removed ", entry);
  return {};
}

int exit_code(const Result<void>& done) { return done.ok() ? static_cast<int>(kDone) : print_error(done.error()); }

}  // namespace

void add_trust_verbs(CLI::App& app, int& code) {
  auto& trust = *app.add_subcommand("trust", "Your private list of code that study files may run: add, ls, rm.");
  trust.require_subcommand(1);
  trust.footer(examples({"lanista trust add train.py", "lanista trust ls"}));
  auto [add, added] =
      add_verb<std::string>(trust, code, "add", "Allow a file, or a folder with all its files, by hash.",
                            {"lanista trust add train.py", "lanista trust add plugins/"},
                            [](const std::string& path) { return exit_code(add_code(path)); });
  add.add_option("path", added, "File or folder; a changed byte makes it forbidden again.")->required();
  auto& ls = *trust.add_subcommand("ls", "List the allowed code: hash, and path when it was added.");
  ls.footer(examples({"lanista trust ls"}));
  ls.callback([&code] { code = exit_code(list_code()); });
  auto [rm, removed] =
      add_verb<std::string>(trust, code, "rm", "Remove code from the list.", {"lanista trust rm train.py"},
                            [](const std::string& entry) { return exit_code(remove_code(entry)); });
  rm.add_option("code", removed, "Hash as `ls` prints it, or path.")->required();
}

}  // namespace lanista::cli
