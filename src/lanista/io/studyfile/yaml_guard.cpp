#include "lanista/io/studyfile/yaml_guard.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

#include "lanista/base/utf8.h"

namespace lanista::studyfile {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxDepth = 32;
constexpr int kMaxAliases = 1000;
// The parser keeps about 500 bytes for every list, map or value that may begin, before it reports the first one.
constexpr std::string_view kMarks = "[]{},:-?\n";
constexpr std::ptrdiff_t kMaxMarks = 20'000;

// Thrown through yaml-cpp's parser, which has no other way to stop; caught below.
struct GuardError {
  YAML::Mark mark;
  std::string message;
};

class Guard final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { value(mark, nullptr); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    if (++aliases_ > kMaxAliases) throw GuardError{mark, "more than 1000 aliases"};
    value(mark, nullptr);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& text) override {
    check_tag(mark, tag);
    value(mark, &text);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, false);
  }
  void OnSequenceEnd() override { open_levels_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(mark, tag, true);
  }
  void OnMapEnd() override { open_levels_.pop_back(); }

 private:
  struct OpenLevel {
    bool mapping;
    bool key_next;
    std::set<std::string> keys;
  };

  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw GuardError{mark, "tag '" + tag + "' is not allowed; no tags are"};
    }
  }
  void open(const YAML::Mark& mark, const std::string& tag, bool mapping) {
    check_tag(mark, tag);
    value(mark, nullptr);
    if (open_levels_.size() >= kMaxDepth) throw GuardError{mark, "nested deeper than 32 levels"};
    open_levels_.push_back({mapping, true, {}});
  }
  void value(const YAML::Mark& mark, const std::string* text) {
    if (open_levels_.empty() || !open_levels_.back().mapping) return;
    OpenLevel& level = open_levels_.back();
    if (level.key_next) {
      if (text == nullptr) throw GuardError{mark, "a key must be plain text"};
      if (!level.keys.insert(*text).second) throw GuardError{mark, "key '" + *text + "' is here twice"};
    }
    level.key_next = !level.key_next;
  }

  std::vector<OpenLevel> open_levels_;
  int aliases_ = 0;
};

Error at(const std::string& file, const YAML::Mark& mark, const std::string& message) {
  return {Code::kInvalidArgument, message,
          file + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1)};
}

bool begins_with_tab(std::string_view text, int line) {
  for (; line > 0 && !text.empty(); --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  const auto indent = text.substr(0, text.find_first_not_of(" \t"));
  return indent.find('\t') != std::string_view::npos;
}

/// The word around the '?' at a position, as in {source: csv:x?target=y}; empty if there is none.
std::string word_with_question(std::string_view text, const YAML::Mark& mark) {
  constexpr std::size_t kLongest = 200;
  for (int line = mark.line; line > 0 && !text.empty(); --line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  text = text.substr(0, text.find('\n'));
  const auto at = static_cast<std::size_t>(std::max(0, mark.column));
  if (at >= text.size() || text[at] != '?') return "";
  const auto before = text.substr(0, at).find_last_of(" \t,{[");
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find_first_of(" \t,}]", at), text.size());
  return std::string(text.substr(begin, std::min(end - begin, kLongest)));
}

/// yaml-cpp's message for the most common mistakes, in plain words.
std::string in_plain_words(const std::string& message, bool tab, const std::string& question) {
  if (!question.empty()) return "a text with a '?' needs quotes here; quote the source: \"" + question + "\"";
  if (tab) return "the line begins with a tab, and YAML takes spaces alone";
  if (message == "end of map flow not found") return "a '{' before this is never closed";
  if (message == "end of sequence flow not found") return "a '[' before this is never closed";
  if (message == "end of map not found" || message == "end of sequence not found") {
    return "the indentation does not fit the lines above";
  }
  if (message == "illegal map value")
    return "a ':' where no value can stand; indent as above, or put the text in quotes";
  return message;
}

Result<void> check_size(std::uint64_t bytes, const std::string& file) {
  if (bytes <= kMaxBytes) return {};
  return Error{Code::kInvalidArgument,
               "has " + std::to_string(bytes) + " bytes; allowed: at most " + std::to_string(kMaxBytes), file};
}

}  // namespace

Result<std::string> read_yaml(FileSystem& fs, const std::string& path) {
  if (const auto bytes = fs.size(path)) LANISTA_TRY(check_size(*bytes, path));
  return fs.read(path);
}

Result<void> guard_yaml(std::string_view text, const std::string& file) {
  LANISTA_TRY(check_size(text.size(), file));
  const auto is_mark = [](char c) { return kMarks.find(c) != std::string_view::npos; };
  if (const auto marks = std::ranges::count_if(text, is_mark); marks > kMaxMarks) {
    return Error{Code::kInvalidArgument,
                 "has " + std::to_string(marks) + " line ends and signs such as , : [ {; allowed: at most " +
                     std::to_string(kMaxMarks),
                 file};
  }
  if (const auto bad = find_invalid_utf8(text); bad != std::string_view::npos) {
    const std::string_view before = text.substr(0, bad);
    const auto line = std::ranges::count(before, '\n') + 1;
    return Error{Code::kInvalidArgument, "is not UTF-8 from here on; save it as UTF-8",
                 file + ":" + std::to_string(line) + ":" + std::to_string(bad - (before.rfind('\n') + 1) + 1)};
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Guard guard;
    parser.HandleNextDocument(guard);
    Guard second;
    if (parser.HandleNextDocument(second)) return Error{Code::kInvalidArgument, "holds more than one document", file};
  } catch (const GuardError& refused) {
    return at(file, refused.mark, refused.message);
  } catch (const YAML::Exception& e) {
    return at(
        file, e.mark,
        "is not YAML: " + in_plain_words(e.msg, begins_with_tab(text, e.mark.line), word_with_question(text, e.mark)));
  }
  return {};
}

}  // namespace lanista::studyfile
