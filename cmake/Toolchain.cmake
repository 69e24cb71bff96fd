# Compiler and linker settings. They live on the target heddle_flags, so a project that includes Heddle as a
# subdirectory keeps its own; only the build type and the compiler cache are set globally, and only at the top.
if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(HEDDLE_CCACHE ccache)
  if(HEDDLE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${HEDDLE_CCACHE})
  endif()
endif()

add_library(heddle_flags INTERFACE)
target_compile_features(heddle_flags INTERFACE cxx_std_20)
target_compile_options(heddle_flags INTERFACE -Wall -Wextra)
# Contraction is a matter of the kernel's text, never of our compiler's mood: the interpreter is the oracle.
target_compile_options(heddle_flags INTERFACE -ffp-contract=off)
if(HEDDLE_WERROR)
  target_compile_options(heddle_flags INTERFACE -Werror)
endif()

# lld links the static LLVM in about a second; GNU ld needs ten. g++ finds it only as "ld.lld" in a -B folder.
find_program(HEDDLE_LLD NAMES ld.lld PATHS /usr/lib/llvm-19/bin NO_DEFAULT_PATH)
if(HEDDLE_LLD)
  get_filename_component(HEDDLE_LLD_DIR ${HEDDLE_LLD} DIRECTORY)
  target_link_options(heddle_flags INTERFACE -fuse-ld=lld -B${HEDDLE_LLD_DIR})
endif()

if(HEDDLE_SANITIZE)
  target_compile_options(heddle_flags INTERFACE -fsanitize=${HEDDLE_SANITIZE} -fno-sanitize-recover=all
                                                -fno-omit-frame-pointer -g1)
  # GCC 12 sees uninitialised members in its own <regex> once that is instrumented.
  target_compile_options(heddle_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(heddle_flags INTERFACE -fsanitize=${HEDDLE_SANITIZE})
  # The code generator instruments what it compiles in the same way.
  if(HEDDLE_SANITIZE STREQUAL "thread")
    target_compile_definitions(heddle_flags INTERFACE HEDDLE_TSAN=1)
  endif()
endif()
