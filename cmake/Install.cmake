# Installation: the library, the public headers, and the two ways in which other builds find them.
#   find_package(heddle 0.1 CONFIG)  ->  heddle::heddle
#   pkg-config --cflags --libs heddle
# Neither mentions LLVM or fmt, and both follow the installed tree when it is moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS heddle EXPORT heddleTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Headers, by a script: see InstallHeaders.cmake.
list(TRANSFORM HEDDLE_PUBLIC_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE heddle_header_patterns)
install(CODE "
  set(source ${PROJECT_SOURCE_DIR})
  set(staging ${PROJECT_BINARY_DIR}/installed-headers)
  set(patterns \"${heddle_header_patterns}\")
  set(destination \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")
  include(${PROJECT_SOURCE_DIR}/cmake/InstallHeaders.cmake)")

set(heddle_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
install(EXPORT heddleTargets NAMESPACE heddle:: DESTINATION ${heddle_package_dir})
configure_package_config_file(cmake/heddleConfig.cmake.in ${PROJECT_BINARY_DIR}/heddleConfig.cmake
  INSTALL_DESTINATION ${heddle_package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a new minor version may break its users.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heddleConfig.cmake ${PROJECT_BINARY_DIR}/heddleConfigVersion.cmake
  DESTINATION ${heddle_package_dir})

file(RELATIVE_PATH heddle_pkgconfig_to_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/heddle.pc.in ${PROJECT_BINARY_DIR}/heddle.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/heddle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES LICENSE THIRD_PARTY DESTINATION ${CMAKE_INSTALL_DOCDIR})
