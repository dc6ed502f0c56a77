#include <gtest/gtest.h>

#include <map>

#include "lanista/io/store/log.h"

namespace lanista::store {
namespace {

using Json = nlohmann::json;

const Json kHeader = {{"schema", 1},
                      {"config", "name: digits\n"},
                      {"text", "name: digits\nrun: {workers: 2}\n"},
                      {"data", {{"hash", "ab"}}},
                      {"time", 5.5},
                      {"version", "0.1.0"}};

TEST(CanonicalExport, ContainsOnlyStudyContent) {
  const std::vector<Record> records = {
      {RecordType::kHeader, kHeader},
      {RecordType::kNumerics, {{"class", "avx2-1"}, {"isa", "avx512"}, {"threads", 2}}},
      {RecordType::kAttempt, {{"pid", 17}, {"host", "h"}}},
      {RecordType::kProposed, {{"trial", 1}, {"sample", {{"lr", 0.1}}}, {"time", 6.0}}},
      {RecordType::kPlan, {{"lanes", 1}}},
      {RecordType::kSpan, {{"begin", 1.0}}},
      {RecordType::kMeasurement, {{"trial", 1}, {"epoch", 1}, {"metrics", {{"val_loss", "nan"}}}, {"seconds", 0.5}}},
      {RecordType::kCheckpoint, {{"trial", 1}, {"address", "cd"}}},
      {RecordType::kVerdict, {{"trial", 1}, {"verdict", "stop"}}},
      {RecordType::kOutcome, {{"trial", 1}, {"kind", "stopped"}, {"wall_seconds", 3.0}, {"workers", 2}}},
      {RecordType::kControl, {{"request", "pause"}}},
      {RecordType::kStudyEnd, {{"reason", "trials"}, {"winner", 1}, {"time", 9.0}}},
  };

  EXPECT_EQ(canonical_export(records),
            R"({"config":"name: digits\n","data":{"hash":"ab"},"record":"header","schema":1}
{"class":"avx2-1","record":"numerics"}
{"record":"proposed","sample":{"lr":0.1},"trial":1}
{"epoch":1,"metrics":{"val_loss":"nan"},"record":"measurement","trial":1}
{"record":"verdict","trial":1,"verdict":"stop"}
{"kind":"stopped","record":"outcome","trial":1}
{"reason":"trials","record":"study_end","winner":1}
)");
}

// Every type of record has every field of a run and one field of the study. Only the latter may remain.
TEST(CanonicalExport, OmitsRunDependentFields) {
  const Json of_the_run = {{"time", 1.5}, {"seconds", 2}, {"wall_seconds", 3},
                           {"host", "h"}, {"pid", 4},     {"workers", 5}};
  const Json of_the_study = {{"trial", 1}, {"fact", {{"time", 6}}}};
  const std::map<RecordType, const char*> kept = {{RecordType::kProposed, "proposed"},
                                                  {RecordType::kMeasurement, "measurement"},
                                                  {RecordType::kVerdict, "verdict"},
                                                  {RecordType::kOutcome, "outcome"},
                                                  {RecordType::kStudyEnd, "study_end"}};
  for (int number = 3; number <= static_cast<int>(RecordType::kCostRows); ++number) {
    const auto type = static_cast<RecordType>(number);
    Json body = of_the_study;
    body.update(of_the_run);
    const auto it = kept.find(type);
    Json wanted = of_the_study;
    if (it != kept.end()) wanted["record"] = it->second;
    EXPECT_EQ(canonical_export({{type, body}}), it == kept.end() ? "" : wanted.dump() + "\n")
        << "record type " << number;
  }
  Json numerics = of_the_run;
  numerics.update({{"class", "a"}, {"isa", "b"}, {"trial", 1}});
  EXPECT_EQ(canonical_export({{RecordType::kNumerics, numerics}}), "{\"class\":\"a\",\"record\":\"numerics\"}\n");
}

TEST(CanonicalExport, IgnoresInterruptionsAndExtensions) {
  const Record header{RecordType::kHeader, kHeader}, numerics{RecordType::kNumerics, {{"class", "a"}}};
  const Record one{RecordType::kOutcome, {{"trial", 1}}}, two{RecordType::kOutcome, {{"trial", 2}}};
  const Record end{RecordType::kStudyEnd, {{"winner", 1}}};
  const std::string plain = canonical_export({header, numerics, one, two, end});

  EXPECT_EQ(canonical_export({header, numerics, one, end, numerics, two, end}), plain);
  EXPECT_NE(canonical_export({header, numerics, one, {RecordType::kNumerics, {{"class", "b"}}}, two, end}), plain);
  EXPECT_NE(canonical_export({header, numerics, two, one, end}), plain);
  EXPECT_NE(canonical_export({header, numerics, one, two}), plain);
}

}  // namespace
}  // namespace lanista::store
