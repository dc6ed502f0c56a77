#include "lanista/exports.h"

#include "lanista/app/api/guarded.h"
#include "lanista/app/cli/inspect.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/report/optuna.h"
#include "lanista/app/report/table_export.h"
#include "lanista/app/report/trace.h"

namespace lanista {

Result<std::string> export_study(const std::string& folder, StudyTable format) {
  return api::guarded([&]() -> Result<std::string> {
    LANISTA_ASSIGN(const study::StudyView view, cli::load_study(folder));
    switch (format) {
      case StudyTable::kTrialsCsv:
        return report::trials_csv(view);
      case StudyTable::kMeasurementsCsv:
        return report::measurements_csv(view);
      case StudyTable::kTrialsJsonLines:
        return report::trials_jsonl(view);
      case StudyTable::kOptunaJournal:
        return report::optuna_journal(view, view.began);
      case StudyTable::kChromeTrace:
        return report::chrome_trace(view);
    }
    return Error{Code::kInvalidArgument, "unknown format " + std::to_string(static_cast<int>(format)), "StudyTable"};
  });
}

Result<std::string> report_page(const std::string& folder) {
  return api::guarded([&]() -> Result<std::string> {
    LANISTA_ASSIGN(const study::StudyView view, cli::load_study(folder));
    return cli::report_text(folder, view);
  });
}

}  // namespace lanista
