#include "lanista/io/studyfile/foreign_words.h"

#include <algorithm>

#include "lanista/base/edit_distance.h"
#include "lanista/io/studyfile/mistakes.h"

namespace lanista::studyfile {
namespace {

/// Lower case, without what separates words: "learning_rate", "learning-rate" and "learningRate" are equal.
std::string compact(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c == '_' || c == '-' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::vector<std::string> words_of(const ForeignSetting& setting) {
  std::vector<std::string> words(1);
  for (const char c : setting.words) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string_view leaf_of(std::string_view key) { return key.substr(key.rfind('.') + 1); }
/// The keys above a key, with the dot: "train." of "train.lr".
std::string_view section_of(std::string_view key) { return key.substr(0, key.size() - leaf_of(key).size()); }

bool has(const std::vector<std::string>& known, std::string_view word) {
  return std::ranges::find(known, word) != known.end();
}

std::string sentence(const ForeignSetting& setting, WordPlace place) {
  std::string name(setting.key.empty() ? "an option of the command line" : setting.key);
  if (place == WordPlace::kFile && section_of(name).empty() && !setting.key.empty()) name += " at the top level";
  return std::string(setting.what) + " " + name + ", for instance " +
         (place == WordPlace::kFile ? example_line(setting) : example_option(setting, false));
}

/// How to write a key of another section.
std::string moved(const std::string& full, const std::string& key, WordPlace place) {
  const ForeignSetting setting{"", full, "…", "", ""};
  if (place == WordPlace::kSetOption) return "it is " + full + "; write " + example_option(setting, false);
  if (full == key) return "it is at the top level";
  return "it is " + full + "; write " + example_line(setting);
}

/// The word of other tools that `word` is a slip of: one letter, in six or more.
std::vector<ForeignSetting> nearly_meant_by(std::string_view word) {
  constexpr std::size_t kShortest = 6, kMostSlips = 1;
  const std::string seen = compact(word);
  if (seen.size() < kShortest) return {};
  std::vector<std::string> words;
  for (const ForeignSetting& each : foreign_settings()) {
    for (std::string& known : words_of(each)) {
      if (known.size() >= kShortest) words.push_back(std::move(known));
    }
  }
  const std::string near = nearest_name(seen, words);
  return near.empty() || edit_distance(seen, near) > kMostSlips ? std::vector<ForeignSetting>{}
                                                                : settings_meant_by(near);
}

std::string sentences(const std::vector<ForeignSetting>& settings, WordPlace place) {
  std::string text;
  for (const ForeignSetting& each : settings) text += (text.empty() ? "" : "; ") + sentence(each, place);
  return text;
}

}  // namespace

std::vector<ForeignSetting> settings_meant_by(std::string_view word) {
  std::vector<ForeignSetting> out;
  const std::string seen = compact(word);
  for (const ForeignSetting& each : foreign_settings()) {
    if (has(words_of(each), seen)) out.push_back(each);
  }
  return out;
}

std::string example_line(const ForeignSetting& setting) {
  if (setting.key.empty()) return "lanista run " + std::string(setting.option);
  std::string rest(setting.key), line, end;
  for (std::size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
    line += rest.substr(0, dot) + ": {";
    end += "}";
    rest.erase(0, dot + 1);
  }
  return line + rest + ": " + std::string(setting.value) + end;
}

std::string example_option(const ForeignSetting& setting, bool has_option) {
  if (setting.key.empty()) return std::string(has_option ? "" : "lanista run ") + std::string(setting.option);
  if (has_option) return std::string(setting.option);
  std::string value(setting.value);
  if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
  const std::string assignment = std::string(setting.key) + "=" + value;
  const bool is_plain = assignment.find_first_of(" {}[]?&*\"") == std::string::npos;
  return "--set " + (is_plain ? assignment : "'" + assignment + "'");
}

std::string foreign_word_hint(std::string_view word, std::string_view path, const std::vector<std::string>& known,
                              WordPlace place) {
  const auto settings = settings_meant_by(word);
  if (settings.empty()) return "";
  const auto is_slip_of = [&](std::string_view key) { return edit_distance(word, key) <= 1; };
  for (const ForeignSetting& each : settings) {
    if (section_of(each.key).empty() || !path.starts_with(section_of(each.key))) continue;
    return is_slip_of(leaf_of(each.key)) ? "" : sentence(each, place);
  }
  constexpr std::size_t kShortestSlip = 5;  // "mode" is no slip of "model"
  if (word.size() >= kShortestSlip && std::ranges::any_of(known, is_slip_of)) return "";
  // Hyper-parameters have the names of settings: lr in space.params.
  for (const ForeignSetting& each : settings) {
    if (path.starts_with("space.params.") && has(known, leaf_of(each.key))) {
      return "did you mean '" + std::string(leaf_of(each.key)) + "'?";
    }
  }
  return sentences(settings, place);
}

std::string unknown_key_hint(const std::string& word, std::string_view path, const std::vector<std::string>& known,
                             const std::set<std::string>& other_sections, WordPlace place) {
  const std::string_view section = section_of(path);
  if (other_sections.size() == 1 && !section.empty() && other_sections.begin()->starts_with(section)) {
    return moved(*other_sections.begin(), word, place);  // deeper in the same section
  }
  if (std::string hint = foreign_word_hint(word, path, known, place); !hint.empty()) return hint;
  if (other_sections.size() == 1) return moved(*other_sections.begin(), word, place);
  if (const std::string near = nearest_name(word, known); !near.empty()) return "did you mean '" + near + "'?";
  if (const auto nearly = nearly_meant_by(word); !nearly.empty()) return sentences(nearly, place);
  return "known: " + join(known);
}

}  // namespace lanista::studyfile
