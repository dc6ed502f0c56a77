// Study files: what is read can be written, and reads as the same.
#include "lanista/engine/study_file.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  const auto config = engine::read_study(fuzz::as_text(data, size), "study.yaml");
  if (!config) return 0;
  const std::string written = engine::write_study(*config);
  const auto again = engine::read_study(written, "resolved.yaml");
  LANISTA_CHECK(again.ok(), "the resolved file is refused: " + again.error().text());
  LANISTA_CHECK(engine::write_study(*again) == written, "the resolved file is not stable");
  return 0;
}
