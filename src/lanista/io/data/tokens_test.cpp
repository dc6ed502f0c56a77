#include "lanista/base/rng.h"
#include "lanista/io/data/augment.h"
#include "lanista/io/data/raw_input.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

class Tokens : public InMemoryDataTest {
 protected:
  static std::string little(const std::vector<std::uint32_t>& tokens, std::size_t size) {
    std::string out;
    for (const std::uint32_t token : tokens) out.append(reinterpret_cast<const char*>(&token), size);
    return out;
  }
  static std::vector<std::uint32_t> counting(std::uint32_t n, std::uint32_t vocab) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < n; ++i) out.push_back(i % vocab);
    return out;
  }
};

TEST_F(Tokens, CutsTextIntoDisjointWindows) {
  write("book.txt", "abcdefghijklmnopqrstuvwxyz");

  const auto set = get("tokens:book.txt?context=4", "none");

  ASSERT_TRUE(set.ok()) << set.error().text();
  const DataSpec& spec = set->spec();
  EXPECT_EQ(spec.name, "book");
  EXPECT_EQ(spec.rows, 5);
  EXPECT_EQ(spec.classes, 256);
  EXPECT_EQ(spec.features.dims, std::vector<std::int64_t>{4});
  EXPECT_EQ(labels_of(*set), (std::vector<std::int32_t>{'e', 'j', 'o', 't', 'y'}));
  const auto features = features_of(*set);
  EXPECT_EQ(std::vector<float>(features.begin(), features.begin() + 8),
            (std::vector<float>{'a', 'b', 'c', 'd', 'f', 'g', 'h', 'i'}));
}

TEST_F(Tokens, StayUnnormalised) {
  write("book.txt", "abcdefghijklmnopqrstuvwxyz");

  const auto set = get("tokens:book.txt?context=4", "auto");

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().vocab, 256);
  EXPECT_EQ(set->spec().normalization, Normalization{});
  EXPECT_EQ(features_of(*set)[5], static_cast<float>('g'));
  EXPECT_EQ(schema_text(set->spec()), "samples [4] tokens below 256, target 256 classes\n");
  const auto stored = parse_spec(nlohmann::json::parse(spec_json(set->spec()).dump()));
  ASSERT_TRUE(stored.ok()) << stored.error().text();
  EXPECT_EQ(stored->vocab, 256);

  const std::vector<study::PluginConfig> noise{{"noise", {}}};
  const auto augmenter = Augmenter::make(noise, set->spec());
  ASSERT_FALSE(augmenter.ok());
  EXPECT_EQ(augmenter.error().text(), "data.augment[0]: noise: changes real numbers, the samples here are tokens");
}

TEST_F(Tokens, AreRangeCheckedForEachSource) {
  write("book.txt", "abcdefghijklmnopqrstuvwxyz");
  const auto set = get("tokens:book.txt?context=4");
  ASSERT_TRUE(set.ok());
  for (const char* bad : {"256", "-1", "2.5"}) {
    write("new.csv", std::string("a,b,c,d\n1,2,3,4\n5,6,") + bad + ",8\n");

    const auto raw = read_raw(set->spec(), "csv:new.csv", disk_);

    ASSERT_FALSE(raw.ok()) << bad;
    EXPECT_EQ(raw.error().code, Code::kDataLoss);
    EXPECT_NE(raw.error().message.find("feature 2 of row 1 is " + std::string(bad)), std::string::npos)
        << raw.error().message;
    EXPECT_NE(raw.error().message.find("no token number from 0 to 255"), std::string::npos) << raw.error().message;
  }
}

TEST_F(Tokens, SplitsIntoBlocksWithoutOverlap) {
  write("t.bin", little(counting(60, 9), 2));
  write("t.json", R"({"vocab": 9, "dtype": "u16"})");

  const auto set = get("tokens:t.bin?context=2");

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().split_rows, (std::array<std::int64_t, 3>{10, 5, 5}));
  EXPECT_EQ(set->rows(Part::kTrain).back(), 9);
  EXPECT_EQ(set->rows(Part::kValidation), (std::vector<std::int64_t>{10, 11, 12, 13, 14}));
  EXPECT_EQ(set->rows(Part::kTest).front(), 15);
  expect_same_rows(*set, "t.bin");
  expect_same_rows(*set, set->spec().source);
}

TEST_F(Tokens, AreReadInEachWidthAndSidecarFormat) {
  write("a.bin", little(counting(30, 7), 2));
  write("a.json", R"({"vocab": 7, "dtype": "u16"})");
  write("b.bin", little(counting(30, 7), 4));
  write("b.bin.json", R"({"vocab": 7, "dtype": "u32"})");
  write("c.bin", little(counting(30, 7), 4));

  const auto a = get("tokens:a.bin?context=4"), b = get("tokens:b.bin?context=4"),
             c = get("tokens:c.bin?context=4&dtype=u32&vocab=7");

  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ(a->spec().hash, b->spec().hash);
  EXPECT_EQ(a->spec().hash, c->spec().hash);
  EXPECT_EQ(get("tokens:a.bin?context=4&rows=5")->spec().rows, 5);
}

TEST_F(Tokens, SingleWindowIsUnlabelledRow) {
  write("t.txt", "to be, or not to be, that is the question");
  write("new.txt", "that");
  const auto set = get("tokens:t.txt?context=4");
  ASSERT_TRUE(set.ok());

  const auto raw = read_raw(set->spec(), "new.txt", disk_);

  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->rows(), 1);
  EXPECT_TRUE(raw->labels.empty());
  expect_same_rows(*set, "t.txt");
}

// Compares with the definition, for texts of any length: a window of `context` tokens, and after each of them the next
// one.
TEST_F(Tokens, NextTokenLabelsCoverEachTokenOnce) {
  Rng rng = Rng(3).split("texts");
  int num_accepted = 0;
  for (int text = 0; text < 60; ++text) {
    const auto length = static_cast<std::uint32_t>(rng.between(2, 60));
    const std::int64_t context = rng.between(1, 9);
    std::vector<std::uint32_t> tokens;
    for (std::uint32_t i = 0; i < length; ++i) tokens.push_back(static_cast<std::uint32_t>(rng.below(11)));
    write("t.bin", little(tokens, 2));
    SCOPED_TRACE(std::to_string(length) + " tokens, " + std::to_string(context));
    const std::string source = "tokens:t.bin?dtype=u16&vocab=11&task=next_token&context=" + std::to_string(context);
    const std::int64_t rows = (std::int64_t{length} - 1) / context;

    const auto set = get(source, "auto", {0.9, 0.1, 0});

    if (rows < 5) {  // too few for a validation part
      EXPECT_EQ(set.ok(), false);
      continue;
    }
    ++num_accepted;
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->spec().rows, rows);
    EXPECT_EQ(set->spec().positions, context);
    EXPECT_EQ(set->spec().outputs(), 11 * context);
    EXPECT_EQ(set->spec().prediction().dims, (std::vector<std::int64_t>{context, 11}));
    const auto features = features_of(*set);
    const auto labels = labels_of(*set);
    ASSERT_EQ(std::ssize(features), rows * context);
    ASSERT_EQ(std::ssize(labels), rows * context);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      ASSERT_EQ(features[i], static_cast<float>(tokens[i]));
      ASSERT_EQ(labels[i], static_cast<std::int32_t>(tokens[i + 1]));
    }
    expect_same_rows(*set, "t.bin");
  }
  EXPECT_GT(num_accepted, 20);
}

TEST_F(Tokens, NextTokenSpecRoundTrips) {
  write("book.txt", "abcdefghijklmnopqrstuvwxyz");
  write("new.txt", "that");
  const auto last = get("tokens:book.txt?context=4"), next = get("tokens:book.txt?context=4&task=next_token"),
             seen = get("tokens:book.txt?context=4&task=last_token");
  ASSERT_TRUE(last.ok() && next.ok() && seen.ok());

  EXPECT_EQ(seen->spec().hash, last->spec().hash);
  EXPECT_NE(next->spec().hash, last->spec().hash);
  EXPECT_EQ(schema_text(next->spec()), "samples [4] tokens below 256, target 256 classes at each of 4 positions\n");
  const auto stored = parse_spec(nlohmann::json::parse(spec_json(next->spec()).dump()));
  ASSERT_TRUE(stored.ok()) << stored.error().text();
  EXPECT_EQ(stored->positions, 4);
  EXPECT_FALSE(spec_json(last->spec()).contains("positions"));
  nlohmann::json wrong = spec_json(next->spec());
  for (const std::int64_t positions : {-1, 0, 3, 5}) {
    wrong["positions"] = positions;
    expect_error(parse_spec(wrong).error(), Code::kDataLoss, "\"positions\" is " + std::to_string(positions));
  }

  const auto alone = read_raw(next->spec(), "new.txt", disk_);
  ASSERT_TRUE(alone.ok()) << alone.error().text();
  EXPECT_EQ(alone->rows(), 1);
  EXPECT_TRUE(alone->labels.empty());
  write("rows.csv", "a,b,c,d\n1,2,3,4\n");
  EXPECT_TRUE(read_raw(next->spec(), "csv:rows.csv", disk_).ok());
  write("more.csv", "a,b,c,d,next\n1,2,3,4,5\n");
  expect_raw_error(next->spec(), "csv:more.csv", Code::kInvalidArgument, "one at each of 4 positions");
}

TEST_F(Tokens, NextTokensRefuseClassWeights) {
  write("book.txt", "abcdefghijklmnopqrstuvwxyz");
  study::DataConfig config;
  config.source = "tokens:book.txt?context=4&task=next_token";
  config.class_weights.balanced = true;
  const auto set = open(config, "", disk_);
  ASSERT_FALSE(set.ok());
  expect_error(set.error(), Code::kInvalidArgument, "a label at every position");
  expect_error("tokens:book.txt?context=4&task=next_word", Code::kInvalidArgument, "next_token");
}

TEST_F(Tokens, ReportInvalidFiles) {
  write("t.bin", little(counting(30, 7), 2));
  write("odd.bin", "abc");
  write("short.txt", "abc");
  expect_error("tokens:t.bin", Code::kInvalidArgument, "dtype= is missing, and there is no side-car t.json");
  expect_error("tokens:t.bin?dtype=u16", Code::kInvalidArgument, "vocab= is missing");
  expect_error("tokens:t.bin?dtype=u16&vocab=6&context=4", Code::kDataLoss, "token 6 is 6, the vocabulary has 6");
  expect_error("tokens:odd.bin?dtype=u16&vocab=6", Code::kDataLoss, "3 bytes are no whole u16 numbers");
  expect_error("tokens:short.txt?context=3", Code::kDataLoss, "3 tokens make no window of 3 and the next one");
  expect_error("tokens:short.txt?context=0", Code::kInvalidArgument, "context is \"0\"");
  write("t.json", R"({"vocab": "many", "dtype": "u16"})");
  expect_error("tokens:t.bin", Code::kDataLoss, "t.json: expected {\"vocab\"");
  write("t.json", R"({"vocab": 7, "dtype": "f32"})");
  expect_error("tokens:t.bin", Code::kDataLoss, "dtype \"f32\" and vocab 7; allowed are u16 and u32");
}

}  // namespace
}  // namespace lanista::data
