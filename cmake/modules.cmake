# basalt_module(NAME [DEPENDS folder...] [FOREIGN target...])
#
# One folder of src/ is one library and one layer:
#   basalt_NAME        static library of src/NAME/*.cc
#   NAME_link_check    the same objects, linked whole against only the declared dependencies: an
#                      undeclared one fails the build
#   NAME_test          src/NAME/*_test.cc, run by ctest
#   NAME_bench         src/NAME/*_bench.cc; ctest only tries that it runs
# tools/check_layers.py checks the same rules for headers.
function(basalt_module name)
  cmake_parse_arguments(arg "" "" "DEPENDS;FOREIGN" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS src/${name}/*.cc src/${name}/internal/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(benches ${sources})
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")
  if(NOT sources)
    return()
  endif()
  set(dependencies)
  foreach(dependency ${arg_DEPENDS})
    if(NOT TARGET basalt_${dependency})
      message(FATAL_ERROR "module ${name} depends on ${dependency}, which is not built yet")
    endif()
    list(APPEND dependencies basalt_${dependency})
  endforeach()

  add_library(basalt_${name} STATIC ${sources})
  target_include_directories(basalt_${name} PUBLIC src)
  target_compile_options(basalt_${name} PRIVATE ${BASALT_WARNINGS})
  target_link_libraries(basalt_${name} PUBLIC ${dependencies} ${arg_FOREIGN} Threads::Threads)

  add_library(${name}_link_check SHARED cmake/empty.cc)
  target_link_libraries(${name}_link_check PRIVATE
    "$<LINK_LIBRARY:WHOLE_ARCHIVE,basalt_${name}>" ${dependencies} ${arg_FOREIGN} Threads::Threads)
  if(NOT BASALT_FLAVOUR MATCHES "asan|tsan|fuzz")
    target_link_options(${name}_link_check PRIVATE -Wl,--no-undefined)
  endif()

  if(tests)
    add_executable(${name}_test ${tests})
    target_compile_options(${name}_test PRIVATE ${BASALT_WARNINGS})
    target_link_libraries(${name}_test PRIVATE basalt_${name} GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name}_test)
  endif()

  if(benches AND BASALT_FLAVOUR MATCHES "^(release|dev)$")
    add_executable(${name}_bench ${benches})
    target_compile_options(${name}_bench PRIVATE ${BASALT_WARNINGS})
    target_link_libraries(${name}_bench PRIVATE basalt_${name} GTest::gtest
      benchmark::benchmark_main)
    add_test(NAME ${name}_bench_smoke COMMAND ${name}_bench --benchmark_min_time=0.001)
  endif()
endfunction()
