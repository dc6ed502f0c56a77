#include "lanista/io/formats/image.h"
#include "lanista/io/formats/npy.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

class Sources : public InMemoryDataTest {
 protected:
  /// An IDX file of bytes.
  static std::string idx(const std::vector<std::uint32_t>& shape, const std::string& bytes) {
    std::string out = {'\0', '\0', '\x08', static_cast<char>(shape.size())};
    for (const std::uint32_t d : shape) {
      for (const unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>(d >> shift & 0xFFU);
    }
    return out + bytes;
  }
  static std::string bytes_from(std::size_t n, unsigned first) {
    std::string out;
    for (unsigned i = 0; i < n; ++i) out += static_cast<char>((first + i * 7) % 251);
    return out;
  }
  static std::string labels_for(std::size_t n, unsigned classes) {
    std::string out;
    for (unsigned i = 0; i < n; ++i) out += static_cast<char>(i % classes);
    return out;
  }
  void write_mnist(const std::string& folder) {
    write(folder + "/train-images-idx3-ubyte.gz", gzip(idx({12, 2, 3}, bytes_from(72, 0))));
    write(folder + "/train-labels-idx1-ubyte.gz", gzip(idx({12}, labels_for(12, 3))));
    write(folder + "/t10k-images-idx3-ubyte", idx({5, 2, 3}, bytes_from(30, 9)));
    write(folder + "/t10k-labels-idx1-ubyte", idx({5}, labels_for(5, 3)));
  }

  static std::string batch(std::size_t rows, unsigned first, bool fine) {
    std::string out;
    for (unsigned r = 0; r < rows; ++r) {
      if (fine) out += static_cast<char>(r % 20);
      out += static_cast<char>(r % (fine ? 100 : 10)) + bytes_from(3072, first + r);
    }
    return out;
  }

  /// A zip archive of stored entries.
  static std::string zip(const std::vector<std::pair<std::string, std::string>>& entries) {
    const auto number = [](std::size_t value, std::size_t size) {
      return std::string(reinterpret_cast<const char*>(&value), size);
    };
    std::string body, directory;
    for (const auto& [name, content] : entries) {
      const auto crc = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
      const std::string facts = number(20, 2) + number(0, 2) + number(0, 2) + number(0, 4) + number(crc, 4) +
                                number(content.size(), 4) + number(content.size(), 4) + number(name.size(), 2) +
                                number(0, 2);
      directory += "PK\x01\x02" + number(20, 2) + facts + number(0, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
                   number(body.size(), 4) + name;
      body += "PK\x03\x04" + facts + name + content;
    }
    const std::string end = "PK\x05\x06" + number(0, 4) + number(entries.size(), 2) + number(entries.size(), 2) +
                            number(directory.size(), 4) + number(body.size(), 4) + number(0, 2);
    return body + directory + end;
  }

  void write_png(const std::string& path, std::int64_t channels, std::int64_t height, std::int64_t width,
                 unsigned first) {
    formats::Image image{.channels = channels, .height = height, .width = width, .pixels = {}};
    for (std::int64_t i = 0; i < channels * height * width; ++i) {
      image.pixels.push_back(static_cast<std::uint8_t>((first + static_cast<unsigned>(i) * 7) % 251));
    }
    const auto bytes = formats::encode_png(image);
    ASSERT_TRUE(bytes.ok());
    write(path, *bytes);
  }
  void write_pets(const std::string& root, std::int64_t channels = 1) {
    for (unsigned i = 0; i < 8; ++i) {
      write_png(root + "/cat/" + std::to_string(i) + ".png", 1, 2, 3, i);
      write_png(root + "/dog/" + std::to_string(i) + ".png", channels, 2, 3, 100 + i);
    }
  }
};

TEST_F(Sources, MnistFolderHasOfficialTestPart) {
  write_mnist("mnist");

  const auto set = get("idx:mnist", "none", {0.6, 0.2, 0.2});

  ASSERT_TRUE(set.ok()) << set.error().text();
  const DataSpec& spec = set->spec();
  EXPECT_EQ(spec.name, "mnist");
  EXPECT_EQ(spec.rows, 17);
  EXPECT_EQ(spec.classes, 3);
  EXPECT_EQ(spec.features.dims, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(spec.split_rows, (std::array<std::int64_t, 3>{9, 3, 5})) << "a quarter of the 12 validates";
  EXPECT_EQ(set->rows(Part::kTest), (std::vector<std::int64_t>{12, 13, 14, 15, 16}));
  EXPECT_EQ(features_of(*set)[1], 7);
  EXPECT_EQ(features_of(*set)[72], 9);
}

TEST_F(Sources, FolderWithoutTestFilesIsSplit) {
  write("m/train-images.idx3-ubyte", idx({12, 2, 3}, bytes_from(72, 0)));
  write("m/train-labels.idx1-ubyte", idx({12}, labels_for(12, 3)));

  const auto set = get("idx:m");

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().split_rows, (std::array<std::int64_t, 3>{6, 3, 3}));
  expect_same_rows(*set, "m");
  write("m/t10k-images-idx3-ubyte", idx({5, 2, 3}, bytes_from(30, 9)));
  expect_error("idx:m", Code::kNotFound, "the folder holds no t10k-images-idx3-ubyte and t10k-labels");
}

TEST_F(Sources, IdxFilesAreReadWithAndWithoutATestPart) {
  write_mnist("m");
  write("m/plain", idx({12, 2, 3}, bytes_from(72, 0)));
  const std::string train = "m/train-images-idx3-ubyte.gz,m/train-labels-idx1-ubyte.gz";
  const std::string test = "m/t10k-images-idx3-ubyte,m/t10k-labels-idx1-ubyte";

  const auto folder = get("idx:m"), named = get("idx:" + train + "?test=" + test), alone = get("idx:" + train);

  ASSERT_TRUE(folder.ok() && named.ok() && alone.ok());
  EXPECT_EQ(named->spec().hash, folder->spec().hash);
  EXPECT_EQ(alone->spec().split_rows, (std::array<std::int64_t, 3>{6, 3, 3}));
  expect_same_rows(*folder, "m");
  expect_same_rows(*named, named->spec().source);
  expect_same_rows(*alone, train);
  expect_same_rows(*alone, "m/plain", false);
}

TEST_F(Sources, IdxReportsErrors) {
  write_mnist("m");
  write("half/train-images-idx3-ubyte", idx({1, 2, 3}, "123456"));
  write("wide", idx({5, 3, 3}, bytes_from(45, 0)));
  const std::string train = "idx:m/train-images-idx3-ubyte.gz,m/train-labels-idx1-ubyte.gz";
  expect_error("idx:half", Code::kNotFound, "half: the folder holds no train-images-idx3-ubyte and");
  expect_error("idx:m?test=a,b", Code::kInvalidArgument, "brings its own test part");
  expect_error("idx:wide", Code::kInvalidArgument, "expected two files, idx:IMAGES,LABELS");
  expect_error("idx:nosuch", Code::kInvalidArgument, "nosuch\"; expected idx:FOLDER or idx:IMAGES,LABELS");
  expect_error(train + "?test=wide,m/t10k-labels-idx1-ubyte", Code::kDataLoss,
               "wide: data: an array [5, 3, 3] does not continue [12, 2, 3]");
  expect_error("idx:wide,m/train-labels-idx1-ubyte.gz", Code::kDataLoss, "as there are 5 rows of features");
  expect_error("idx:none,none", Code::kNotFound, "none");
}

TEST_F(Sources, CifarFoldersAndFilesGiveSameData) {
  for (const char* n : {"1", "2"}) write("c/data_batch_" + std::string(n) + ".bin", batch(20, unsigned(n[0]), false));
  write("c/test_batch.bin", batch(10, 3, false));
  write("c/batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");

  const auto set = get("cifar:c");

  ASSERT_TRUE(set.ok()) << set.error().text();
  const DataSpec& spec = set->spec();
  EXPECT_EQ(spec.name, "cifar-10");
  EXPECT_EQ(spec.features.dims, (std::vector<std::int64_t>{3, 32, 32}));
  EXPECT_EQ(spec.labels[9], "truck");
  EXPECT_EQ(spec.normalization.mean.size(), 3U) << "one a channel";
  EXPECT_EQ(spec.split_rows[2], 10);
  EXPECT_EQ(set->rows(Part::kTest).front(), 40);
  expect_same_rows(*set, "c");
  const auto files = get("cifar:c/data_batch_1.bin,c/data_batch_2.bin");
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->spec().rows, 40);
  expect_same_rows(*files, "c/data_batch_1.bin,c/data_batch_2.bin");
}

TEST_F(Sources, FineLabelsOfCifar100AreTheClasses) {
  write("c/train.bin", batch(300, 1, true));
  write("c/test.bin", batch(20, 2, true));

  const auto set = get("cifar:c");
  const auto file = get("cifar:c/train.bin?kind=100");

  ASSERT_TRUE(set.ok() && file.ok());
  EXPECT_EQ(set->spec().name, "cifar-100");
  EXPECT_EQ(set->spec().classes, 100);
  EXPECT_EQ(set->spec().labels[42], "42");
  EXPECT_EQ(labels_of(*set)[42], 42);
  EXPECT_EQ(file->spec().rows, 300);
}

TEST_F(Sources, CifarReportsErrors) {
  write("c/other", "");
  write("n/data_batch_1.bin", batch(20, 1, false));
  write("n/test_batch.bin", batch(20, 1, false));
  write("n/batches.meta.txt", "airplane\nautomobile\n");
  write("torn.bin", batch(2, 1, false) + "x");
  expect_error("cifar:c", Code::kNotFound, "c: the folder holds neither data_batch_*.bin and test_batch.bin nor");
  expect_error("cifar:n", Code::kDataLoss, "n/batches.meta.txt: 2 class names for 10 classes");
  expect_error("cifar:torn.bin", Code::kDataLoss, "torn.bin: ");
  expect_error("cifar:torn.bin?kind=20", Code::kInvalidArgument, "allowed are auto, 10, 100");
}

TEST_F(Sources, NpzHoldsBothArraysUnderAnyNames) {
  std::vector<float> x;
  std::vector<std::int32_t> y;
  for (int i = 0; i < 20; ++i) {
    x.insert(x.end(), {float(i), float(i % 3), 0.5F});
    y.push_back(i % 2);
  }
  const std::string xs = formats::encode_npy(tensor_of(ElementType::kF32, {20, 3}, x));
  const std::string ys = formats::encode_npy(tensor_of(ElementType::kI32, {20}, y));
  write("usual.npz", zip({{"y.npy", ys}, {"more.npy", xs}, {"x.npy", xs}}));
  write("two.npz", zip({{"images.npy", xs}, {"marks.npy", ys}}));
  write("x.npz", zip({{"images.npy", xs}}));

  const auto usual = get("npz:usual.npz"), two = get("npz:two.npz"), named = get("npz:two.npz?x=images&y=marks");

  ASSERT_TRUE(usual.ok() && two.ok() && named.ok()) << usual.error().text();
  EXPECT_EQ(usual->spec().hash, two->spec().hash);
  EXPECT_EQ(named->spec().hash, two->spec().hash);
  expect_same_rows(*two, "two.npz");
  expect_same_rows(*named, "x.npz", false);
  expect_error("npz:usual.npz?x=X", Code::kInvalidArgument, "name the arrays with x= and y=; there are y, more, x");
  expect_error("npz:x.npz", Code::kInvalidArgument, "there are images");
  expect_error("npz:usual.npz?y=more&task=classes", Code::kDataLoss, "[more]: data: classes must be whole numbers");
}

TEST_F(Sources, FoldersOfImagesAreClasses) {
  write_pets("pets");
  write("pets/cat/notes.txt", "not an image");

  const auto set = get("folder:pets", "none");

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().name, "pets");
  EXPECT_EQ(set->spec().labels, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(set->spec().features.dims, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(features_of(*set)[7], 8) << "second pixel of cat/1.png";
  expect_same_rows(*set, "pets");
  const auto raw = read_raw(set->spec(), "pets", disk_);
  ASSERT_TRUE(raw.ok());
  EXPECT_EQ(raw->names[9], "dog/1.png");
}

TEST_F(Sources, ImagesBecomeOneColourAndOneSize) {
  write_pets("mixed", 3);
  write_png("mixed/dog/9.png", 3, 8, 12, 0);
  write_png("new.png", 1, 4, 6, 50);
  write_pets("grey");

  expect_error("folder:mixed", Code::kDataLoss, "mixed/dog/9.png: the image is 8x12, expected is 2x3; give size=");
  const auto rgb = get("folder:mixed?size=4x6"), grey = get("folder:mixed?size=4x6&color=grey"),
             small = get("folder:grey");
  ASSERT_TRUE(rgb.ok() && grey.ok() && small.ok());
  EXPECT_EQ(rgb->spec().features.dims, (std::vector<std::int64_t>{3, 4, 6}));
  EXPECT_EQ(rgb->spec().normalization.mean.size(), 3U);
  EXPECT_EQ(grey->spec().features.dims, (std::vector<std::int64_t>{1, 4, 6}));
  expect_same_rows(*rgb, "mixed");
  expect_same_rows(*grey, "mixed");

  EXPECT_EQ(read_raw(rgb->spec(), "new.png", disk_)->rows(), 1);
  expect_raw_error(small->spec(), "new.png", Code::kDataLoss, "the image is 4x6, expected is 2x3; resize=yes");
  const auto resized = read_raw(small->spec(), "folder:new.png?resize=yes", disk_);
  ASSERT_TRUE(resized.ok()) << resized.error().text();
  EXPECT_EQ(resized->names, std::vector<std::string>{"new.png"});
  EXPECT_TRUE(resized->labels.empty());
}

TEST_F(Sources, TrainAndTestFoldersAreAnOfficialSplit) {
  write_pets("set/train");
  write_png("set/test/dog/a.png", 1, 2, 3, 7);

  const auto set = get("folder:set");

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->rows(Part::kTest), std::vector<std::int64_t>{16});
  EXPECT_EQ(labels_of(*set)[16], 1);
  expect_same_rows(*set, "set");
  write_png("set/test/fox/a.png", 1, 2, 3, 7);
  expect_error("folder:set", Code::kDataLoss, "test/ has a class that train/ lacks");
}

TEST_F(Sources, ImageFoldersReportErrors) {
  write_pets("loose");
  write_png("loose/a.png", 1, 2, 3, 7);
  write_png("one/cat/a.png", 1, 2, 3, 7);
  write_pets("hole");
  write("hole/eel/read.me", "");
  expect_error("folder:loose", Code::kDataLoss, "image \"a.png\" lies in no folder of a class");
  expect_error("folder:one", Code::kDataLoss, "there is one class alone, \"cat\"");
  expect_error("folder:hole", Code::kDataLoss, "the folder of class \"eel\" holds no PNG or JPEG");
  expect_error("folder:hole/eel", Code::kDataLoss, "there are no images");
  expect_error("folder:loose?size=4", Code::kInvalidArgument, "size is \"4\", allowed is HEIGHTxWIDTH");
  expect_error("folder:loose?size=4x0", Code::kInvalidArgument, "size is \"4x0\"");
  expect_error("folder:none", Code::kNotFound, "none");
}

TEST_F(Sources, RefusesFilesThatCanRunCode) {
  const std::string pickle("\x80\x04}q.", 5);
  write("p", pickle);
  write("p.gz", gzip(pickle));
  write("pets/cat/0.png", pickle);
  write("pets/dog/0.png", pickle);
  for (const char* source :
       {"csv:p", "csv:p.gz", "npy:p,p", "npz:p", "idx:p,p", "cifar:p", "folder:pets", "tokens:p"}) {
    expect_error(source, Code::kUnimplemented, "this is a pickle, which can run code; convert it in Python");
  }
}

}  // namespace
}  // namespace lanista::data
