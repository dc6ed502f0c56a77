#include "lanista/app/cli/manual.h"

#include <sstream>
#include <utility>

#include "lanista/app/cli/command_text.h"
#include "lanista/app/cli/version.h"

namespace lanista::cli {
namespace {

/// Text with roff's special characters escaped: no line begins a request, dashes and backslashes are literal.
std::string roff(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string option_block(const OptionText& option) {
  std::string names;
  for (const auto& name : option.names) names += (names.empty() ? "" : ", ") + name;
  return ".TP\n.B " + roff(names) + "\n" + roff(option.help.empty() ? "." : option.help) + "\n";
}

std::string synopsis(const VerbText& verb) {
  std::string out = ".B lanista";
  for (const auto& word : verb.path) out += " " + roff(word);
  out += "\n";
  for (const auto& option : verb.options) {
    if (option.positional) out += ".I " + roff(option.names.front()) + "\n";
  }
  return out;
}

/// The examples of a footer, as literal lines.
std::string example_block(const std::string& footer) {
  std::istringstream lines(footer);
  std::string out = ".PP\n.nf\n", line;
  while (std::getline(lines, line)) {
    if (line != "examples:") out += roff(line) + "\n";
  }
  return out + ".fi\n";
}

/// A term and its meaning, in roff.
using Tagged = std::pair<const char*, const char*>;

constexpr Tagged kExitCodes[] = {{"0", "Done."},
                                 {"1", "The study failed: no trial finished, or a check failed."},
                                 {"2", "Wrong usage or configuration."},
                                 {"3", "Refused input: a bad or unsafe file."},
                                 {"75", "Paused on a scheduler\\(aqs request; can be resumed."},
                                 {"130", "Paused by Ctrl\\-C; can be resumed."}};
constexpr Tagged kVariables[] = {{"COLUMNS", "Width of the terminal."},
                                 {"LANISTA_ISA", "Forces an instruction set: portable, avx2 or avx512."}};

std::string tagged(const std::string& term, const std::string& meaning) {
  return ".TP\n.B " + term + "\n" + meaning + "\n";
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  const auto verbs = command_text(app);
  std::string out = ".TH LANISTA 1 \"\" \"lanista " + std::string(kVersion) + "\" \"User Commands\"\n" +
                    ".SH NAME\nlanista \\- exploratory training of many models at once\n.SH SYNOPSIS\n" +
                    ".B lanista\n.I verb\n[\n.I options\n]\n.SH DESCRIPTION\n" + roff(verbs.front().help) +
                    "\n.SH VERBS\n";
  for (std::size_t i = 1; i < verbs.size(); ++i) {
    const VerbText& verb = verbs[i];
    out += ".SS \"";
    for (const auto& word : verb.path) out += roff(word) + (&word == &verb.path.back() ? "\"\n" : " ");
    out += roff(verb.help) + "\n.PP\n" + synopsis(verb);
    for (const auto& option : verb.options) out += option_block(option);
    if (!verb.footer.empty()) out += example_block(verb.footer);
  }
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kExitCodes) out += tagged(code, meaning);
  out += ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] : kVariables) out += tagged(name, meaning);
  return out + ".SH EXAMPLES\n" + example_block(verbs.front().footer);
}

}  // namespace lanista::cli
