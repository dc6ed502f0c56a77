#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace lanista::layering {

/// Maps a layer to the other layers that its product files include. Test files do not count.
using Arrows = std::map<std::string, std::set<std::string>>;

/// Returns the arrows of the sources below `layers`, which has one folder a layer.
Arrows arrows_of(const std::filesystem::path& layers);

/// Returns `arrows` without those which others imply: an arrow from a to c goes if a path over other layers leads from
/// a to c. Throws std::runtime_error for a cycle.
Arrows without_implied(const Arrows& arrows);

/// Returns the layers by level, each above all that it includes, with their arrows, as Markdown: a text for terminals
/// and a Mermaid diagram.
std::string picture_of(const Arrows& arrows);

/// Returns `page` with `picture` between the lines kPictureBegins and kPictureEnds. Throws std::runtime_error if the
/// page lacks one of them.
std::string with_picture(std::string_view page, std::string_view picture);

inline constexpr std::string_view kPictureBegins =
    "<!-- generated from the includes by tests/write_layer_picture.cpp -->\n";
inline constexpr std::string_view kPictureEnds = "<!-- end of the generated picture -->\n";
inline constexpr std::string_view kPicturePage = "docs/internals/architecture.md";

}  // namespace lanista::layering
