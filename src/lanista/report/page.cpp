#include "lanista/report/page.h"

#include "lanista/report/page_assets.h"
#include "lanista/report/page_data.h"

namespace lanista::report {
namespace {

void append_all(std::string& out, std::span<const std::string_view> parts) {
  for (const std::string_view part : parts) out += part;
}

std::string head() {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '";
  out += page_script_hash();
  out += "'; style-src '";
  out += page_style_hash();
  out += "'; img-src data:; base-uri 'none'; form-action 'none'\">\n";
  out +=
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Lanista report</title>\n"
      "<link rel=\"icon\" href=\"data:,\">\n<style>";
  append_all(out, page_style());
  out += "</style>\n</head>\n";
  return out;
}

}  // namespace

std::string report_page(const study::StudyView& view, const PageOptions& options) {
  std::string out = head();
  out +=
      "<body>\n<main id=\"page\"></main>\n<noscript><p>This report draws itself with JavaScript. Without it, "
      "<code>lanista show</code> prints the same study in a terminal.</p></noscript>\n";
  std::string script = "<script>";
  append_all(script, page_script());
  script += "</script>\n</body>\n</html>\n";
  const std::string open = "<script id=\"data\" type=\"application/json\">", close = "</script>\n";
  const std::size_t taken = out.size() + open.size() + close.size() + script.size();
  const std::size_t room = options.max_bytes > taken ? options.max_bytes - taken : 0;
  return out + open + page_data(view, options, room) + close + script;
}

}  // namespace lanista::report
