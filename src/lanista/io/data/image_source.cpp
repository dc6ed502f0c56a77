#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "lanista/base/edit_distance.h"
#include "lanista/base/parse_number.h"
#include "lanista/io/data/arrays.h"
#include "lanista/io/data/image_listing.h"
#include "lanista/io/data/resize.h"

namespace lanista::data {
namespace {

struct ImageSize {
  std::int64_t height = 0, width = 0;
  bool operator==(const ImageSize&) const = default;
  std::string text() const { return std::to_string(height) + "x" + std::to_string(width); }
};
ImageSize size_of(const formats::Image& image) { return {image.height, image.width}; }

Result<std::optional<ImageSize>> size_option(const Source& source) {
  const auto text = source.value("size");
  if (!text) return std::optional<ImageSize>();
  constexpr std::int64_t kMax = 4096;
  const std::size_t times = std::min(text->find('x'), text->size() - 1);
  const auto height = parse_number<std::int64_t>(text->substr(0, times));
  const auto width = parse_number<std::int64_t>(text->substr(times + 1));
  const auto fits = [](const auto& side) { return side && *side >= 1 && *side <= kMax; };
  if (fits(height) && fits(width)) return std::optional(ImageSize{*height, *width});
  return source.error("size is \"" + *text + "\", allowed is HEIGHTxWIDTH of 1 to " + std::to_string(kMax));
}

/// The background under transparent pixels: black, white, or red, green and blue as six hexadecimal digits.
Result<std::array<std::uint8_t, 3>> background_option(const Source& source) {
  const std::string text = source.value("background").value_or("black");
  std::array<std::uint8_t, 3> out{};
  if (text == "black") return out;
  if (text == "white") return std::array<std::uint8_t, 3>{255, 255, 255};
  bool is_colour = text.size() == 6;
  for (std::size_t c = 0; is_colour && c < 3; ++c) {
    const char* begin = text.data() + 2 * c;
    const auto parsed = std::from_chars(begin, begin + 2, out[c], 16);
    is_colour = parsed.ec == std::errc() && parsed.ptr == begin + 2;
  }
  if (is_colour) return out;
  return source.error("background is \"" + text +
                      "\", allowed is black, white, or six hexadecimal digits such as FF8000");
}

/// The share of pictures that may be unreadable. With rules 1 there is none.
Result<double> unreadable_option(const ReadRequest& request) {
  constexpr double kDefaultShare = 0.01;
  const auto text = request.source.value("unreadable");
  if (!text) return request.rules < 2 ? 0 : kDefaultShare;
  const auto share = parse_number<double>(*text);
  if (share && *share >= 0 && *share <= 1) return *share;
  return request.source.error("unreadable is \"" + *text + "\", allowed is a share from 0 to 1");
}

/// How the pictures of a source are read.
struct ImageOptions {
  std::optional<ImageSize> size;    ///< the size that they must have or become; none: that of the first picture
  bool fits = false;                ///< true: other pictures are scaled to `size`
  double unreadable_share = 0;      ///< the share that may be unreadable
  formats::ImageDecoding decoding;  ///< orientation and background
};
Result<ImageOptions> read_options(const ReadRequest& request) {
  ImageOptions out;
  LANISTA_ASSIGN(out.size, size_option(request.source));
  const DataSpec* expected_spec = request.expected_spec;
  LANISTA_ASSIGN(const std::string resizes, request.source.choice("resize", {"no", "yes"}));
  if (resizes == "yes" && expected_spec == nullptr) {
    return request.source.error("resize= is for new images of a known data set; give size=HEIGHTxWIDTH");
  }
  out.fits = out.size || resizes == "yes";
  if (!out.size && expected_spec != nullptr && expected_spec->features.rank() == 3) {
    out.size = {expected_spec->features.dims[1], expected_spec->features.dims[2]};
  }
  LANISTA_ASSIGN(out.unreadable_share, unreadable_option(request));
  LANISTA_ASSIGN(out.decoding.background, background_option(request.source));
  out.decoding.applies_orientation = request.rules >= 2;
  return out;
}

/// Pictures that cannot be read, with the reasons for the first of them.
struct UnreadableImages {
  std::vector<std::size_t> files;  ///< indices of the listing, ascending
  std::string first;               ///< names and reasons
};

void add_unreadable(const ImageListing& listing, std::size_t file, const Error& why, UnreadableImages& to) {
  constexpr std::size_t kShown = 3;
  if (to.files.size() < kShown)
    to.first += (to.first.empty() ? "" : ", ") + listing.files[file].name + " (" + why.message + ")";
  if (to.files.size() == kShown) to.first += ", …";
  to.files.push_back(file);
}

/// Removes the files at `indices` (ascending) from the listing.
void remove_files(const std::vector<std::size_t>& indices, ImageListing& listing) {
  for (std::size_t* first : {&listing.first_validation, &listing.first_test}) {
    *first -= static_cast<std::size_t>(std::ranges::lower_bound(indices, *first) - indices.begin());
  }
  std::vector<ImageFile> left;
  for (std::size_t i = 0; i < listing.files.size(); ++i) {
    if (!std::ranges::binary_search(indices, i)) left.push_back(std::move(listing.files[i]));
  }
  listing.files = std::move(left);
}

/// Reads images into the same size. Unreadable ones, up to the allowed share, are removed from `listing`, with a
/// warning.
Result<std::vector<formats::Image>> load_images(const ReadRequest& request, const std::string& root,
                                                ImageOptions options, ImageListing& listing,
                                                std::vector<std::string>& warnings) {
  const bool is_single = listing.files.front().name.empty();
  std::vector<formats::Image> images;
  UnreadableImages unreadable;
  std::int64_t pixels = 0;
  for (std::size_t i = 0; i < listing.files.size(); ++i) {
    const std::string path = is_single ? root : resolve_path(listing.files[i].name, root);
    const auto bytes = load_file(*request.fs, path);
    // A file that is refused, or a device that fails, is no damaged image. A link may lead to no file.
    if (!bytes && bytes.error().code != Code::kNotFound) return bytes.error();
    auto image = bytes ? formats::decode_image(*bytes, options.decoding) : Result<formats::Image>(bytes.error());
    if (!image) {
      if (is_single || options.unreadable_share == 0) return with_file(image.error(), path);
      add_unreadable(listing, i, image.error(), unreadable);
      continue;
    }
    std::optional<ImageSize>& size = options.size;
    if (!size) size = size_of(*image);
    if (size_of(*image) != *size && !options.fits) {
      const std::string advice =
          request.expected_spec != nullptr ? "resize=yes makes them fit" : "give size=HEIGHTxWIDTH";
      return Error{Code::kDataLoss,
                   "the image is " + size_of(*image).text() + ", expected is " + size->text() + "; " + advice, path};
    }
    images.push_back(resize(*image, size->height, size->width));
    pixels += static_cast<std::int64_t>(images.back().pixels.size());
    if (pixels > kMaxFeatures) {
      return Error{Code::kResourceExhausted, "the images are more than " + std::to_string(kMaxFeatures) + " numbers",
                   root};
    }
  }
  if (unreadable.files.empty()) return images;
  const std::size_t all = listing.files.size(), found = unreadable.files.size();
  const auto allowed =
      std::max<std::size_t>(1, static_cast<std::size_t>(options.unreadable_share * static_cast<double>(all)));
  const std::string text = std::to_string(found) + " of " + std::to_string(all) +
                           (found == 1 ? " images is" : " images are") + " unreadable";
  if (found > allowed || images.empty()) {
    return Error{
        Code::kDataLoss,
        text + ", at most " + std::to_string(allowed) + " may be (unreadable=SHARE sets it): " + unreadable.first,
        root};
  }
  warnings.push_back(text + " and left out: " + unreadable.first);
  remove_files(unreadable.files, listing);
  return images;
}

Result<std::int64_t> channels_of(const ReadRequest& request, const std::vector<formats::Image>& images) {
  LANISTA_ASSIGN(const std::string color, request.source.choice("color", {"auto", "grey", "rgb"}));
  if (request.expected_spec != nullptr) {
    return std::int64_t{
        request.expected_spec->features.rank() == 3 && request.expected_spec->features.dims[0] == 3 ? 3 : 1};
  }
  const bool any = std::ranges::any_of(images, [](const formats::Image& i) { return i.channels == 3; });
  return std::int64_t{color == "rgb" || (color == "auto" && any) ? 3 : 1};
}

Tensor stack(std::vector<formats::Image>& images, std::int64_t channels, const std::string& name) {
  const ImageSize size = size_of(images.front());
  Tensor out{.name = name,
             .type = ElementType::kU8,
             .shape = {static_cast<std::int64_t>(images.size()), channels, size.height, size.width},
             .bytes = {}};
  out.bytes.reserve(static_cast<std::size_t>(out.elements()));
  for (formats::Image& image : images) {
    const formats::Image same = with_channels(image, channels);
    const auto bytes = std::as_bytes(std::span(same.pixels));
    out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
    image.pixels = {};
  }
  return out;
}

/// The names of the folders directly below that of each class. "" stands for pictures in the class itself.
using ClassFolders = std::map<std::string, std::set<std::string>>;

/// The folders from the names of files: CLASS/FOLDER/picture.png. Precondition: there are no parts.
ClassFolders folders_in_classes(const std::vector<ImageFile>& files) {
  ClassFolders out;
  for (const ImageFile& file : files) {
    std::set<std::string>& folders = out[*file.cls];
    const std::size_t begin = file.cls->size() + 1, end = file.name.find('/', begin);
    folders.insert(end == std::string::npos ? "" : file.name.substr(begin, end - begin));
  }
  return out;
}

/// A warning if the folders that are read as classes look like parts: all hold the same folders.
void warn_of_parts(const ClassFolders& folders, std::vector<std::string>& warnings) {
  const std::set<std::string>& first = folders.begin()->second;
  if (first.size() < 2) return;
  if (std::ranges::any_of(folders, [&](const auto& each) { return each.second != first; })) return;
  warnings.push_back("every class holds the same folders, such as \"" + *first.rbegin() +
                     "\"; if these are the classes, give the folders above them the names train, val and test");
}

/// The classes of a new data set: the folders of the pictures for training.
Result<std::vector<std::string>> find_classes(const ReadRequest& request, const std::string& root,
                                              const ImageListing& listing, std::vector<std::string>& warnings) {
  std::vector<std::string> classes;
  for (std::size_t i = 0; i < listing.first_validation; ++i) classes.push_back(*listing.files[i].cls);
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  if (classes.size() < 2) {
    const bool has_folders =
        !listing.has_parts && folders_in_classes(listing.files) != ClassFolders{{classes[0], {""}}};
    return Error{Code::kDataLoss,
                 "there is one class alone, \"" + classes[0] + "\"" +
                     (has_folders ? "; if the folders in it are the classes, give " + request.source.kind + ":" +
                                        resolve_path(classes[0], request.source.argument)
                                  : ""),
                 root};
  }
  for (std::size_t i = listing.first_validation; i < listing.files.size(); ++i) {
    const ImageFile& file = listing.files[i];
    if (std::ranges::binary_search(classes, *file.cls)) continue;
    const std::string part = file.name.substr(0, file.name.find('/') + 1), train = listing.files.front().name;
    const auto count = std::ranges::count_if(
        listing.files, [&](const ImageFile& each) { return each.cls == file.cls && each.name.starts_with(part); });
    return Error{Code::kDataLoss,
                 part + " has a class that " + train.substr(0, train.find('/') + 1) + " lacks: \"" + *file.cls +
                     "\" with " + std::to_string(count) + (count == 1 ? " image" : " images"),
                 root};
  }
  if (!listing.has_parts) warn_of_parts(folders_in_classes(listing.files), warnings);
  return classes;
}

/// One class number for each file. Files without a known class have 0, and are listed in `without`.
std::vector<std::int32_t> class_numbers(const std::vector<ImageFile>& files, const std::vector<std::string>& classes,
                                        std::vector<std::size_t>& without) {
  std::vector<std::int32_t> out;
  for (const ImageFile& file : files) {
    const auto it = file.cls ? std::ranges::find(classes, *file.cls) : classes.end();
    if (it == classes.end()) without.push_back(out.size());
    out.push_back(it == classes.end() ? 0 : static_cast<std::int32_t>(it - classes.begin()));
  }
  return out;
}

/// A warning with the folders of new pictures that are no class of the model, and their numbers of pictures.
void warn_of_unknown_classes(const std::vector<ImageFile>& files, const std::vector<std::string>& classes,
                             std::vector<std::string>& warnings) {
  constexpr std::size_t kShown = 5;
  std::map<std::string, std::int64_t> unknown;
  std::int64_t images = 0;
  for (const ImageFile& file : files) {
    if (!file.cls || std::ranges::find(classes, *file.cls) != classes.end()) continue;
    ++unknown[*file.cls];
    ++images;
  }
  if (unknown.empty()) return;
  std::string names;
  std::size_t shown = 0;
  for (const auto& [name, count] : unknown) {
    if (shown++ == kShown) break;
    const std::string nearest = nearest_name(name, classes);
    names += (names.empty() ? "\"" : ", \"") + name + "\" (" + std::to_string(count) +
             (nearest.empty() ? "" : ", did you mean \"" + nearest + "\"?") + ")";
  }
  if (unknown.size() > kShown) names += " and " + std::to_string(unknown.size() - kShown) + " more";
  warnings.push_back(std::to_string(images) + (images == 1 ? " image lies" : " images lie") + " in " +
                     std::to_string(unknown.size()) + (unknown.size() == 1 ? " folder" : " folders") +
                     " of no known class: " + names);
}

}  // namespace

Result<LoadedRows> read_images(const ReadRequest& request) {
  const Source& source = request.source;
  const std::string root = request.path(source.argument);
  if (source.argument.empty()) return source.error("expected a folder, folder:DIR");
  LANISTA_ASSIGN(ImageOptions options, read_options(request));
  const bool is_new = request.expected_spec != nullptr;
  ImageListing listing;
  if (is_new && !is_folder(*request.fs, root)) {
    listing = {.files = {{"", std::nullopt}}, .first_validation = 1, .first_test = 1};
  } else {
    LANISTA_ASSIGN(listing, list_images(request, root));
  }
  std::vector<std::string> warnings, classes;
  if (is_new) {
    classes = request.expected_spec->labels;
  } else {
    LANISTA_ASSIGN(classes, find_classes(request, root, listing, warnings));
  }
  if (!listing.unread.empty()) warnings.push_back(unread_text(listing.unread));
  LANISTA_ASSIGN(auto images, load_images(request, root, std::move(options), listing, warnings));
  std::vector<std::size_t> without;
  const std::vector<std::int32_t> labels = class_numbers(listing.files, classes, without);
  if (is_new) warn_of_unknown_classes(listing.files, classes, warnings);

  LANISTA_ASSIGN(const std::int64_t channels, channels_of(request, images));
  Arrays arrays{.x = stack(images, channels, root), .y = {}, .labels = classes, .names = {}};
  const bool has_labels = without.size() < labels.size();
  if (has_labels) {
    const auto bytes = std::as_bytes(std::span(labels));
    arrays.y = Tensor{.name = root,
                      .type = ElementType::kI32,
                      .shape = {static_cast<std::int64_t>(labels.size())},
                      .bytes = {bytes.begin(), bytes.end()}};
  }
  for (const ImageFile& file : listing.files) arrays.names.push_back(file.name.empty() ? source.argument : file.name);
  LANISTA_ASSIGN(LoadedRows found, rows_from_arrays(std::move(arrays), "classes", request.expected_spec));
  for (std::size_t row = listing.first_validation; row < listing.files.size(); ++row) {
    (row < listing.first_test ? found.validation : found.test).push_back(static_cast<std::int64_t>(row));
  }
  if (has_labels) found.rows_without_target = std::move(without);
  found.raw.data_warnings = std::move(warnings);
  found.raw.spec.name = stem_of(root);
  return found;
}

}  // namespace lanista::data
