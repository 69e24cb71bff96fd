# What Heddle is built from. All of it stays inside the library: users need none of these packages.
find_package(Threads REQUIRED)

# Three traps in Debian's LLVM 19 package: "19" alone rejects 19.1.7, the C language must be enabled, and
# component names are case-sensitive.
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19)
llvm_map_components_to_libnames(HEDDLE_LLVM_LIBRARIES
  Analysis AsmParser CodeGen Core IPO IRReader Linker MC OrcJIT Passes Support Target TargetParser TransformUtils
  ${LLVM_NATIVE_ARCH}AsmParser ${LLVM_NATIVE_ARCH}CodeGen ${LLVM_NATIVE_ARCH}Desc ${LLVM_NATIVE_ARCH}Info
  NVPTXCodeGen NVPTXDesc NVPTXInfo)
add_library(heddle_llvm_headers INTERFACE)
target_include_directories(heddle_llvm_headers SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(heddle_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(heddle_llvm_headers INTERFACE ${heddle_llvm_definitions})

# fmt: Debian ships no static library, and a shared one would tie our users to its version. Its definitions are
# compiled once, in cmake/fmt.cpp: header-only mode costs every file two seconds.
find_package(fmt 9.1 REQUIRED CONFIG)
add_library(heddle_fmt INTERFACE)
get_target_property(heddle_fmt_includes fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(heddle_fmt SYSTEM INTERFACE ${heddle_fmt_includes})
if(fmt_VERSION VERSION_GREATER_EQUAL 10)
  target_compile_definitions(heddle_fmt INTERFACE FMT_HEADER_ONLY=1)
endif()

# xxHash is used header-only (XXH_INLINE_ALL), so its symbols can't meet another copy's.
find_path(HEDDLE_XXHASH_INCLUDE xxhash.h REQUIRED)
