# The installed package: the library liblanista, its headers, the program, and a package for find_package(lanista).
#
# The library has the objects of all modules below src/lanista. No source is compiled a second time. Static by default;
# BUILD_SHARED_LIBS gives a shared one. All paths in the package are relative to it, so a prefix may be moved.
if(NOT TARGET lanista_app_api)
  return()  # LANISTA_ONLY
endif()
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Public headers of modules: they include each other and the standard library alone. include/lanista has the others.
set(LANISTA_PUBLIC_HEADERS base/check.h base/result.h base/tensor.h)

# The modules that the interface links, directly or through others.
set(_modules "")
set(_queue lanista_app_api)
while(_queue)
  list(POP_FRONT _queue _next)
  if(_next IN_LIST _modules)
    continue()
  endif()
  list(APPEND _modules ${_next})
  get_target_property(_links ${_next} LINK_LIBRARIES)
  list(FILTER _links INCLUDE REGEX "^lanista_")
  list(REMOVE_ITEM _links lanista_flags)
  list(APPEND _queue ${_links})
endwhile()
list(TRANSFORM _modules REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE _objects)

# libxxhash has no package of its own. The package of lanista defines this target again, from the user's machine.
add_library(lanista::xxhash INTERFACE IMPORTED)
target_link_libraries(lanista::xxhash INTERFACE ${XXHASH_LIBRARY})

add_library(lanista_library ${_objects})
set_target_properties(lanista_library PROPERTIES OUTPUT_NAME lanista EXPORT_NAME lanista LINKER_LANGUAGE CXX
                                                 VERSION ${PROJECT_VERSION}
                                                 SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                                 ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
                                                 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
target_compile_features(lanista_library INTERFACE cxx_std_20)
target_include_directories(lanista_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(Threads REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(ZLIB REQUIRED)
target_link_libraries(lanista_library PRIVATE JPEG::JPEG PNG::PNG SQLite::SQLite3 Threads::Threads yaml-cpp ZLIB::ZLIB
                                              lanista::xxhash ${CMAKE_DL_LIBS})
if(LANISTA_SANITIZE)
  target_link_options(lanista_library PUBLIC -fsanitize=${LANISTA_SANITIZE})
endif()
add_library(lanista::lanista ALIAS lanista_library)

set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/lanista)
install(TARGETS lanista_library EXPORT lanistaTargets)
install(TARGETS lanista RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET lanista_torch)
  # The program opens it from its own folder.
  install(TARGETS lanista_torch LIBRARY DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lanista DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_BINARY_DIR}/generated/lanista/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lanista)
foreach(_header IN LISTS LANISTA_PUBLIC_HEADERS)
  cmake_path(GET _header PARENT_PATH _folder)
  install(FILES ${PROJECT_SOURCE_DIR}/src/lanista/${_header}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lanista/${_folder})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/lanista)
install(EXPORT lanistaTargets NAMESPACE lanista:: DESTINATION ${_package})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lanistaConfig.cmake.in
                              ${CMAKE_BINARY_DIR}/generated/lanistaConfig.cmake INSTALL_DESTINATION ${_package})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/lanistaConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/lanistaConfig.cmake ${CMAKE_BINARY_DIR}/generated/lanistaConfigVersion.cmake
        DESTINATION ${_package})
