#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lanista/io/data/raw_input.h"
#include "lanista/io/formats/image.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

class ImageFolders : public InMemoryDataTest {
 protected:
  /// A picture of 2 x 3 pixels of one grey, so that rows can be recognised.
  void write_picture(const std::string& path, std::uint8_t grey) {
    const auto bytes =
        formats::encode_png({.channels = 1, .height = 2, .width = 3, .pixels = std::vector<std::uint8_t>(6, grey)});
    ASSERT_TRUE(bytes.ok());
    write(path, *bytes);
  }
  /// `count` pictures of each of the classes cat and dog, with `first` and the following numbers as grey.
  void write_classes(const std::string& root, std::uint8_t count, std::uint8_t first, const std::string& below = "") {
    for (std::uint8_t i = 0; i < count; ++i) {
      write_picture(root + "/cat/" + below + std::to_string(i) + ".png", static_cast<std::uint8_t>(first + i));
      write_picture(root + "/dog/" + below + std::to_string(i) + ".png", static_cast<std::uint8_t>(first + 100 + i));
    }
  }
  Result<Dataset> with_rules(const std::string& source, std::int64_t rules, std::optional<std::int64_t> folds = {}) {
    study::DataConfig config;
    config.source = source;
    config.split = {0.5, 0.25, 0.25};
    config.normalize = "none";
    config.rules = rules;
    config.folds = folds;
    return open(config, "", disk_);
  }
  static std::vector<int> greys(const Dataset& set, Part part) {
    std::vector<int> out;
    const auto features = features_of(set);
    const auto width = static_cast<std::size_t>(set.spec().features.elements_per_sample());
    for (const std::int64_t row : set.rows(part)) {
      out.push_back(static_cast<int>(features[static_cast<std::size_t>(row) * width]));
    }
    return out;
  }
  void expect_refused(const std::string& source, std::int64_t rules, const std::vector<std::string>& texts) {
    const auto set = with_rules(source, rules);
    ASSERT_FALSE(set.ok()) << source;
    for (const std::string& text : texts) {
      EXPECT_NE(set.error().text().find(text), std::string::npos) << text << "\n" << set.error().text();
    }
  }
};

const std::vector<int> kValidation{50, 51, 150, 151}, kTest{70, 71, 72, 170, 171, 172};

TEST_F(ImageFolders, OfficialPartsStayWhole) {
  for (const auto& [train, val, test] : std::vector<std::array<std::string, 3>>{{"train", "val", "test"},
                                                                                {"Train", "Valid", "TEST"},
                                                                                {"training", "validation", "testing"},
                                                                                {"TRAIN", "eval", "Test"}}) {
    write_classes("set/" + train, 4, 0);
    write_classes("set/" + val, 2, 50);
    write_classes("set/" + test, 3, 70);
    write("set/notes/read.me", "a folder without pictures is no part");

    const auto set = with_rules("folder:set", 2);

    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(set->spec().labels, (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(greys(*set, Part::kTrain), (std::vector<int>{0, 1, 2, 3, 100, 101, 102, 103}));
    EXPECT_EQ(greys(*set, Part::kValidation), kValidation);
    EXPECT_EQ(greys(*set, Part::kTest), kTest);
    EXPECT_EQ(labels_of(*set)[static_cast<std::size_t>(set->rows(Part::kTest)[5])], 1);
    expect_same_rows(*set, "set");
    disk_ = {};
  }
}

TEST_F(ImageFolders, MissingPartComesFromTrainingRows) {
  write_classes("two/train", 12, 0);
  write_classes("two/val", 2, 50);
  const auto two = with_rules("folder:two", 2);
  ASSERT_TRUE(two.ok()) << two.error().text();
  EXPECT_EQ(greys(*two, Part::kValidation), kValidation);
  EXPECT_EQ(two->spec().split_rows, (std::array<std::int64_t, 3>{16, 4, 8})) << "0.25 of 0.75 of 24 rows are the test";

  study::DataConfig no_test;
  no_test.source = "folder:two";
  no_test.split = {0.75, 0.25, 0};
  const auto whole = open(no_test, "", disk_);
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  EXPECT_EQ(whole->spec().split_rows, (std::array<std::int64_t, 3>{24, 4, 0}));

  // A test part alone: validation comes from the training rows, with all rules.
  write_classes("old/train", 12, 0);
  write_classes("old/test", 3, 70);
  const auto first = with_rules("folder:old", 1), latest = with_rules("folder:old", 2);
  ASSERT_TRUE(first.ok() && latest.ok());
  EXPECT_EQ(greys(*latest, Part::kTest), kTest);
  EXPECT_EQ(latest->spec().split_rows, (std::array<std::int64_t, 3>{16, 8, 6}));
  for (const Part part : {Part::kTrain, Part::kValidation}) EXPECT_EQ(greys(*latest, part), greys(*first, part));
}

TEST_F(ImageFolders, FoldsShareRowsOutsideTest) {
  write_classes("set/train", 4, 0);
  write_classes("set/val", 2, 50);
  write_classes("set/test", 3, 70);

  const auto set = with_rules("folder:set", 2, 3);

  ASSERT_TRUE(set.ok()) << set.error().text();
  std::vector<int> validated;
  for (std::int64_t fold = 0; fold < 3; ++fold) {
    const auto part = greys(set->training(fold), Part::kValidation);
    validated.insert(validated.end(), part.begin(), part.end());
    EXPECT_EQ(greys(set->training(fold), Part::kTest), kTest);
  }
  std::ranges::sort(validated);
  EXPECT_EQ(validated, (std::vector<int>{0, 1, 2, 3, 50, 51, 100, 101, 102, 103, 150, 151}));
}

TEST_F(ImageFolders, FoldersInClassesBelongToThem) {
  write_classes("nested", 6, 0, "sub/");
  write_picture("nested/cat/direct.png", 90);
  write_picture("nested/cat/a/b/c/deep.png", 91);

  const auto set = with_rules("folder:nested", 2);

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().rows, 14);
  const auto raw = read_raw(set->spec(), "nested", disk_);
  ASSERT_TRUE(raw.ok());
  EXPECT_EQ(raw->names[0], "cat/direct.png");
  EXPECT_EQ(raw->names[1], "cat/a/b/c/deep.png");
  EXPECT_EQ(raw->names[2], "cat/sub/0.png");
  EXPECT_EQ(std::ranges::count(raw->labels, 0), 8);
  expect_refused("folder:nested", 1, {"the folder of class \"dog\" holds no PNG or JPEG"});
}

TEST_F(ImageFolders, DepthIsLimited) {
  write_classes("deep", 6, 0);
  std::string below = "deep/cat";
  for (std::size_t i = 0; i < 8; ++i) below += "/d";
  write_picture(below + "/a.png", 1);
  EXPECT_TRUE(with_rules("folder:deep", 2).ok());
  write_picture(below + "/d/a.png", 1);
  expect_refused("folder:deep", 2, {"more than 8 folders lie in each other below \"cat\"", "a link may lead back"});
}

TEST_F(ImageFolders, OtherKindsOfPicturesAreCounted) {
  write_classes("set", 6, 0);
  for (const std::string name : {"cat/1.webp", "cat/2.WEBP", "dog/deep/er/3.webp", "cat/4.gif", "dog/5.tiff"}) {
    write("set/" + name, "not read");
  }
  for (const std::string name : {"cat/readme.txt", "dog/Thumbs.db", "dog/.6.webp", "labels.csv"}) {
    write("set/" + name, "no picture");
  }
  const auto set = with_rules("folder:set", 2);
  ASSERT_TRUE(set.ok()) << set.error().text();
  ASSERT_EQ(set->data_warnings().size(), 1U);
  EXPECT_EQ(set->data_warnings()[0],
            "1 file of kind .gif, 1 of kind .tiff and 3 of kind .webp are not read; convert them to PNG or JPEG");

  write_classes("parts/train", 4, 0);
  write_classes("parts/test", 3, 70);
  write("parts/test/dog/9.avif", "not read");
  write("parts/raw/9.heic", "a folder without pictures is no part");
  const auto parts = with_rules("folder:parts", 2);
  ASSERT_TRUE(parts.ok()) << parts.error().text();
  ASSERT_FALSE(parts->data_warnings().empty());
  EXPECT_EQ(parts->data_warnings()[0], "1 file of kind .avif is not read; convert it to PNG or JPEG");

  write("set/owl/7.heic", "not read");
  write("set/owl/8.heic", "not read");
  expect_refused("folder:set", 2,
                 {"the folder of class \"owl\" holds no PNG or JPEG; 2 files of kind .heic are not read; convert them "
                  "to PNG or JPEG"});
  write("flat/7.gif", "not read");
  expect_refused("folder:flat", 2, {"there are no images (PNG, JPEG); 1 file of kind .gif is not read; convert it to"});
}

TEST_F(ImageFolders, ClassesMayHaveNamesOfParts) {
  for (std::uint8_t i = 0; i < 6; ++i) {
    for (const std::string cls : {"bus", "test", "train"})
      write_picture("ways/" + cls + "/" + std::to_string(i) + ".png", i);
    for (const std::string cls : {"val", "valid"}) write_picture("v/" + cls + "/" + std::to_string(i) + ".png", i);
    for (const std::string cls : {"bus", "train"}) write_picture("two/" + cls + "/" + std::to_string(i) + ".png", i);
  }
  const auto ways = with_rules("folder:ways", 2), two = with_rules("folder:two", 2);
  ASSERT_TRUE(ways.ok() && two.ok());
  EXPECT_EQ(ways->spec().labels, (std::vector<std::string>{"bus", "test", "train"}));
  EXPECT_EQ(two->spec().labels, (std::vector<std::string>{"bus", "train"}));
  EXPECT_EQ(with_rules("folder:v", 2)->spec().labels, (std::vector<std::string>{"val", "valid"}));
}

TEST_F(ImageFolders, UnknownLayoutIsNamedWithKnownOnes) {
  const std::string known = "known are CLASS/picture.png, also with folders in CLASS, and train/CLASS/picture.png with";
  write_classes("extra/train", 4, 0);
  write_classes("extra/val", 4, 0);
  write_classes("extra/more", 4, 0);
  expect_refused("folder:extra", 2,
                 {"\"more\" next to \"train\" is no part, and it holds pictures",
                  "the folder holds the folders \"more\", \"train\", \"val\"", known});
  write_classes("same/train", 4, 0);
  write_classes("same/val", 4, 0);
  write_classes("same/Valid", 4, 0);
  expect_refused("folder:same", 2, {"\"val\" and another folder are names of the same part", known});
  write_classes("flat/train", 4, 0);
  write_picture("flat/test/1.png", 0);
  write_picture("flat/test/2.png", 0);
  expect_refused("folder:flat", 2,
                 {"flat/test: image \"1.png\" lies in no folder of a class",
                  "to leave \"test\" out, give folder:flat/train", "the folder holds 2 pictures", known});
  write_classes("formats", 4, 0);
  write("formats/elk/a.bmp", "BM");
  write("formats/elk/b.webp", "RIFF");
  expect_refused(
      "folder:formats", 2,
      {"the folder of class \"elk\" holds no PNG or JPEG", "the folder holds 2 other files, such as \"a.bmp\"", known});
  write_classes("outer/pets", 4, 0);
  expect_refused(
      "folder:outer", 2,
      {"there is one class alone, \"pets\"", "if the folders in it are the classes, give folder:outer/pets"});
  write_classes("parts/train", 4, 0);
  write_classes("parts/holdout", 4, 0);
  const auto set = with_rules("folder:parts", 2);
  ASSERT_TRUE(set.ok());
  ASSERT_EQ(set->data_warnings().size(), 1U);
  EXPECT_NE(set->data_warnings()[0].find("every class holds the same folders, such as \"dog\""), std::string::npos);
}

TEST_F(ImageFolders, ClassesOfOtherPartsAreThoseOfTraining) {
  write_classes("set/train", 4, 0);
  write_classes("set/val", 2, 50);
  write_picture("set/val/fox/a.png", 7);
  write_picture("set/val/fox/b.png", 7);
  expect_refused("folder:set", 2, {"val/ has a class that train/ lacks: \"fox\" with 2 images"});
}

TEST_F(ImageFolders, FirstRulesReadOldLayouts) {
  write_classes("three/train", 4, 0);
  write_classes("three/val", 4, 0);
  write_classes("three/test", 4, 0);
  expect_refused("folder:three", 1, {"the folder of class \"test\" holds no PNG or JPEG"});
  write_classes("upper/Train", 4, 0);
  write_classes("upper/Test", 4, 0);
  expect_refused("folder:upper", 1, {"the folder of class \"Test\" holds no PNG or JPEG"});
  // Folders in a class with pictures of its own were ignored.
  write_classes("mixed", 6, 0);
  write_classes("mixed", 6, 50, "sub/");
  EXPECT_EQ(with_rules("folder:mixed", 1)->spec().rows, 12);
  EXPECT_EQ(with_rules("folder:mixed", 2)->spec().rows, 24);
}

TEST_F(ImageFolders, UnreadableImagesAreLeftOutAndCounted) {
  write_classes("torn", 8, 0);
  write("torn/cat/3.png", "no image");
  expect_refused("folder:torn", 1, {"torn/cat/3.png: image: the file is neither PNG nor JPEG"});
  expect_refused("folder:torn?unreadable=0", 2, {"torn/cat/3.png: image: the file is neither PNG nor JPEG"});

  const auto set = with_rules("folder:torn", 2);
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().rows, 15);
  ASSERT_EQ(set->data_warnings().size(), 1U);
  EXPECT_EQ(
      set->data_warnings()[0],
      "1 of 16 images is unreadable and left out: cat/3.png (image: the file is neither PNG nor JPEG by its first "
      "bytes)");
  const auto raw = read_raw(set->spec(), "torn", disk_);
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->data_warnings, set->data_warnings());
  EXPECT_EQ(raw->labels, labels_of(*set));
  EXPECT_EQ(raw->names[3], "cat/4.png");

  for (const char* name : {"torn/dog/1.png", "torn/dog/2.png", "torn/dog/7.png"}) write(name, "");
  expect_refused("folder:torn", 2,
                 {"4 of 16 images are unreadable, at most 1 may be (unreadable=SHARE sets it)", "cat/3.png (",
                  "dog/1.png (", "dog/2.png (", "), …"});
  EXPECT_EQ(with_rules("folder:torn?unreadable=0.25", 2)->spec().rows, 12);
  expect_refused("folder:torn?unreadable=0.24", 2, {"at most 3 may be"});
  expect_refused("folder:torn?unreadable=2", 2, {"unreadable is \"2\", allowed is a share from 0 to 1"});
  expect_raw_error(set->spec(), "torn/cat/3.png", Code::kUnimplemented, "neither PNG nor JPEG");
}

TEST_F(ImageFolders, UnreadableImagesDoNotMoveParts) {
  write_classes("set/train", 4, 0);
  write_classes("set/val", 2, 50);
  write_classes("set/test", 3, 70);
  write("set/train/cat/1.png", "");
  write("set/val/dog/0.png", "");

  const auto set = with_rules("folder:set?unreadable=0.2", 2);

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(greys(*set, Part::kTrain), (std::vector<int>{0, 2, 3, 100, 101, 102, 103}));
  EXPECT_EQ(greys(*set, Part::kValidation), (std::vector<int>{50, 51, 151}));
  EXPECT_EQ(greys(*set, Part::kTest), kTest);
}

TEST_F(ImageFolders, BackgroundIsAnOption) {
  write_classes("clear", 6, 0);
  // One grey pixel of 2 x 3 with alpha 0, from the specification; the reader composes it.
  const std::string transparent(
      "\211PNG\r\n\032\n\0\0\0\015IHDR\000\000\000\001\000\000\000\001\010\004\000\000\000\265\034\014\002"
      "\0\0\0\013IDAT\170\332\143\010\140\000\000\000\243\000\121\232\024\372\036"
      "\0\0\0\0IEND\256B`\202",
      68);
  const auto image = formats::decode_image(transparent, {.background = {255, 255, 255}});
  ASSERT_TRUE(image.ok()) << image.error().text();
  write("clear/cat/x.png", transparent);
  const std::string source = "folder:clear?size=2x3";
  const auto black = with_rules(source, 2), white = with_rules(source + "&background=white", 2),
             colour = with_rules(source + "&background=0A141e", 2);
  ASSERT_TRUE(black.ok() && white.ok() && colour.ok());
  EXPECT_EQ(features_of(*black)[6 * 6], 0);
  EXPECT_EQ(features_of(*white)[6 * 6], 255);
  EXPECT_EQ(colour->spec().features.dims, (std::vector<std::int64_t>{3, 2, 3}));
  EXPECT_EQ(features_of(*colour)[6 * 18], 10);
  EXPECT_EQ(features_of(*colour)[6 * 18 + 6], 20);
  EXPECT_EQ(features_of(*colour)[6 * 18 + 12], 30);
  expect_same_rows(*white, "clear");  // the option applies to new images, too
  expect_refused(source + "&background=green", 2,
                 {"background is \"green\", allowed is black, white, or six hexadecimal digits"});
  expect_refused(source + "&background=+1+2+3", 2, {"background is"});
}

TEST_F(ImageFolders, NewImagesOfUnknownClassesAreCounted) {
  write_classes("pets", 6, 0);
  const auto set = with_rules("folder:pets", 2);
  ASSERT_TRUE(set.ok());
  write_classes("new", 2, 0);
  for (const char* path : {"new/bird/0.png", "new/bird/1.png", "new/Cat/0.png", "new/loose.png"})
    write_picture(path, 9);

  const auto raw = read_raw(set->spec(), "new", disk_);

  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->names, (std::vector<std::string>{"loose.png", "Cat/0.png", "bird/0.png", "bird/1.png", "cat/0.png",
                                                  "cat/1.png", "dog/0.png", "dog/1.png"}));
  EXPECT_EQ(raw->labels, (std::vector<std::int32_t>{kNoLabel, kNoLabel, kNoLabel, kNoLabel, 0, 0, 1, 1}));
  ASSERT_EQ(raw->data_warnings.size(), 1U);
  EXPECT_EQ(raw->data_warnings[0],
            "3 images lie in 2 folders of no known class: \"Cat\" (1, did you mean \"cat\"?), \"bird\" (2)");
  // Folders of any name are read.
  write_classes("train/train", 1, 0);
  write_classes("train/val", 1, 0);
  write_classes("train/more", 1, 0);
  EXPECT_EQ(read_raw(set->spec(), "train", disk_)->rows(), 6);
  // Without a known class there are no labels.
  write_picture("other/bird/0.png", 1);
  EXPECT_TRUE(read_raw(set->spec(), "other", disk_)->labels.empty());
}

/// A JPEG of 2 x 3 pixels cannot be written here, so a PNG has the orientation.
TEST_F(ImageFolders, OrientationAppliesFromSecondRulesOn) {
  write_classes("pets", 6, 0);
  formats::Image image{.channels = 1, .height = 2, .width = 3, .pixels = {1, 2, 3, 4, 5, 6}};
  std::string png = *formats::encode_png(image);
  const std::string exif(
      "\0\0\0\032eXIf\115\115\000\052\000\000\000\010\000\001\001\022\000"
      "\003\000\000\000\001\000\003\000\000\000\000\000\000\204\137\144\316",
      38);
  png.insert(png.size() - 12, exif);  // before the end
  write("pets/cat/x.png", png);

  const auto first = with_rules("folder:pets", 1), latest = with_rules("folder:pets", 2);

  ASSERT_TRUE(first.ok() && latest.ok());
  const auto stored = features_of(*first), upright = features_of(*latest);
  EXPECT_EQ(std::vector<float>(&stored[36], &stored[42]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(std::vector<float>(&upright[36], &upright[42]), (std::vector<float>{6, 5, 4, 3, 2, 1}));
  expect_same_rows(*first, "pets");  // a trained model keeps its rules
  expect_same_rows(*latest, "pets");
}

}  // namespace
}  // namespace lanista::data
