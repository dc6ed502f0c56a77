#include "lanista/io/data/image_listing.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "lanista/base/utf8.h"

namespace lanista::data {
namespace {

constexpr std::size_t kShownNames = 5;
constexpr std::string_view kKnownLayouts =
    "known are CLASS/picture.png, also with folders in CLASS, and train/CLASS/picture.png with val/, test/ or both "
    "next "
    "to train/";
/// The names of folders that are parts, in lower case, and the number of the part: training, validation, test.
constexpr std::array<std::pair<std::string_view, std::size_t>, 8> kPartNames{{{"train", 0},
                                                                              {"training", 0},
                                                                              {"val", 1},
                                                                              {"valid", 1},
                                                                              {"validation", 1},
                                                                              {"eval", 1},
                                                                              {"test", 2},
                                                                              {"testing", 2}}};

/// Endings of pictures that are not read. Those of other files, such as texts and tables, are no pictures.
constexpr std::string_view kUnreadKinds =
    ".apng.arw.avif.bmp.cr2.cr3.cur.dcm.dds.dib.dng.emf.eps.exr.gif.hdr.heic.heif.hif.ico.j2k.jfif.jif.jp2"
    ".jpe.jpx.jxl.nef.orf.pbm.pcx.pgm.pnm.ppm.psd.raf.svg.tga.tif.tiff.webp.";

/// The names of folders by part; empty: there is no such part.
using PartFolders = std::array<std::string, 3>;

/// Names of a folder, sorted by bytes.
struct FolderEntries {
  std::vector<std::string> images, folders, others;
};

bool is_image(const std::string& name) {
  const std::string ending = extension_of(name);
  return ending == "png" || ending == "jpg" || ending == "jpeg";
}

/// Counts the files of each kind of picture that is not read.
void count_unread(const std::vector<std::string>& names, std::map<std::string, std::size_t>& unread) {
  for (const std::string& name : names) {
    const std::string ending = extension_of(name);
    if (!ending.empty() && kUnreadKinds.find("." + ending + ".") != std::string_view::npos) ++unread[ending];
  }
}

/// The part that a folder of this name is; none if it is no part.
std::optional<std::size_t> part_of(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const auto part =
      std::ranges::find(kPartNames, std::string_view(name), &std::pair<std::string_view, std::size_t>::first);
  return part == kPartNames.end() ? std::nullopt : std::optional(part->second);
}

/// The first of `names`, and the number of the others: "a", "b" and 7 more.
std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kShownNames); ++i)
    out += (i > 0 ? ", \"" : "\"") + names[i] + "\"";
  if (names.size() > kShownNames) out += " and " + std::to_string(names.size() - kShownNames) + " more";
  return out;
}

/// What a folder holds, for messages: the folders "a", "b"; 3 pictures; 2 other files, such as "c.bmp".
std::string content_text(const FolderEntries& content) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  if (!content.folders.empty()) {
    add((content.folders.size() == 1 ? "the folder " : "the folders ") + listed(content.folders));
  }
  if (!content.images.empty()) {
    add(content.images.size() == 1 ? "one picture, \"" + content.images.front() + "\""
                                   : std::to_string(content.images.size()) + " pictures");
  }
  if (!content.others.empty()) {
    add(content.others.size() == 1
            ? "one other file, \"" + content.others.front() + "\""
            : std::to_string(content.others.size()) + " other files, such as \"" + content.others.front() + "\"");
  }
  return out.empty() ? "nothing" : out;
}

/// A part of a message that follows another one.
std::string after(const std::string& text) { return text.empty() ? "" : "; " + text; }

/// Lists the pictures of one source.
class Lister {
 public:
  Lister(const ReadRequest& request, std::string root) : request_(request), root_(std::move(root)) {}

  Result<ImageListing> all() {
    LANISTA_ASSIGN(const FolderEntries top, entries_of(""));
    LANISTA_ASSIGN(parts_, parts_in(top));
    ImageListing out{.files = {}, .has_parts = parts_.has_value()};
    for (std::size_t part = 0; part < 3; ++part) {
      if (part == 1) out.first_validation = out.files.size();
      if (part == 2) out.first_test = out.files.size();
      const std::string folder = parts_ ? (*parts_)[part] : "";
      if (part > 0 && folder.empty()) continue;
      LANISTA_TRY(add_part(folder, out.files));
    }
    out.unread = std::move(unread_);
    return out;
  }

 private:
  Result<FolderEntries> entries_of(const std::string& folder) {
    const std::string path = path_of(folder);
    LANISTA_ASSIGN(const auto names, request_.fs->list(path));
    FolderEntries out;
    for (const std::string& name : names) {
      if (name.starts_with('.')) continue;
      if (find_invalid_utf8(name) != std::string_view::npos) {
        return Error{Code::kDataLoss, "a file name is not UTF-8", path};
      }
      if (is_image(name)) {
        out.images.push_back(name);
      } else {
        (is_folder(*request_.fs, resolve_path(name, path)) ? out.folders : out.others).push_back(name);
      }
    }
    if (++folders_ > kMaxImageFolders) {
      return Error{Code::kResourceExhausted,
                   "there are more than " + std::to_string(kMaxImageFolders) +
                       " folders, each counted as often as links lead to it",
                   root_};
    }
    listed_ += 1 + out.images.size();
    if (listed_ > kMaxImageFiles) {
      return Error{Code::kResourceExhausted,
                   "there are more than " + std::to_string(kMaxImageFiles) + " folders and pictures", root_};
    }
    return out;
  }

  /// The parts above the classes; none if the folders are classes.
  Result<std::optional<PartFolders>> parts_in(const FolderEntries& top) {
    const std::optional<PartFolders> none;
    if (!top.images.empty()) return none;
    if (request_.rules < 2) {
      if (top.folders != std::vector<std::string>{"test", "train"}) return none;
      return std::optional(PartFolders{"train", "", "test"});
    }
    PartFolders parts;
    std::vector<std::string> others;
    std::string twice;          // a second folder of a part
    bool has_pictures = false;  // directly in a part
    for (const std::string& folder : top.folders) {
      const auto part = part_of(folder);
      if (!part) {
        others.push_back(folder);
        continue;
      }
      if (!parts[*part].empty()) twice = folder;
      parts[*part] = folder;
      LANISTA_ASSIGN(const FolderEntries content, entries_of(folder));
      has_pictures = has_pictures || !content.images.empty();
    }
    if (parts[0].empty() || (parts[1].empty() && parts[2].empty())) return none;
    const bool is_new = request_.expected_spec != nullptr;  // then the names of folders decide nothing
    if (!twice.empty()) {
      if (is_new) return none;
      return layout_error("\"" + twice + "\" and another folder are names of the same part", top);
    }
    for (const std::string& folder : others) {
      std::vector<ImageFile> files;
      LANISTA_TRY(add_tree(folder, folder, 0, files));
      unread_.clear();
      if (files.empty()) continue;              // a folder of texts next to the parts, for instance
      if (has_pictures || is_new) return none;  // they are all classes, such as train, tram and test
      return layout_error("\"" + folder + "\" next to \"" + parts[0] + "\" is no part, and it holds pictures", top);
    }
    return std::optional(parts);
  }

  /// Adds the pictures of a part: by class, and those outside of classes if they are new pictures.
  Result<void> add_part(const std::string& part, std::vector<ImageFile>& files) {
    const bool is_first = request_.rules < 2;
    LANISTA_ASSIGN(const FolderEntries content, entries_of(part));
    if (!content.images.empty() && request_.expected_spec == nullptr) {
      const bool is_later_part = parts_ && part != (*parts_)[0];
      return layout_error("image \"" + content.images.front() + "\" lies in no folder of a class" +
                              (is_later_part ? "; to leave \"" + part + "\" out, give folder:" +
                                                   resolve_path((*parts_)[0], request_.source.argument)
                                             : ""),
                          content, part);
    }
    const std::size_t before = files.size();
    count_unread(content.others, unread_);
    for (const std::string& image : content.images) files.push_back({below(part, image), std::nullopt});
    if (!content.images.empty() && is_first) return {};
    for (const std::string& cls : content.folders) {
      const std::string folder = below(part, cls);
      const std::size_t first = files.size();
      const auto unread_before = std::exchange(unread_, {});
      LANISTA_TRY(add_tree(folder, cls, 0, files));
      const auto unread = unread_;
      for (const auto& [ending, count] : unread_before) unread_[ending] += count;
      if (files.size() > first || (request_.expected_spec != nullptr && !is_first)) continue;
      LANISTA_ASSIGN(const FolderEntries inside, entries_of(folder));
      return layout_error("the folder of class \"" + cls + "\" holds no PNG or JPEG" + after(unread_text(unread)),
                          inside, folder);
    }
    if (files.size() > before) return {};
    return layout_error("there are no images (PNG, JPEG)" + after(unread_text(unread_)), content, part);
  }

  /// Adds the pictures of a class: those in `folder`, then those in the folders below it, which rules 1 ignore. There
  /// are `depth` folders between `folder` and that of the class.
  Result<void> add_tree(const std::string& folder, const std::string& cls, std::size_t depth,
                        std::vector<ImageFile>& files) {
    LANISTA_ASSIGN(const FolderEntries content, entries_of(folder));
    count_unread(content.others, unread_);
    for (const std::string& image : content.images) files.push_back({below(folder, image), cls});
    if (request_.rules < 2) return {};
    for (const std::string& inner : content.folders) {
      if (depth == kMaxImageFolderDepth) {
        return Error{Code::kDataLoss,
                     "more than " + std::to_string(kMaxImageFolderDepth) + " folders lie in each other below \"" + cls +
                         "\"; a link may lead back to a folder above it",
                     path_of(below(folder, inner))};
      }
      LANISTA_TRY(add_tree(below(folder, inner), cls, depth + 1, files));
    }
    return {};
  }

  Error layout_error(const std::string& message, const FolderEntries& found, const std::string& folder = "") const {
    return {Code::kDataLoss, message + "; the folder holds " + content_text(found) + "; " + std::string(kKnownLayouts),
            path_of(folder)};
  }
  std::string path_of(const std::string& folder) const { return folder.empty() ? root_ : resolve_path(folder, root_); }
  static std::string below(const std::string& folder, const std::string& name) {
    return folder.empty() ? name : folder + "/" + name;
  }

  const ReadRequest& request_;
  std::string root_;
  std::optional<PartFolders> parts_;
  std::size_t listed_ = 0;   // folders and pictures
  std::size_t folders_ = 0;  // folders alone
  std::map<std::string, std::size_t> unread_;
};

}  // namespace

std::string unread_text(const std::map<std::string, std::size_t>& unread) {
  std::string out;
  std::size_t total = 0, at = 0;
  for (const auto& [ending, count] : unread) {
    out += at == 0 ? "" : at + 1 == unread.size() ? " and " : ", ";
    out += std::to_string(count) + (at++ > 0 ? "" : count == 1 ? " file" : " files") + " of kind ." + ending;
    total += count;
  }
  if (out.empty()) return out;
  return out + (total == 1 ? " is not read; convert it" : " are not read; convert them") + " to PNG or JPEG";
}

Result<ImageListing> list_images(const ReadRequest& request, const std::string& root) {
  return Lister(request, root).all();
}

}  // namespace lanista::data
