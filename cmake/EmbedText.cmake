# Turns text files into C++. For each list of files it makes two functions. One returns the texts of the files. The
# other returns the hash of the joined texts in the notation of a content security policy. Run as a script by
# lanista_embed_page().
#
#   cmake -DOUTPUT=<file.cpp> -DPREFIX=<word> -DSCRIPTS=<files> -DSTYLES=<files> -P EmbedText.cmake
#
# Lists have "|" between their entries.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  include(MadeByScript)
  # lanista_embed_page(<file.cpp> [PREFIX <word>] SCRIPTS <files> [STYLES <files>]) makes <file.cpp> in the build
  # folder, and makes it again when a text changes. Its functions are <word>_script and <word>_style, and the same names
  # with _hash. The default word is "page".
  function(lanista_embed_page output)
    cmake_parse_arguments(arg "" "PREFIX" "SCRIPTS;STYLES" ${ARGN})
    if(NOT arg_PREFIX)
      set(arg_PREFIX page)
    endif()
    list(TRANSFORM arg_SCRIPTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    if(arg_STYLES)
      list(TRANSFORM arg_STYLES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    endif()
    list(JOIN arg_SCRIPTS "|" scripts)
    list(JOIN arg_STYLES "|" styles)
    lanista_made_by_script(${output} SCRIPT EmbedText.cmake COMMENT "Embedding the report page"
                           FROM ${arg_SCRIPTS} ${arg_STYLES}
                           DEFINE PREFIX=${arg_PREFIX} SCRIPTS=${scripts} STYLES=${styles})
  endfunction()
  return()
endif()

# Base64 of a hexadecimal SHA-256. Three digits give two characters. The last digit gives one character, in which the
# last two bits are padding.
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

set(code "// Made by cmake/EmbedText.cmake from the texts of the report page.\n")
string(APPEND code "#include \"lanista/app/report/page_assets.h\"\n\n")
string(APPEND code "namespace lanista::report {\nnamespace {\n\n")
set(functions "")
foreach(kind IN ITEMS script style)
  string(TOUPPER ${kind}S list)
  string(REPLACE "|" ";" files "${${list}}")
  if(NOT files)
    continue()
  endif()
  set(all "")
  string(APPEND code "constexpr std::string_view k_${PREFIX}_${kind}[] = {\n")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REPLACE ")embedded\"" "" without "${text}")
    string(TOLOWER "${text}" lower)
    if(NOT without STREQUAL text OR lower MATCHES "</(script|style)|<!--")
      message(FATAL_ERROR "${file} contains a text that would end its element or its C++ literal")
    endif()
    string(APPEND all "${text}")
    string(APPEND code "    R\"embedded(${text})embedded\",\n")
  endforeach()
  string(APPEND code "};\n")
  string(SHA256 hex "${all}")
  base64_of_hex(${hex} hash)
  string(APPEND functions "std::span<const std::string_view> ${PREFIX}_${kind}() { return k_${PREFIX}_${kind}; }\n")
  string(APPEND functions "std::string_view ${PREFIX}_${kind}_hash() { return \"sha256-${hash}\"; }\n")
endforeach()
string(APPEND code "\n}  // namespace\n\n${functions}\n}  // namespace lanista::report\n")
file(WRITE "${OUTPUT}" "${code}")
