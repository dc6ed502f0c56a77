#include "lanista/io/data/source.h"

#include <algorithm>
#include <charconv>

#include "lanista/base/edit_distance.h"
#include "lanista/base/parse_number.h"
#include "lanista/io/data/files.h"

namespace lanista::data {
namespace {

/// The byte of a code %XX at `at`; 0 if there is none, or for %00.
char code_at(const std::string& text, std::size_t at) {
  unsigned char byte = 0;
  const char* const begin = text.data() + at;
  if (at + 3 > text.size() || *begin != '%') return 0;
  const auto [end, failed] = std::from_chars(begin + 1, begin + 3, byte, 16);
  return failed == std::errc() && end == begin + 3 ? static_cast<char>(byte) : 0;
}

/// The hint for a source that may have '&' or '?' in a name.
std::string escape_hint(const std::string& text) {
  const bool two_questions = std::ranges::count(text, '?') > 1;
  return std::string("; inside a name, & is written %26") + (two_questions ? " and ? is written %3F" : "");
}

}  // namespace

Error Source::error(const std::string& message) const {
  return {Code::kInvalidArgument, "source \"" + text + "\": " + message, ""};
}

Result<void> Source::check_option_names(const std::vector<std::string>& names) const {
  for (const auto& [name, unused] : options) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (name == "holdout") return error("option \"holdout\" was removed in 0.2.0, with train.select: reducible");
    std::string expected_spec;
    for (const std::string& n : names) expected_spec += (expected_spec.empty() ? "" : ", ") + n;
    const std::string nearest = nearest_name(name, names);
    return error("unknown option \"" + name + "\"" + (nearest.empty() ? "" : ", did you mean \"" + nearest + "\"?") +
                 (expected_spec.empty() ? "; there are none" : "; there are " + expected_spec) +
                 (nearest.empty() && !expected_spec.empty() ? escape_hint(text) : ""));
  }
  return {};
}

Result<std::int64_t> Source::integer(const std::string& name, std::int64_t default_value, std::int64_t min,
                                     std::int64_t max) const {
  const auto it = options.find(name);
  if (it == options.end()) return default_value;
  const auto number = parse_number<std::int64_t>(it->second);
  if (number && *number >= min && *number <= max) return *number;
  return error(name + " is \"" + it->second + "\", allowed is a whole number from " + std::to_string(min) + " to " +
               std::to_string(max));
}

Result<std::string> Source::choice(const std::string& name, const std::vector<std::string>& allowed) const {
  const auto it = options.find(name);
  if (it == options.end()) return allowed.front();
  if (std::find(allowed.begin(), allowed.end(), it->second) != allowed.end()) return it->second;
  std::string expected_spec;
  for (const std::string& a : allowed) expected_spec += (expected_spec.empty() ? "" : ", ") + a;
  return error(name + " is \"" + it->second + "\", allowed are " + expected_spec);
}

std::optional<std::string> Source::value(const std::string& name) const {
  const auto it = options.find(name);
  if (it == options.end()) return std::nullopt;
  return it->second;
}

std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char decoded = code_at(text, i);
    out += decoded != 0 ? decoded : text[i];
    i += decoded != 0 ? 2 : 0;
  }
  return out;
}

std::string escaped(const std::string& text, std::string_view characters) {
  if (text.find_first_of(characters) == std::string::npos) return text;
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_special = characters.find(text[i]) != std::string_view::npos || code_at(text, i) != 0;
    out += is_special ? std::string{'%', kDigits[byte / 16], kDigits[byte % 16]} : std::string(1, text[i]);
  }
  return out;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> pieces;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = text.find(',', begin);
    pieces.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return pieces;
    begin = comma + 1;
  }
}

std::string source_of_path(const std::string& path) {
  const std::string ending = extension_of(path);
  if (ending == "csv" || ending == "tsv") return "csv:" + path + "?target=COLUMN";
  if (ending == "npz") return "npz:" + path;
  if (ending == "npy") return "npy:" + path + ",LABELS.npy";
  if (ending == "png" || ending == "jpg" || ending == "jpeg") return "folder:FOLDER";
  return path == "digits" ? "builtin:digits" : "";
}

Result<Source> parse_source(const std::string& text) {
  Source source;
  source.text = text;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) {
    const std::string meant = source_of_path(text);
    return source.error("expected kind:argument, such as " +
                        (meant.empty() ? "builtin:digits or csv:iris.csv?target=species" : meant));
  }
  source.kind = text.substr(0, colon);
  const std::size_t question = text.find('?', colon);
  source.argument = text.substr(colon + 1, question == std::string::npos ? question : question - colon - 1);
  if (question == std::string::npos) return source;
  for (std::size_t begin = question + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find('&', begin), text.size());
    const std::string option = text.substr(begin, end - begin);
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0) {
      return source.error("\"" + option + "\" is not of the form option=value" +
                          (begin > question + 1 ? escape_hint(text) : ""));
    }
    if (!source.options.emplace(option.substr(0, equals), option.substr(equals + 1)).second) {
      return source.error("option \"" + option.substr(0, equals) + "\" stands twice");
    }
    begin = end + 1;
  }
  return source;
}

}  // namespace lanista::data
