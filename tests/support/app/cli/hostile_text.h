#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/io/store/log.h"

// Stored text of another author, and checks that no verb prints control codes or a newline from it.
namespace lanista::cli {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using store::Record;
using store::RecordType;

inline constexpr std::string_view kMark = "MARK: all good";

/// A text with a newline and a forged message, C0, ESC, DEL, C1, two marks that change the direction of writing, a line
/// separator and a zero-width space.
inline std::string hostile() {
  return "\n" + std::string(kMark) + "\r\x1b[2J\x07\t\x7f\xc2\x9b" +
         "31m\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8\xe2\x80\x8b";
}

/// The first sequence in `text` that must not reach a terminal; empty without one.
inline std::string control_character_in(const std::string& text, bool may_have_mark) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool ends_csv_row = byte == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
    if ((byte < 0x20 && byte != '\n' && !ends_csv_row) || byte == 0x7f) return "byte " + std::to_string(byte);
    if (byte < 0x80) continue;
    const std::string_view rest = std::string_view(text).substr(at);
    if (rest.size() > 1 && byte == 0xc2 && static_cast<unsigned char>(rest[1]) < 0xa0) return "C1";
    for (const char* mark : {"\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x80\xa8", "\xe2\x80\x8b"}) {
      if (rest.starts_with(mark)) return "a mark of Unicode";
    }
  }
  const bool has_mark = ("\n" + text).find("\n" + std::string(kMark)) != std::string::npos;
  return has_mark && !may_have_mark ? "a line of its own" : "";
}

/// One run of the program in this process.
struct Output {
  int code = 0;
  std::string text;  ///< standard output and standard error
};
inline Output run_program(const std::vector<std::string>& words) {
  std::vector<std::string> copy = words;
  copy.insert(copy.begin(), "lanista");
  std::vector<char*> argv;
  for (std::string& word : copy) argv.push_back(word.data());
  std::ostringstream both;
  auto* out = std::cout.rdbuf(both.rdbuf());
  auto* err = std::cerr.rdbuf(both.rdbuf());
  const int code = run(static_cast<int>(argv.size()), argv.data());
  std::cout.rdbuf(out);
  std::cerr.rdbuf(err);
  return {code, both.str()};
}

/// A string in the records of a log: the type of its record and its path without the numbers of elements.
struct TextSite {
  RecordType type;
  std::string path;
  bool is_key = false;  ///< the last key of the path, not a value
  auto operator<=>(const TextSite&) const = default;
  std::string text() const {
    return "record type " + std::to_string(static_cast<int>(type)) + ", " + path + (is_key ? " (key)" : "");
  }
};

/// Replaces each string by the result of `visit(site, string)`.
inline Json map_strings(const Json& value, const TextSite& site,
                        const std::function<std::string(const TextSite&, std::string)>& visit) {
  if (value.is_string()) return visit(site, value.get<std::string>());
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& each : value) out.push_back(map_strings(each, {site.type, site.path + "[]"}, visit));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [key, each] : value.items()) {
    const std::string path = site.path + "." + key;
    out[visit({site.type, path, true}, key)] = map_strings(each, {site.type, path}, visit);
  }
  return out;
}

/// A table with hostile names of classes, of a category and of a column.
inline void write_hostile_table(const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  out << "a,\"b" << hostile() << "\",colour,kind\r\n";
  for (int i = 0; i < 90; ++i) {
    out << (i * 37 % 90) / 30.0 + i % 3 << "," << i % 3 - (i * 53 % 90) / 45.0 << ",\"" << (i % 2 == 0 ? "red" : "blue")
        << hostile() << "\",\""
        << (i % 3 == 0   ? "cat"
            : i % 3 == 1 ? "dog"
                         : "=cow")
        << hostile() << "\"\r\n";
  }
}

/// Runs the verbs. Returns how many succeeded.
inline int expect_safe(const std::vector<std::vector<std::string>>& verbs, const std::string& what,
                       bool may_have_mark) {
  int succeeded = 0;
  for (const auto& verb : verbs) {
    const Output done = run_program(verb);
    succeeded += done.code == kDone;
    std::string line;
    for (const std::string& word : verb) line += " " + word;
    EXPECT_EQ(control_character_in(done.text, may_have_mark), "") << line << "\n" << what << "\n" << done.text;
  }
  return succeeded;
}

}  // namespace lanista::cli
