# Samples and benchmarks: programs like a user's, linked against libheddle.so alone.

# One program from ${folder}/<name>.cpp or from all .cpp files of ${folder}/<name>/.
function(heddle_add_programs folder prefix)
  file(GLOB entries CONFIGURE_DEPENDS LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/${folder}/*)
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
      target_include_directories(${prefix}_${name} PRIVATE ${PROJECT_SOURCE_DIR}/${folder})
      target_link_libraries(${prefix}_${name} PRIVATE heddle heddle_flags Threads::Threads ${CMAKE_DL_LIBS})
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
endif()
