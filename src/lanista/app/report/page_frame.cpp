#include "lanista/app/report/page_frame.h"

namespace lanista::report {
namespace {

void append_all(std::string& out, std::span<const std::string_view> parts) {
  for (const std::string_view part : parts) out += part;
}

}  // namespace

PageFrame page_frame(std::string_view title, std::span<const std::string_view> script, std::string_view script_hash) {
  PageFrame out;
  std::string& before = out.before;
  before =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '";
  before += script_hash;
  before += "'; style-src '";
  before += page_style_hash();
  before += "'; img-src data:; base-uri 'none'; form-action 'none'\">\n";
  before +=
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>";
  before += title;
  before += "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>";
  append_all(before, page_style());
  before +=
      "</style>\n</head>\n<body>\n<main id=\"page\"></main>\n<noscript><p>This report draws itself with JavaScript. "
      "Without it, <code>lanista show</code> prints the same study in a terminal.</p></noscript>\n"
      "<script id=\"data\" type=\"application/json\">";
  out.behind = "</script>\n<script>";
  append_all(out.behind, script);
  out.behind += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace lanista::report
