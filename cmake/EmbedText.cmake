# Turns text files into C++: every list of files becomes a function that gives their texts, and one that gives the hash
# of the texts joined, as a content security policy writes it. Run as a script by lanista_embed_page(), which says when.
#
#   cmake -DOUTPUT=<file.cpp> -DSCRIPTS=<files> -DSTYLES=<files> -P EmbedText.cmake        (lists separated by "|")
if(NOT CMAKE_SCRIPT_MODE_FILE)
  # lanista_embed_page(<file.cpp> SCRIPTS <files> STYLES <files>): makes <file.cpp> in the build folder, anew when a text
  # changes.
  function(lanista_embed_page output)
    cmake_parse_arguments(arg "" "" "SCRIPTS;STYLES" ${ARGN})
    list(TRANSFORM arg_SCRIPTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(TRANSFORM arg_STYLES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(JOIN arg_SCRIPTS "|" scripts)
    list(JOIN arg_STYLES "|" styles)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} "-DSCRIPTS=${scripts}" "-DSTYLES=${styles}"
              -P ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
      DEPENDS ${arg_SCRIPTS} ${arg_STYLES} ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake
      COMMENT "Embedding the report page" VERBATIM)
  endfunction()
  return()
endif()

# Base64 of a hexadecimal SHA-256: three digits make two characters; of the 64th digit's six bits two are padding.
function(base64_of_hex hex result)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(text "")
  foreach(at RANGE 0 60 3)
    string(SUBSTRING ${hex} ${at} 3 digits)
    math(EXPR high "0x${digits} >> 6")
    math(EXPR low "0x${digits} & 63")
    string(SUBSTRING ${alphabet} ${high} 1 first)
    string(SUBSTRING ${alphabet} ${low} 1 second)
    string(APPEND text ${first}${second})
  endforeach()
  string(SUBSTRING ${hex} 63 1 digit)
  math(EXPR last "0x${digit} << 2")
  string(SUBSTRING ${alphabet} ${last} 1 first)
  set(${result} "${text}${first}=" PARENT_SCOPE)
endfunction()

set(code "// Made by cmake/EmbedText.cmake from the texts of the report page.\n#include \"lanista/report/page_assets.h\"\n\n")
string(APPEND code "namespace lanista::report {\nnamespace {\n\n")
set(functions "")
foreach(kind IN ITEMS script style)
  string(TOUPPER ${kind}S list)
  string(REPLACE "|" ";" files "${${list}}")
  set(all "")
  string(APPEND code "constexpr std::string_view k_${kind}[] = {\n")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REPLACE ")embedded\"" "" without "${text}")
    string(TOLOWER "${text}" lower)
    if(NOT without STREQUAL text OR lower MATCHES "</(script|style)|<!--")
      message(FATAL_ERROR "${file} holds a text that would end its element or its C++ literal")
    endif()
    string(APPEND all "${text}")
    string(APPEND code "    R\"embedded(${text})embedded\",\n")
  endforeach()
  string(APPEND code "};\n")
  string(SHA256 hex "${all}")
  base64_of_hex(${hex} hash)
  string(APPEND functions "std::span<const std::string_view> page_${kind}() { return k_${kind}; }\n")
  string(APPEND functions "std::string_view page_${kind}_hash() { return \"sha256-${hash}\"; }\n")
endforeach()
string(APPEND code "\n}  // namespace\n\n${functions}\n}  // namespace lanista::report\n")
file(WRITE "${OUTPUT}" "${code}")
