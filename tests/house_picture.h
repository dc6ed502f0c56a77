#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace lanista::layering {

/// Room -> the rooms that its product files include (tests and what is made for them do not count), itself left out.
using Arrows = std::map<std::string, std::set<std::string>>;

/// The arrows of the sources below `rooms` (one folder a room).
Arrows arrows_of(const std::filesystem::path& rooms);

/// Without the arrows that others imply: an arrow from a to c goes where one can walk from a over others to c. Throws
/// std::runtime_error for a cycle.
Arrows without_implied(const Arrows& arrows);

/// The rooms in storeys, each above all that it stands on, and their arrows, as Markdown: a text for terminals and a
/// diagram for readers that draw Mermaid.
std::string picture_of(const Arrows& arrows);

/// `page` with `picture` between the lines kPictureBegins and kPictureEnds. Throws std::runtime_error if they are not
/// there.
std::string with_picture(std::string_view page, std::string_view picture);

inline constexpr std::string_view kPictureBegins = "<!-- made from the includes by tests/draw_house.cpp -->\n";
inline constexpr std::string_view kPictureEnds = "<!-- end of what draw_house made -->\n";

}  // namespace lanista::layering
