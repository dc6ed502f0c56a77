#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include "formats/formats.h"

namespace lanista::stored_formats {
namespace {

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_word(const std::string& text) {
  constexpr std::string_view kSigns = "_.:/+-";
  return !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_') &&
         std::ranges::all_of(text, [&](char c) { return is_alphanumeric(c) || kSigns.find(c) != std::string::npos; });
}

/// A path with a slash, or a name with the ending of a file.
bool is_file_name(const std::string& text) {
  constexpr std::string_view kSigns = "_.-/";
  constexpr std::array<std::string_view, 15> kEndings{".cpp",  ".csv",         ".cubin",  ".graph", ".html",
                                                      ".json", ".jsonl",       ".log",    ".marks", ".npy",
                                                      ".onnx", ".safetensors", ".sqlite", ".txt",   ".yaml"};
  const bool is_path = text.size() > 1 && text.find('/') != std::string::npos;
  const bool has_ending =
      std::ranges::any_of(kEndings, [&](std::string_view ending) { return text.ends_with(ending); });
  return (is_path || has_ending) && text.find("//") == std::string::npos &&
         std::ranges::all_of(text, [&](char c) { return is_alphanumeric(c) || kSigns.find(c) != std::string::npos; });
}

bool is_constant(const Token& token) {
  return token.kind == Token::Kind::kName && token.text.size() > 1 && token.text[0] == 'k' &&
         std::isupper(static_cast<unsigned char>(token.text[1])) != 0;
}

bool has_any(const std::string& name, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

/// The constants with the layouts of package.json.
bool is_package_layout(const std::string& name) {
  static const std::set<std::string> kNames{"kOfOneModel", "kOfStandardTargets", "kOfSeveral", "kOfFolds",
                                            "kOfPositions"};
  return kNames.contains(name);
}

class Scan {
 public:
  Scan(const inventory::Source& source, Formats& out)
      : path_(source.path), tokens_(tokens_of(source.text)), out_(out) {}

  void all() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      stream(i);
      hashed_text(i);
      choice(i);
      name_of_value(i);
      event(i);
      enumerators(i);
      constant(i);
      literal(i);
    }
  }

 private:
  const Token& at(std::size_t i) const {
    static const Token kEnd;
    return i < tokens_.size() ? tokens_[i] : kEnd;
  }
  bool is_member_call(std::size_t i, std::string_view name) const {
    return (at(i).is(".") || at(i).is("->")) && at(i + 1).is(name) && at(i + 2).is("(");
  }
  void add(const std::string& kind, const std::string& value) {
    Uses& uses = out_[{kind, value}];
    ++uses.count;
    uses.files.insert(path_);
  }

  /// The index behind the bracket that closes the one at `open`.
  std::size_t behind(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (token.is("(") || token.is("{") || token.is("[")) ++depth;
      if ((token.is(")") || token.is("}") || token.is("]")) && --depth == 0) return i + 1;
    }
    return tokens_.size();
  }
  bool has_comma(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < behind(open); ++i) {
      const Token& token = tokens_[i];
      if (token.is("(") || token.is("{") || token.is("[")) ++depth;
      if (token.is(")") || token.is("}") || token.is("]")) --depth;
      if (depth == 1 && token.is(",")) return true;
    }
    return false;
  }

  /// The first argument of the call with its bracket at `open`: a text; a text and `*` where more is added; or `*`.
  std::string label(std::size_t open) const {
    if (!at(open + 1).is_string()) return "*";
    const bool whole = at(open + 2).is(")") || at(open + 2).is(",");
    return at(open + 1).text + (whole ? "" : "*");
  }

  /// The value of a number, or of a constant of this file that is one; "*" of all else.
  std::string number(std::size_t i) const {
    if (at(i).kind == Token::Kind::kNumber) return at(i).text;
    for (std::size_t j = 0; is_constant(at(i)) && j + 2 < tokens_.size(); ++j) {
      const bool defines = tokens_[j].is(at(i).text) && tokens_[j + 1].is("=");
      if (defines && tokens_[j + 2].kind == Token::Kind::kNumber) return tokens_[j + 2].text;
    }
    return "*";
  }

  /// What a chain of splits begins with: the seed of `Rng(seed)`, or nothing where it is another stream.
  std::string root(std::size_t dot) const {
    if (dot < 4 || !at(dot - 1).is(")")) return "";
    const bool is_plain = at(dot - 3).is("(") && at(dot - 4).is("Rng");
    if (is_plain) return number(dot - 2);
    for (std::size_t i = dot - 1; i > 0; --i) {
      if (at(i).is("(") && behind(i) == dot) return at(i - 1).is("Rng") ? "*" : "";
    }
    return "";
  }

  /// Rng(seed).split("label").split(i): "*/label/*".
  void stream(std::size_t i) {
    if (i < split_until_ || !is_member_call(i, "split") || has_comma(i + 2)) return;
    std::string value = root(i);
    std::size_t call = i;
    for (; is_member_call(call, "split"); call = behind(call + 2)) value += "/" + label(call + 2);
    split_until_ = call;
    add("stream", value);
  }

  void hashed_text(std::size_t i) {
    if (is_member_call(i, "text") && at(i + 3).is_string() && !has_comma(i + 2)) add("hashed text", label(i + 2));
    const bool hashes = at(i).is("hash_text") || at(i).is("sha256_hex");
    if (hashes && at(i + 1).is("(") && at(i + 2).is_string()) add("hashed text", label(i + 1));
    if (at(i).is_string() && at(i + 1).is("+") && at(i + 2).is("sha256_hex")) add("hashed text", at(i).text + "*");
  }

  /// Labels of decisions: they are stored in traces, and they select random streams.
  void choice(std::size_t i) {
    for (const std::string_view call : {"one_of", "index", "sample_value"}) {
      if (is_member_call(i, call) && at(i + 3).is_string() && has_comma(i + 2)) add("decision", label(i + 2));
    }
    if (at(i).is("choice") && at(i + 1).is("(") && at(i + 2).is_string()) add("decision", label(i + 1));
  }

  /// Texts of enumerators: {Kind::kStopped, "stopped"}, `case Kind::kStopped: return "stopped"`, and
  /// `is_kind == Kind::kStopped ? "stopped" : "ended"`.
  void name_of_value(std::size_t i) {
    if (!is_constant(at(i))) return;
    const auto add_word = [&](std::size_t j) {
      if (at(j).is_string() && is_word(at(j).text)) add("name of a value", at(j).text);
    };
    if (at(i + 1).is(",") && i > 0 && !at(i - 1).is(",") && !at(i - 1).is("(")) add_word(i + 2);
    if (at(i + 1).is(":") && at(i + 2).is("return")) add_word(i + 3);
    if (at(i + 1).is("?")) {
      add_word(i + 2);
      if (at(i + 3).is(":")) add_word(i + 4);
    }
  }

  /// Names of events in records and messages, and of warnings in a study's log.
  void event(std::size_t i) {
    const bool is_key = at(i).is_string() && at(i).text == "event";
    const bool is_value = at(i + 1).is(",") || (at(i + 1).is("]") && at(i + 2).is("="));
    const std::size_t value = at(i + 1).is(",") ? i + 2 : i + 3;
    if (is_key && is_value && at(value).is_string()) add("event", at(value).text);
    const bool reports = at(i).is("warn") || at(i).is("info") || at(i).is("note");
    if (reports && at(i + 1).is("(") && at(i + 2).is_string() && is_word(at(i + 2).text)) add("event", at(i + 2).text);
  }

  /// Enumerators with a number: enum Kind { kHello = 1 }: "Kind::kHello = 1". Of enums which are stored by their order
  /// all enumerators.
  void enumerators(std::size_t i) {
    if (!at(i).is("enum")) return;
    std::size_t open = i + 1;
    if (at(open).is("class") || at(open).is("struct")) ++open;
    const std::string name = at(open).kind == Token::Kind::kName ? at(open).text : "";
    while (open < tokens_.size() && !at(open).is("{") && !at(open).is(";") && !at(open).is("(")) ++open;
    if (!at(open).is("{")) return;
    const bool by_order = name == "ElementType";
    int order = 0;
    for (std::size_t j = open; j < behind(open); ++j) {
      if (by_order && is_constant(at(j))) add("enumerator", name + "::" + at(j).text + " = " + std::to_string(order++));
      const bool has_number = is_constant(at(j)) && at(j + 1).is("=") && at(j + 2).kind == Token::Kind::kNumber;
      if (has_number && !by_order) add("enumerator", name + "::" + at(j).text + " = " + at(j + 2).text);
    }
  }

  void constant(std::size_t i) {
    if (is_constant(at(i)) && (at(i + 1).is("=") || at(i + 1).is("{"))) {
      const Token& value = at(i + 2);
      const bool is_number = value.kind == Token::Kind::kNumber;
      const bool is_version = has_any(at(i).text, {"Version", "Schema", "Protocol"}) || is_package_layout(at(i).text);
      const bool is_short = value.is_string() && value.text.size() < 10;
      const std::string resolved = is_short ? '"' + value.text + '"' : number(i + 2);
      if (is_version && at(i + 1).is("=") && resolved != "*") add("version", at(i).text + " = " + resolved);
      const bool is_hex = is_number && value.text.starts_with("0x");
      if (has_any(at(i).text, {"Magic", "Signature", "Domain", "ApplicationId", "Seed"}) &&
          (is_hex || value.is_string())) {
        add("magic", value.text);
      }
    }
    if (!at(i).is_string()) return;
    for (const std::string_view key : {"v", "version", "schema", "pipeline_model"}) {
      if (at(i).text != key) continue;
      const std::size_t value = at(i + 1).is(",") ? i + 2 : i + 3;
      const bool is_value = at(i + 1).is(",") || (at(i + 1).is("]") && at(i + 2).is("="));
      if (is_value && at(value).kind == Token::Kind::kNumber) {
        add("version", "\"" + std::string(key) + "\" = " + at(value).text);
      }
    }
  }

  void literal(std::size_t i) {
    if (!at(i).is_string()) return;
    const std::string& text = at(i).text;
    if (text.starts_with("own-") || text.starts_with("aten/")) return add("numeric class", text);
    if (text.starts_with("{\"")) add("json text", text);
    if (is_word(text)) add("word", text);
    if (is_file_name(text)) add("file name", text);
    if (text.find("CREATE TABLE") == std::string::npos) return;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(';', begin), text.size());
      const std::size_t first = text.find_first_not_of(' ', begin);
      if (first < end) add("sql", text.substr(first, end - first));
      begin = end + 1;
    }
  }

  const std::string& path_;
  const std::vector<Token> tokens_;
  Formats& out_;
  std::size_t split_until_ = 0;
};

}  // namespace

void add_formats(const inventory::Source& source, Formats& out) { Scan(source, out).all(); }

}  // namespace lanista::stored_formats
