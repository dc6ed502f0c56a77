// Study files: a resolved file reads as itself.
#include "lanista/io/studyfile/study_file.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  const auto config = studyfile::read_study(fuzz::as_text(data, size), "study.yaml");
  if (!config) return 0;
  const std::string written = studyfile::write_study(*config);
  const auto again = studyfile::read_study(written, "resolved.yaml");
  LANISTA_CHECK(again.ok(), "the resolved file is refused: " + again.error().text());
  LANISTA_CHECK(studyfile::write_study(*again) == written, "the resolved file is not stable");
  return 0;
}
