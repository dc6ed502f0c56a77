// The log of a study: reader and writer find the same records, and the reader finds an appended record. Any records
// either fold into the state of a study or are refused. Most inputs are lines "type json", which are framed here,
// because a fuzzer cannot guess a checksum.
#include "lanista/io/store/log.h"

#include <algorithm>
#include <span>

#include "fuzz.h"
#include "lanista/base/clock.h"
#include "lanista/base/frame.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/engine.h"

namespace {

using namespace lanista;

constexpr std::string_view kRaw = "raw\n";

// The frames of lines "type json".
std::string framed(std::string_view lines) {
  std::string bytes;
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const auto space = line.find(' ');
    if (space == std::string_view::npos) continue;
    std::uint16_t type = 0;
    for (const char c : line.substr(0, space)) type = static_cast<std::uint16_t>(type * 10 + (c - '0'));
    encode_frame(type, line.substr(space + 1), bytes);
  }
  return bytes;
}

// True if types and bodies are equal.
bool same(const std::vector<store::Record>& a, const std::vector<store::Record>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return x.type == y.type && x.body == y.body; });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  MemoryFileSystem fs;
  const std::string bytes = input.starts_with(kRaw) ? std::string(input.substr(kRaw.size())) : framed(input);
  LANISTA_CHECK(fs.make_folder("s/log").ok(), "no folder");
  LANISTA_CHECK(fs.write_file("s/log/000001.log", std::as_bytes(std::span(bytes))).ok(), "no file");

  const auto records = store::read_log(fs, "s");
  if (records) {
    static_cast<void>(store::canonical_export(*records));
    static_cast<void>(engine::fold(*records));
  }
  const VirtualClock clock;
  auto log = store::LogWriter::open(fs, clock, "s");
  LANISTA_CHECK(log.ok() == records.ok(), "reader and writer disagree about the log");
  if (!log) return 0;
  LANISTA_CHECK(same(log->existing(), *records), "reader and writer find different records");
  if (records->empty()) return 0;
  LANISTA_CHECK(log->append(store::RecordType::kMeasurement, {{"x", 1}}).ok(), "a valid log refuses a record");
  const auto longer = store::read_log(fs, "s");
  LANISTA_CHECK(longer.ok() && longer->size() == records->size() + 1, "the appended record is not found");
  return 0;
}
