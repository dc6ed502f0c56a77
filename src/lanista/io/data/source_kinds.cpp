#include <algorithm>
#include <functional>

#include "lanista/base/edit_distance.h"
#include "lanista/io/data/catalog.h"
#include "lanista/io/data/readers.h"

namespace lanista::data {

const std::vector<SourceKind>& source_kinds() {
  static const SourceKind::Option kTask{
      "task", "auto|classes|numbers|multilabel",
      "what the target is; auto: text, few whole numbers, 0 to k-1 and one-hot rows are classes; other columns of 0 "
      "and 1 are labels (multilabel)"};
  static const std::vector<SourceKind> kAll = {
      {"builtin",
       "builtin:digits",
       "a data set that is part of the program",
       {},
       SourceKind::PathCount::kNone,
       read_builtin},
      {"csv",
       "csv:FILE",
       "a table, one row a line",
       {{"target", "A,B", "name, or number from 0, of the column to predict, or of several; the last one if not given"},
        {"drop", "A,B", "columns to leave out, by name or by number from 0"},
        {"header", "auto|yes|no", "whether the first line names the columns; auto: by the kinds of cells below it",
         true},
        {"sep", "CHARACTER|tab|space",
         "what stands between cells; else comma, semicolon or tab, whichever is there, or |; space: any blanks", true},
        {"numeric", "A,B", "columns that hold numbers"},
        {"categorical", "A,B", "columns that hold categories, even if they look like numbers"},
        {"categories", "N",
         "of a column with more than N different texts, the N most frequent; others count as missing"},
        {"dates", "A,B", "columns that hold dates: 2024-03-01 or 01.03.2024, with a time or without"},
        {"decimal", ".|,", "numbers as people write them: 1,234.5 and 12 %, or with a comma 1.234,5 and 12 %", true},
        {"missing", "A,B",
         "texts or numbers that mean that there is no value, in addition to NA, None, ?, nan, null and nothing", true},
        {"keep_na", "no|yes|A,B",
         "NA, None and the like are values in columns of texts; yes: all of these spellings; A,B: these alone", true},
        {"group", "COLUMN",
         "rows with one value of it stay together: all in training, or all in validation, or in the test"},
        {"order", "COLUMN",
         "a number or date by which rows come in time: first training, then validation, last the test"},
        {"weight", "COLUMN", "how much a row counts in the training loss: numbers from 0 on, which are no feature"},
        {"test", "FILE", "a table of its own for the test part", false, SourceKind::PathCount::kOne},
        {"schema", "FILE.json", "a declared schema instead of target, drop, task, numeric, categorical, dates", false,
         SourceKind::PathCount::kOne},
        kTask},
       SourceKind::PathCount::kOne,
       read_csv},
      {"npy",
       "npy:X.npy,Y.npy",
       "NumPy arrays: features, and what belongs to them",
       {kTask},
       SourceKind::PathCount::kSeveral,
       read_npy},
      {"npz",
       "npz:FILE",
       "a NumPy archive that holds both arrays",
       {{"x", "KEY", "the features; else x, X, or the first of two", true},
        {"y", "KEY", "what belongs to them; else y, Y, or the second of two", true},
        kTask},
       SourceKind::PathCount::kOne,
       read_npz},
      {"idx",
       "idx:FOLDER or idx:IMAGES,LABELS",
       "the format of MNIST, packed or plain; a folder brings its own test part",
       {{"test", "IMAGES,LABELS", "an official test part", false, SourceKind::PathCount::kSeveral}},
       SourceKind::PathCount::kSeveral,
       read_idx},
      {"cifar",
       "cifar:FOLDER or cifar:FILE,FILE",
       "the binary files of CIFAR-10 and CIFAR-100; a folder brings its own test part",
       {{"kind", "auto|10|100", "auto: by the names in the folder, else 10", true}},
       SourceKind::PathCount::kSeveral,
       read_cifar},
      {"folder",
       "folder:DIR",
       "images (PNG, JPEG), one folder a class; train/ with val/, test/ or both above the classes brings these parts",
       {{"size", "HEIGHTxWIDTH", "makes all images this size", true},
        {"color", "auto|grey|rgb", "auto: rgb if any image is", true},
        {"background", "black|white|RRGGBB", "the colour under transparent pixels; black if not given", true},
        {"unreadable", "SHARE",
         "how many of the images may be damaged and are left out; 0.01 if not given, but always one; 0: none", true},
        {"resize", "no|yes", "for new images: makes them the size of the training images"}},
       SourceKind::PathCount::kOne,
       read_images},
      {"tokens",
       "tokens:FILE",
       "a text as bytes, or token numbers (.bin): windows, and the token behind each, or behind each of its tokens",
       {{"context", "N", "tokens in a window; 64 if not given", true},
        {"vocab", "N", "how many tokens there are; 256 for bytes", true},
        {"dtype", "bytes|u16|u32", "how tokens lie in the file, little-endian", true},
        {"task", "last_token|next_token", "next_token: what follows is predicted at every position", true},
        {"rows", "N", "at most that many windows"}},
       SourceKind::PathCount::kOne,
       read_tokens},
      {"synthetic",
       "synthetic:spirals|blobs|regression",
       "made from a seed",
       {{"rows", "N", "1000 if not given"},
        {"classes", "N", "3 if not given; not for regression"},
        {"features", "N", "2 of spirals, else 8, if not given"},
        {"seed", "N", "1 if not given"}},
       SourceKind::PathCount::kNone,
       read_synthetic}};
  return kAll;
}

namespace {

using PathMap = std::function<std::string(const std::string&)>;

/// `text` with each path replaced by `map`, and `separator`, which ends the text in a source, as its code.
std::string map_all(const std::string& text, SourceKind::PathCount paths, char separator, const PathMap& map) {
  if (paths == SourceKind::PathCount::kNone || text.empty()) return text;
  if (paths == SourceKind::PathCount::kOne) return escaped(map(text), std::string(1, separator));
  std::string out;
  for (const std::string& path : split_at_commas(text)) {
    out += (out.empty() ? "" : ",") + (path.empty() ? path : escaped(map(path), std::string{separator, ','}));
  }
  return out;
}

}  // namespace

std::string map_paths(const std::string& text, const PathMap& map) {
  const auto source = parse_source(text);
  if (!source) return text;
  const auto kind = std::ranges::find(source_kinds(), source->kind, &SourceKind::name);
  if (kind == source_kinds().end()) return text;
  std::string out = source->kind + ":" + map_all(source->argument, kind->paths, '?', map);
  // Options keep their order.
  std::size_t begin = source->kind.size() + 1 + source->argument.size();
  while (begin < text.size()) {
    const std::size_t equals = text.find('=', begin), end = std::min(text.find('&', equals), text.size());
    const std::string name = text.substr(begin + 1, equals - begin - 1);
    const auto option = std::ranges::find(kind->options, name, &SourceKind::Option::name);
    const auto paths = option == kind->options.end() ? SourceKind::PathCount::kNone : option->paths;
    out += text.substr(begin, equals + 1 - begin) + map_all(text.substr(equals + 1, end - equals - 1), paths, '&', map);
    begin = end;
  }
  return out;
}

Result<const SourceKind*> source_kind_of(const Source& source) {
  std::vector<std::string> names;
  std::string known;
  for (const SourceKind& kind : source_kinds()) {
    names.push_back(kind.name);
    known += (known.empty() ? "" : ", ") + kind.name;
    if (kind.name != source.kind) continue;
    std::vector<std::string> options;
    for (const SourceKind::Option& option : kind.options) options.push_back(option.name);
    LANISTA_TRY(source.check_option_names(options));
    return &kind;
  }
  const std::string nearest = nearest_name(source.kind, names);
  return source.error("unknown kind \"" + source.kind + "\"" +
                      (nearest.empty() ? "" : ", did you mean \"" + nearest + "\"?") + "; there are " + known);
}

}  // namespace lanista::data
