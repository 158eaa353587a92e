# Build flavours. `release` is what users get; `dev` adds the row path's asserts and the
# failpoints; `asan` and `tsan` are `dev` under a sanitizer; `fuzz` is `asan` with clang's
# libFuzzer, for the layers that need neither RocksDB nor the server.
set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1")

add_compile_options(
  -march=x86-64-v2 -mpclmul
  -fvisibility=hidden -fvisibility-inlines-hidden -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fno-gnu-unique)
endif()

if(BASALT_FLAVOUR STREQUAL "release")
  add_compile_definitions(NDEBUG)
elseif(BASALT_FLAVOUR STREQUAL "dev")
  add_compile_definitions(BASALT_DEBUG BASALT_FAILPOINTS)
elseif(BASALT_FLAVOUR MATCHES "^(asan|fuzz)$")
  add_compile_definitions(BASALT_DEBUG BASALT_FAILPOINTS)
  if(BASALT_FLAVOUR STREQUAL "fuzz")
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(BASALT_FLAVOUR STREQUAL "tsan")
  add_compile_definitions(BASALT_DEBUG BASALT_FAILPOINTS)
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
else()
  message(FATAL_ERROR
    "BASALT_FLAVOUR is '${BASALT_FLAVOUR}'; it must be release, dev, asan, tsan or fuzz")
endif()

# Our own code only; foreign headers come in as SYSTEM.
set(BASALT_WARNINGS -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wswitch-enum
    -Wcast-qual -Wformat=2 -Werror)
