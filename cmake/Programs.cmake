# Samples, benchmarks and tools: programs like a user's, linked against libheddle.so alone.

# Command line, report and peer shared by them.
add_library(sample_common STATIC EXCLUDE_FROM_ALL
  ${PROJECT_SOURCE_DIR}/samples/common/options.cpp ${PROJECT_SOURCE_DIR}/samples/common/blas.cpp)
target_include_directories(sample_common PUBLIC ${PROJECT_SOURCE_DIR}/samples)
target_link_libraries(sample_common PUBLIC heddle heddle_flags Threads::Threads ${CMAKE_DL_LIBS})

# One program from ${folder}/<name>.cpp or from all .cpp files of ${folder}/<name>/.
function(heddle_add_programs folder prefix)
  file(GLOB entries CONFIGURE_DEPENDS LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/${folder}/*)
  list(FILTER entries EXCLUDE REGEX "/(common|interop)$")
  foreach(entry IN LISTS entries)
    set(sources "")
    if(IS_DIRECTORY ${entry})
      file(GLOB sources CONFIGURE_DEPENDS ${entry}/*.cpp)
    elseif(entry MATCHES "\\.cpp$")
      set(sources ${entry})
    endif()
    if(sources)
      get_filename_component(name ${entry} NAME_WE)
      add_executable(${prefix}_${name} ${sources})
      target_link_libraries(${prefix}_${name} PRIVATE sample_common)
      set_target_properties(${prefix}_${name} PROPERTIES
        OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder} CXX_EXTENSIONS OFF)
    endif()
  endforeach()
endfunction()

if(HEDDLE_SAMPLES)
  heddle_add_programs(samples sample)
endif()
if(HEDDLE_BENCH)
  heddle_add_programs(bench bench)
  # The samples' kernels for other languages.
  add_library(bench_interop MODULE ${PROJECT_SOURCE_DIR}/bench/interop/kernels.cpp)
  target_link_libraries(bench_interop PRIVATE sample_common)
  set_target_properties(bench_interop PROPERTIES
    PREFIX "" OUTPUT_NAME heddle_samples LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench CXX_EXTENSIONS OFF)
  heddle_add_programs(tools tool)
endif()
