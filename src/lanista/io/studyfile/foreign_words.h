#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

// Words of other tools, such as learning_rate or n_trials, for settings of a study file. Error messages about unknown
// keys and options lead from them to our key.
namespace lanista::studyfile {

/// A setting of ours that other tools have under other names.
struct ForeignSetting {
  std::string_view what;    ///< Sentence that ends with the key: "the learning rate is".
  std::string_view key;     ///< Full key, such as "train.lr"; empty: it is an option of the command line only.
  std::string_view value;   ///< Value of an example, as a study file has it.
  std::string_view option;  ///< Option of `lanista run` that sets it, with a value; empty: --set sets it.
  std::string_view words;   ///< Words for it, with spaces between them, in lower case and without '_' and '-'.
};

/// All of them. This is the only table of words of other tools.
const std::vector<ForeignSetting>& foreign_settings();

/// The settings that `word` means in other tools; mostly one or none. Case, '_', '-' and spaces do not matter.
std::vector<ForeignSetting> settings_meant_by(std::string_view word);

/// The example as a line of a study file: "train: {lr: 0.01}". Without a key it is the command.
std::string example_line(const ForeignSetting& setting);
/// The example as an option of a command, quoted for a shell: "--set train.lr=0.01". `has_option` is true if the
/// command has the setting's own option.
std::string example_option(const ForeignSetting& setting, bool has_option);

/// Where an unknown word was found.
enum class WordPlace { kFile, kSetOption };

/// What to write instead of the unknown key or option `word`, as the end of a sentence, such as "the learning rate is
/// train.lr, for instance train: {lr: 0.01}". Empty: it is no word of other tools, or a key of `known` that differs
/// from it in one letter is meant. `known` are the keys that are allowed at its place. The first choice is a setting in
/// the section of `path`, the word's full key; the second, in
/// space.params, a key of `known` with the name of ours.
std::string foreign_word_hint(std::string_view word, std::string_view path, const std::vector<std::string>& known,
                              WordPlace place);

/// What to write instead of the unknown key `word` at `path`. `other_sections` has the full names of keys that are
/// called so. The first of these that exists: its only full key, if that is deeper in the same section; the hint of
/// foreign_word_hint(); its only full key in another section. Then come the nearest known key, the nearest word of
/// other tools, and all known keys.
std::string unknown_key_hint(const std::string& word, std::string_view path, const std::vector<std::string>& known,
                             const std::set<std::string>& other_sections, WordPlace place);

}  // namespace lanista::studyfile
