# The library: two sets of objects, so that LLVM's headers are within reach of the targets' folders only, and the
# shared library made of both.

# What users may include; everything else is internal and not installed. Patterns, relative to the project.
set(HEDDLE_PUBLIC_HEADERS
  dsl/heddle.h dsl/arguments.h dsl/control.h dsl/dim.h dsl/dot.h dsl/extents.h dsl/kernel.h dsl/literal.h dsl/math.h
  dsl/memory.h dsl/operators.h dsl/pointer.h dsl/record.h dsl/reduce.h dsl/shape.h dsl/tile.h dsl/var.h dsl/view.h
  dsl/work.h
  codegen/ir/export.h codegen/ir/location.h codegen/ir/error.h codegen/ir/dtype.h codegen/ir/schedule.h
  codegen/ir/ops.def
  runtime/launch.h runtime/buffer.h runtime/interop.h runtime/stream.h runtime/tensor.h)

file(GLOB heddle_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/dsl/*.cpp ${PROJECT_SOURCE_DIR}/codegen/*.cpp ${PROJECT_SOURCE_DIR}/codegen/*/*.cpp
  ${PROJECT_SOURCE_DIR}/runtime/*.cpp
  ${PROJECT_SOURCE_DIR}/runtime/*/*.cpp)
set(heddle_llvm_sources ${heddle_sources})
list(FILTER heddle_llvm_sources INCLUDE REGEX "^codegen/(llvm|host|nvptx)/")
list(FILTER heddle_sources EXCLUDE REGEX "^codegen/(llvm|host|nvptx)/")

# <heddle/heddle.h> in the build tree forwards to the source; installed headers are laid out by cmake/Install.cmake.
file(WRITE ${PROJECT_BINARY_DIR}/include/heddle/heddle.h.new "#include \"dsl/heddle.h\"\n")
file(COPY_FILE ${PROJECT_BINARY_DIR}/include/heddle/heddle.h.new ${PROJECT_BINARY_DIR}/include/heddle/heddle.h
  ONLY_IF_DIFFERENT)

# Objects with the settings both sets share.
function(heddle_add_objects name)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} PRIVATE ${HEDDLE_XXHASH_INCLUDE})
  target_link_libraries(${name} PUBLIC heddle_flags heddle_fmt Threads::Threads)
  target_compile_definitions(${name} PRIVATE HEDDLE_VERSION="${PROJECT_VERSION}")
  target_compile_options(${name} PRIVATE -ffunction-sections -fdata-sections)
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON CXX_EXTENSIONS OFF)
endfunction()

heddle_add_objects(heddle_objects ${heddle_sources} cmake/fmt.cpp)
set(heddle_object_files $<TARGET_OBJECTS:heddle_objects>)
if(heddle_llvm_sources)
  heddle_add_objects(heddle_llvm_objects ${heddle_llvm_sources})
  target_link_libraries(heddle_llvm_objects PRIVATE heddle_llvm_headers)
  list(APPEND heddle_object_files $<TARGET_OBJECTS:heddle_llvm_objects>)
endif()

add_library(heddle SHARED ${heddle_object_files})
add_library(heddle::heddle ALIAS heddle)
target_compile_features(heddle PUBLIC cxx_std_20)
target_include_directories(heddle INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(heddle PRIVATE
  $<BUILD_INTERFACE:heddle_flags> ${HEDDLE_LLVM_LIBRARIES} Threads::Threads ${CMAKE_DL_LIBS})
# Visibility flags don't reach into LLVM's archives. Plainly linked, 23,000 LLVM symbols would be exported, and the
# process would abort when a second LLVM is loaded. The version script is the guarantee, exclude-libs the belt.
# nodelete: worker threads and kernels outlive any dlclose().
set(heddle_exports ${PROJECT_SOURCE_DIR}/cmake/heddle.map)
target_link_options(heddle PRIVATE
  LINKER:--version-script=${heddle_exports} LINKER:--exclude-libs,ALL LINKER:--gc-sections LINKER:--as-needed
  LINKER:--build-id=sha1 LINKER:-z,relro,-z,now,-z,nodelete)
if(NOT HEDDLE_SANITIZE)  # a sanitizer's run-time library is found in the executable
  target_link_options(heddle PRIVATE LINKER:--no-undefined)
endif()
set_target_properties(heddle PROPERTIES
  LINK_DEPENDS ${heddle_exports} LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
