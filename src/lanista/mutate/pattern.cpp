#include "lanista/mutate/pattern.h"

#include <algorithm>

#include "lanista/base/text_distance.h"
#include "lanista/mutate/family.h"

namespace lanista::mutate {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

Error invalid(std::string_view pattern, const std::string& message) {
  return Error{Code::kInvalidArgument, "in the pattern \"" + std::string(pattern) + "\": " + message, ""};
}

}  // namespace

// The last * is the only one that can still take more letters, so one place to come back to is enough.
bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t taken = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      taken = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

Result<Pattern> Pattern::parse(std::string_view text, const std::vector<std::string>& known) {
  Pattern pattern;
  if (trimmed(text).empty()) return pattern;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('&', begin), text.size());
    const std::string term(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
    if (term.empty()) return invalid(text, "a term is missing beside &");
    if (term.starts_with("label(")) {
      if (!term.ends_with(")")) return invalid(text, "'" + term + "' lacks its closing bracket");
      pattern.terms_.push_back({true, std::string(trimmed(std::string_view(term).substr(6, term.size() - 7)))});
      continue;
    }
    if (std::find(known.begin(), known.end(), term) == known.end()) {
      const std::string near = nearest_name(term, known);
      std::string list;
      for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
      return invalid(text, "unknown term '" + term + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?") +
                               " (allowed: label(GLOB), " + list + ")");
    }
    pattern.terms_.push_back({false, term});
  }
  return pattern;
}

bool Pattern::matches(const View& view, const graph::Node& node) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    if (term.is_label) return glob_matches(term.text, node.label);
    return node.op == term.text || word_of(view, node) == term.text;
  });
}

}  // namespace lanista::mutate
