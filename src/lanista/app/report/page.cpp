#include "lanista/app/report/page.h"

#include "lanista/app/report/page_data.h"
#include "lanista/app/report/page_frame.h"

namespace lanista::report {

std::string report_page(const study::StudyView& view, const PageOptions& options) {
  const PageFrame frame = page_frame("Lanista report", page_script(), page_script_hash());
  const std::size_t byte_limit = options.max_bytes > frame.size() ? options.max_bytes - frame.size() : 0;
  return frame.before + page_data(view, options, byte_limit) + frame.behind;
}

}  // namespace lanista::report
