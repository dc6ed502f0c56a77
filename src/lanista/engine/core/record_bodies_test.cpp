#include "lanista/engine/core/record_bodies.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/study_state.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using store::RecordType;
using testing::Bench;
using testing::ForwardingExecutor;
using testing::kFolder;
using testing::small_study;

using Limits = std::numeric_limits<double>;
const std::vector<double> kNumbers{Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(),  0.0,           -0.0,
                                   Limits::max(),       -Limits::max(),     Limits::denorm_min(), Limits::min(), 0.1};
// The long record is last, because each later record reads it again.
const std::vector<std::string> kTexts{"",          "plain", "bad \xFF byte", "\xC3", "a\0b",
                                      "\n\x1b[2J", "\"\\",  "\xE2\x80\xAE",  "nan",  std::string(100'000, 'x')};

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// A log that holds a header, to which anything can be appended and read back as a later process does.
struct Records : ::testing::Test {
  Bench bench;
  study::StudyConfig config = small_study();
  std::optional<store::LogWriter> log;

  void SetUp() override {
    auto opened = store::LogWriter::open(bench.disk, bench.clock, kFolder);
    ASSERT_TRUE(opened);
    log = *std::move(opened);
    log->set_body_check(check_body);
    const auto models = make_model_space(config, bench.data, "", bench.disk);
    ASSERT_TRUE(models) << models.error().text();
    const auto header =
        log->append(RecordType::kHeader, header_body(config, studyfile::write_study(config), bench.data, **models));
    ASSERT_TRUE(header) << header.error().text();
  }

  json written_and_read(RecordType type, const json& body) {
    const auto appended = log->append(type, body);
    EXPECT_TRUE(appended) << body.dump(-1, ' ', false, json::error_handler_t::replace) << appended.error().text();
    const auto records = store::read_log(bench.disk, kFolder);
    EXPECT_TRUE(records);
    EXPECT_TRUE(check_body(type, records->back().body)) << records->back().body;
    return records->back().body;
  }
};

// Older versions stored the path of lanista on other hosts. Such a study resumes, and its path has no effect.
TEST_F(Records, OldHeaderIgnoresProgram) {
  const auto models = make_model_space(config, bench.data, "", bench.disk);
  ASSERT_TRUE(models.ok());
  json body = header_body(config, studyfile::write_study(config), bench.data, **models);
  body["text"] = body["text"].get<std::string>() + "cluster:\n  ssh: [node1]\n  program: \"sh\"\n";
  const auto header = read_header(body);
  ASSERT_TRUE(header.ok()) << header.error().text();
  EXPECT_EQ(header->config.ignored, std::vector<std::string>{"cluster.program"});
  EXPECT_EQ(header->config.cluster.ssh, std::vector<std::string>{"node1"});
}

TEST_F(Records, HeaderIdentifiesStudyByContent) {
  study::StudyConfig other = config;
  other.run.workers = 7;
  other.run.lanes = 3;
  other.run.width = 2;
  other.run.pipeline = 3;
  other.run.memory_gib = 1.5;
  const auto models = make_model_space(config, bench.data, "", bench.disk);
  const json one = header_body(config, studyfile::write_study(config), bench.data, **models);
  const json two = header_body(other, studyfile::write_study(other), bench.data, **models);
  EXPECT_EQ(one.at("config"), two.at("config"));
  EXPECT_NE(one.at("text"), two.at("text"));
  EXPECT_EQ(store::canonical_export({{RecordType::kHeader, one}}),
            store::canonical_export({{RecordType::kHeader, two}}));
}

// Builds of before wrote nothing of targets, and trained on them as they are.
TEST_F(Records, OldHeadersMeanRawTargets) {
  const auto models = make_model_space(config, bench.data, "", bench.disk);
  const auto read = [&](const std::string& targets, std::int64_t classes) {
    study::StudyConfig changed = config;
    changed.data.targets = targets;
    json body = header_body(changed, studyfile::write_study(changed), bench.data, **models);
    body["data"]["classes"] = classes;
    return read_header(body)->config.data.targets;
  };
  EXPECT_EQ(read("auto", 0), "raw");
  EXPECT_EQ(read("raw", 0), "raw");
  EXPECT_EQ(read("standardize", 0), "standardize");
  EXPECT_EQ(read("auto", 3), "auto");
}

TEST_F(Records, RoundTripAnyNumber) {
  for (const double value : kNumbers) {
    study::TrialView trial;
    trial.id = TrialId{1};
    trial.logical_start = value;
    const auto proposed = read_proposed(written_and_read(RecordType::kProposed, proposed_body(trial, value, {})));
    EXPECT_TRUE(same(proposed->logical_start, value) && same(proposed->logical_epoch, value));

    const auto measured = study::measurement_from_json(
        written_and_read(RecordType::kMeasurement, study::measurement_json({TrialId{1}, 1, 2, {{"val_loss", value}}})));
    EXPECT_TRUE(same(measured->metrics.at("val_loss"), value));

    const auto outcome = read_outcome(written_and_read(RecordType::kOutcome, outcome_body(TrialId{1}, {}, value)));
    EXPECT_TRUE(same(outcome->logical_time, value));

    EXPECT_TRUE(
        same(*read_attempt(written_and_read(RecordType::kAttempt, attempt_begin_body(value, 7, "h")))->began, value));
    EXPECT_TRUE(same(
        *read_attempt(written_and_read(RecordType::kAttempt, attempt_worked_body("worked", value)))->seconds, value));

    const ControlRecord extend{"extend", value, {}, {}, value, ""};
    const auto control = read_control(written_and_read(RecordType::kControl, control_body(extend)));
    EXPECT_TRUE(same(control->time, value) && same(*control->minutes, value));

    const auto end = read_study_end(
        written_and_read(RecordType::kStudyEnd, study_end_body("budget", TrialId{1}, {{"test_loss", value}})));
    EXPECT_TRUE(same(end->test.at("test_loss"), value));
    EXPECT_EQ(end->nulls, 0);

    const auto span = read_span(written_and_read(RecordType::kSpan, span_body({TrialId{1}, 1, 0, value, value})));
    EXPECT_TRUE(same(span->began, value) && same(span->ended, value));
  }
}

TEST_F(Records, SpansHoldCosts) {
  study::Span span{TrialId{1}, 2, 0, 1.5, 2.5, 3, 2, {40, 0.75, 0.125, 0.5, 0, 0.25, 4096}};
  const auto read = read_span(written_and_read(RecordType::kSpan, span_body(span)));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->costs, span.costs);
  EXPECT_FALSE(span_body({TrialId{1}, 2, 0, 1.5, 2.5}).contains("costs"));  // as builds before
  for (const char* broken : {"[40,0.75]", "[40,-1,0,0,0,0,1]", "[0.5,1,0,0,0,0,1]", "7", "[40,\"a\",0,0,0,0,1]"}) {
    nlohmann::json body = span_body(span);
    body["costs"] = nlohmann::json::parse(broken);
    EXPECT_EQ(read_span(body).error().code, Code::kDataLoss) << broken;
  }
}

// A step of a pipeline as it was; logs without one are what they were.
TEST_F(Records, SpansHoldTimedSteps) {
  study::Span span{TrialId{1}, 2, 0, 1.5, 2.5};
  EXPECT_FALSE(span_body(span).contains("timed"));
  EXPECT_EQ(read_span(span_body(span))->timed, nullptr);
  pipeline::TimedStep step{.batch = 4, .stages = {{"%1 linear", 1, 2, 4, {}}}, .ranks = {{}}};
  step.ranks[0].push_back({pipeline::ActionKind::kForward, 0, 0, 0, 0.25, 0, 0.5});
  step.ranks[0].push_back({pipeline::ActionKind::kForward, 0, 1, 0.25, 0.5, 0.5, 0.75});
  span.timed = std::make_shared<const pipeline::TimedStep>(step);
  const auto read = read_span(written_and_read(RecordType::kSpan, span_body(span)));
  ASSERT_TRUE(read.ok()) << read.error().text();
  ASSERT_NE(read->timed, nullptr);
  EXPECT_TRUE(*read->timed == step);
  for (const char* broken : {"7", "null", "{}", R"({"batch": 0, "stages": [], "places": []})"}) {
    json body = span_body(span);
    body["timed"] = json::parse(broken);
    EXPECT_EQ(read_span(body).error().code, Code::kDataLoss) << broken;
  }
}

// Logs of studies with one device are what they were.
TEST_F(Records, ProposedRecordNamesDevice) {
  study::TrialView trial;
  trial.id = TrialId{1};
  EXPECT_FALSE(proposed_body(trial, 1, {}).contains("device"));
  trial.device = "block:cuda:0";
  EXPECT_EQ(read_proposed(written_and_read(RecordType::kProposed, proposed_body(trial, 1, {})))->device,
            "block:cuda:0");
  study::Span span{TrialId{1}, 2, 0, 1.5, 2.5};
  EXPECT_FALSE(span_body(span).contains("device"));
  span.device = "torch:cpu";
  EXPECT_EQ(read_span(written_and_read(RecordType::kSpan, span_body(span)))->device, "torch:cpu");
  for (const auto& body : {proposed_body(trial, 1, {}), span_body(span)}) {
    json foreign = body;
    foreign["device"] = "a\x1b[2J";
    const bool is_span = body.contains("epoch");
    EXPECT_EQ(is_span ? read_span(foreign)->device : read_proposed(foreign)->device, "a?[2J");
    foreign["device"] = 7;
    EXPECT_EQ(is_span ? read_span(foreign).error().code : read_proposed(foreign).error().code, Code::kDataLoss);
  }
}

TEST_F(Records, NumericsRoundTripDeviceSpeeds) {
  DeviceTable table{{{"cpu", "own", {1e6 / 3, 5e9}}, {"a", "other", {7, 0.1}}, {"b", "own", {1, 2}}}};
  json numerics{{"class", "own"}, {"isa", "avx2"}};
  EXPECT_TRUE(decode_device_table(numerics)->rows.empty());
  encode_device_table(table, numerics);
  EXPECT_EQ(numerics["class"], "own + other");
  const json body = written_and_read(RecordType::kNumerics, numerics);
  EXPECT_EQ(body, numerics) << "a resumed study would find that it has changed";
  const DeviceTable read = *decode_device_table(body);
  EXPECT_TRUE(read.has_several_classes() && read.has_same_devices(table));
  ASSERT_EQ(read.rows.size(), 3U);
  EXPECT_EQ(read.rows[0].speed.alone, 1e6 / 3);
  EXPECT_EQ(read.rows[1].speed.together, 0.1);
  table.rows.pop_back();
  EXPECT_FALSE(read.has_same_devices(table));
  table.rows.pop_back();
  EXPECT_FALSE(table.has_several_classes());
  for (const char* broken : {"0", "-1", "\"inf\"", "\"nan\"", "[]"}) {
    json wrong = numerics;
    wrong["devices"][1]["alone"] = json::parse(broken);
    EXPECT_EQ(decode_device_table(wrong).error().code, Code::kDataLoss) << broken;
  }
}

TEST_F(Records, WorkerRecordsHoldHostsAndLosses) {
  const auto written_and_read_worker = [&](const WorkerReport& report) {
    const auto read = read_worker(written_and_read(RecordType::kWorker, worker_body(report, 5)));
    EXPECT_TRUE(read) << read.error().text();
    return *read;
  };
  const WorkerReport came{3, 412, true, "", {}, 0, "node2"};
  EXPECT_EQ(written_and_read_worker(came).host, "node2");
  const WorkerReport went{3, 412, false, "left", {TrialId{4}, TrialId{2}}, 2.5, "node2", {{TrialId{4}, 2.5}}};
  const WorkerReport read = written_and_read_worker(went);
  EXPECT_EQ(read.host, "node2");
  EXPECT_EQ(read.trials, went.trials);
  EXPECT_EQ(read.costs, went.costs) << "the worker had not received trial 2";
}

// A log of a study on this host has the same bytes as one of earlier builds, and their records are still read.
TEST_F(Records, LocalWorkerRecordsAreUnchanged) {
  const WorkerReport came{0, 412, true, "", {}, 0};
  const WorkerReport went{0, 412, false, "left", {TrialId{4}}, 2.5, "", {{TrialId{4}, 2.5}}};
  EXPECT_EQ(worker_body(came, 5).dump(), R"({"event":"came","process":412,"time":5.0,"worker":0})");
  const std::string before = R"({"event":"went","process":412,"reason":"left","seconds":2.5,"time":5.0,)"
                             R"("trials":[{"trial":4}],"worker":0})";
  EXPECT_EQ(worker_body(went, 5).dump(), before);
  const auto read = read_worker(json::parse(before));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->host, "");
  EXPECT_TRUE(read->costs.empty());
  EXPECT_EQ(read->trials, went.trials);
}

TEST_F(Records, WorkerRecordsSanitizeHostNames) {
  json body = worker_body({0, 412, true, "", {}, 0, "n"}, 5);
  body["host"] = "a\n\x1b[2J" + std::string(5000, 'b');
  EXPECT_EQ(read_worker(body)->host, "a??[2J" + std::string(58, 'b'));
  for (const json& broken : {json(7), json(nullptr), json::array()}) {
    body["host"] = broken;
    EXPECT_EQ(read_worker(body).error().code, Code::kDataLoss) << broken;
  }
  body = worker_body({0, 412, false, "left", {TrialId{4}}, 1, "n", {{TrialId{4}, 1.0}}}, 5);
  body["trials"][0]["seconds"] = "long";
  EXPECT_EQ(read_worker(body).error().code, Code::kDataLoss);
}

TEST_F(Records, ChildrenStoreOnlyOwnSteps) {
  study::TrialView child;
  child.id = TrialId{1};
  std::vector<study::Proposal> line;
  std::vector<ProposedRecord> read;
  std::size_t longest = 0;
  for (std::uint32_t generation = 0; generation < 100; ++generation) {
    child.id = TrialId{generation + 1};
    if (generation > 0) child.proposal.parent = TrialId{generation};
    child.proposal.steps.push_back({"widen", {{"site", 9, space::Value(std::int64_t{generation})}}});
    for (std::int64_t edit = 0; edit < 3; ++edit) {
      child.proposal.edits.emplace_back(graph::SetAttr{graph::NodeId{5}, "out", 100 * generation + edit});
    }
    if (generation == 50) child.proposal.edits[7] = graph::RemoveNode{graph::NodeId{3}};  // less in common than usual
    const json body =
        written_and_read(RecordType::kProposed, proposed_body(child, 1, {}, generation == 0 ? nullptr : &line.back()));
    if (generation != 50) longest = std::max(longest, body.dump().size());
    line.push_back(child.proposal);
    read.push_back(*read_proposed(body));
  }

  EXPECT_LT(longest, 1000U);
  for (std::size_t i = 1; i < line.size(); ++i) {
    EXPECT_EQ(read[i].proposal.edits.size(), i == 50 ? line[i].edits.size() - 7 : 3U);
    ASSERT_TRUE(add_shared_steps(read[i], read[i - 1].proposal).ok());
    EXPECT_EQ(study::proposal_json(read[i].proposal), study::proposal_json(line[i])) << i;
  }
  ProposedRecord foreign = *read_proposed(proposed_body(child, 1, {}, &line[98]));
  EXPECT_EQ(add_shared_steps(foreign, line[3]).error().code, Code::kDataLoss);
}

TEST_F(Records, RoundTripAnyText) {
  for (const std::string& text : kTexts) {
    study::TrialView trial;
    trial.id = TrialId{1};
    trial.proposal.sample = {{"optimizer", space::Value(text)}};
    trial.proposal.steps.push_back({text, {{text, 3, space::Value(text)}}});
    written_and_read(RecordType::kProposed, proposed_body(trial, 1, {}));
    written_and_read(RecordType::kMeasurement, study::measurement_json({TrialId{1}, 1, 2, {{text, 0.5}}}));
    written_and_read(RecordType::kVerdict, verdict_body(TrialId{1}, 1, study::Verdict::kPause));
    written_and_read(RecordType::kGroup,
                     group_body({7,
                                 {search::NewTrial{trial.proposal}, search::ResumeTrial{TrialId{1}, 5},
                                  search::StopTrial{TrialId{2}}},
                                 true,
                                 0.5}));
    written_and_read(RecordType::kPaused, paused_body({{TrialId{1}, 3}, 0.1, text, hash_text(text)}));
    written_and_read(RecordType::kResumed, resumed_body({{TrialId{1}, 3, 9}, 0.1}));
    const study::Outcome failed{study::OutcomeKind::kFailed, text, {}, text, {}};
    written_and_read(RecordType::kOutcome, outcome_body(TrialId{1}, failed, 1));
    written_and_read(RecordType::kCheckpoint, checkpoint_body({TrialId{1}, 1, 2, text}));
    written_and_read(RecordType::kAttempt, attempt_begin_body(1, 7, text));
    written_and_read(RecordType::kAttempt, attempt_worked_body(text, 1));
    written_and_read(RecordType::kControl, control_body({text, 1, TrialId{1}, 5, 2, text}));
    written_and_read(RecordType::kStudyEnd, study_end_body(text, {}, {{text, 1}}));
    written_and_read(RecordType::kNumerics, {{"class", text}});
  }
}

TEST_F(Records, RoundTripGroupsPausesAndResumptions) {
  study::Proposal proposal;
  proposal.budget = 3;
  proposal.horizon = 27;
  const auto group = read_group(group_body(
      {7, {search::NewTrial{proposal}, search::ResumeTrial{TrialId{1}, 5}, search::StopTrial{TrialId{2}}}, true, 0.5}));
  ASSERT_TRUE(group.ok()) << group.error().text();
  EXPECT_EQ(group->id, 7);
  EXPECT_TRUE(group->barrier);
  EXPECT_EQ(group->priority, 0.5);
  ASSERT_EQ(group->members.size(), 3U);
  EXPECT_EQ(std::get<search::NewTrial>(group->members[0]).proposal.horizon, 27);
  EXPECT_EQ(std::get<search::ResumeTrial>(group->members[1]).budget, 5);
  EXPECT_EQ(std::get<search::StopTrial>(group->members[2]).trial, TrialId{2});
  const auto paused = read_paused(paused_body({{TrialId{4}, 3}, 0.1, "abc", hash_text("x")}));
  ASSERT_TRUE(paused.ok());
  EXPECT_EQ(paused->event.epoch, 3);
  EXPECT_EQ(paused->address, "abc");
  EXPECT_EQ(paused->weights_hash, hash_text("x"));
  const auto resumed = read_resumed(resumed_body({{TrialId{4}, 3, 9}, 0.25}));
  ASSERT_TRUE(resumed.ok());
  EXPECT_EQ(resumed->event.budget, 9);
  EXPECT_EQ(resumed->logical_time, 0.25);
  EXPECT_FALSE(resumed->event.fork);
  EXPECT_FALSE(resumed_body(*resumed).contains("fork")) << "logs of trials without forks are unchanged";
  const study::Fork fork{
      TrialId{2}, 3, {{"lr", space::Value(0.1)}, {"schedule", space::Value(std::string("cosine"))}}, "abc"};
  const auto forked = read_resumed(resumed_body({{TrialId{4}, 3, 9, fork}, 0.25}));
  ASSERT_TRUE(forked.ok());
  EXPECT_EQ(forked->event.fork, fork);
  const auto forks = read_group(group_body({7, {search::ResumeTrial{TrialId{1}, 5, fork}}, false, 0}));
  ASSERT_TRUE(forks.ok());
  EXPECT_EQ(std::get<search::ResumeTrial>(forks->members[0]).fork, fork);
  nlohmann::json early = resumed_body({{TrialId{4}, 3, 9, fork}, 0.25});
  early["fork"]["epoch"] = 0;
  EXPECT_FALSE(read_resumed(early).ok());
  const auto verdict = read_verdict(verdict_body(TrialId{4}, 3, study::Verdict::kPause));
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->verdict, study::Verdict::kPause);
}

TEST_F(Records, OutcomesAreShortened) {
  std::string page;
  while (page.size() < (std::size_t{65} << 20)) page += "\xC3\xA4\xC3\xB6\xC3\xBC";
  const study::Outcome failed{study::OutcomeKind::kFailed, page, {}, "", {}};
  const auto read = read_outcome(written_and_read(RecordType::kOutcome, outcome_body(TrialId{1}, failed, 1)));
  EXPECT_TRUE(page.starts_with(read->outcome.reason.substr(0, 1990)));
  EXPECT_LT(read->outcome.reason.size(), 2010U);
  written_and_read(RecordType::kStudyEnd, study_end_body(page, {}, {}));
}

TEST_F(Records, UnreadableBodiesAreNotWritten) {
  const std::string before = *bench.disk.read(kFolder + "/log/000001.log");
  study::TrialView trial;  // number 0
  EXPECT_EQ(log->append(RecordType::kProposed, proposed_body(trial, 1, {})).error().code, Code::kInternal);
  EXPECT_EQ(log->append(RecordType::kStudyEnd, {{"reason", "budget"}}).error().code, Code::kInternal);
  EXPECT_EQ(log->append(RecordType::kCostRows, {{"rows", 3}}).error().code, Code::kInternal);
  EXPECT_EQ(*bench.disk.read(kFolder + "/log/000001.log"), before);
}

/// A view with the winner's test metrics that a test needs.
class ExtremeMetricExecutor final : public ForwardingExecutor {
 public:
  ExtremeMetricExecutor(Executor& inner, double value) : ForwardingExecutor(inner), value_(value) {}
  Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember>, data::Part) override {
    return std::map<std::string, double>{{"test_accuracy", value_}, {"test_loss", 0.5}};
  }

 private:
  double value_;
};

TEST(Study, ReopensWithAnyTestMetric) {
  for (const double value : kNumbers) {
    Bench bench;
    FakeExecutor fake = bench.executor(bench.disk, {});
    ExtremeMetricExecutor outlier(fake, value);
    const auto config = small_study(4);
    auto engine = Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics,
                                 bench.services(bench.disk, outlier));
    ASSERT_TRUE(engine);
    ASSERT_TRUE((*engine)->run());
    engine = Error{};

    EXPECT_TRUE(same(bench.view().test.at("test_accuracy"), value));
    const auto resumed = bench.resume({}, {2, {}});
    ASSERT_TRUE(resumed) << resumed.error().text();
    EXPECT_EQ(bench.view().trials.size(), 6U);
  }
}

/// Reports work on an impossible trial.
class ConfusedPair final : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  std::optional<Report> next(double seconds) override {
    if (++reports_ == 5) return SpanReport{TrialId{0}, 1, 0, 0, 1};
    return ForwardingExecutor::next(seconds);
  }

 private:
  int reports_ = 0;
};

TEST(Study, RefusesUnreadableRecordAndResumes) {
  Bench bench;
  const auto config = small_study(4);
  for (const bool is_new : {true, false}) {
    FakeExecutor fake = bench.executor(bench.disk, {});
    ConfusedPair confused(fake);
    const Services services = bench.services(bench.disk, confused);
    auto engine = is_new ? Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics, services)
                         : Engine::resume(kFolder, {}, bench.numerics, services);
    ASSERT_TRUE(engine);
    const auto interrupted = (*engine)->run();
    ASSERT_FALSE(interrupted);
    EXPECT_EQ(interrupted.error().code, Code::kInternal) << interrupted.error().text();
  }
  ASSERT_TRUE(bench.resume({}));
  EXPECT_EQ(bench.view().end_reason, "budget");
}

TEST(Study, ReopensLogWithNullMetricsAndWarns) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(4), {}));
  const auto records = store::read_log(bench.disk, kFolder);
  std::string old;
  for (const store::Record& record : *records) {
    json body = record.body;
    if (record.type == RecordType::kStudyEnd) {
      encode_frame(9, R"({"minutes":null,"request":"extend","time":1.5})", old);  // resume --minutes nan
      body["test"]["test_accuracy"] = json();
    }
    encode_frame(static_cast<std::uint16_t>(record.type), body.dump(), old);
  }
  bench.disk.put(kFolder + "/log/000001.log", old);

  EXPECT_TRUE(std::isnan(bench.view().test.at("test_accuracy")));
  ASSERT_TRUE(bench.resume({}, {2, {}}));

  EXPECT_EQ(bench.view().trials.size(), 6U);
  const auto events = bench.sink.events();
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const LogEvent& event) {
    return event.event == "nulls_read_as_nan" && event.level == Level::kWarning;
  }));
}

TEST(Study, RefusesExtensionsThatAreNotNumbers) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(4), {}));
  const auto before = bench.disk.files();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const Engine::Extension& extension :
       {Engine::Extension{most, {}}, Engine::Extension{0, {}}, Engine::Extension{-3, {}},
        Engine::Extension{4294967295, {}}, Engine::Extension{{}, Limits::quiet_NaN()},
        Engine::Extension{{}, Limits::infinity()}, Engine::Extension{{}, 0.0}, Engine::Extension{{}, -1.0}}) {
    const auto refused = bench.resume({}, extension);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument) << refused.error().text();
    EXPECT_NE(refused.error().message.find("allowed: "), std::string::npos) << refused.error().text();
  }
  EXPECT_EQ(bench.disk.files(), before);
}

TEST(StudyState, SaturatesHugeExtensions) {
  StudyState state;
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  state.view.trials.resize(3);
  state.view.steps = 7;
  state.extend({.trials = most, .steps = most});
  EXPECT_EQ(state.trials, most);
  EXPECT_EQ(state.steps, most);
}

}  // namespace
}  // namespace lanista::engine
