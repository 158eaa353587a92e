# Build flavours. `release` is what users get; `dev` adds the row path's asserts and the
# failpoints; `asan` and `tsan` are `dev` under a sanitizer.
set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1")

add_compile_options(
  -march=x86-64-v2 -mpclmul
  -fvisibility=hidden -fvisibility-inlines-hidden -fno-gnu-unique
  -fno-omit-frame-pointer)

if(BASALT_FLAVOUR STREQUAL "release")
  add_compile_definitions(NDEBUG)
elseif(BASALT_FLAVOUR STREQUAL "dev")
  add_compile_definitions(BASALT_DEBUG BASALT_FAILPOINTS)
elseif(BASALT_FLAVOUR STREQUAL "asan")
  add_compile_definitions(BASALT_DEBUG BASALT_FAILPOINTS)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(BASALT_FLAVOUR STREQUAL "tsan")
  add_compile_definitions(BASALT_DEBUG BASALT_FAILPOINTS)
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
else()
  message(FATAL_ERROR
    "BASALT_FLAVOUR is '${BASALT_FLAVOUR}'; it must be release, dev, asan or tsan")
endif()

# Our own code only; foreign headers come in as SYSTEM.
set(BASALT_WARNINGS -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wswitch-enum
    -Wcast-qual -Wformat=2 -Werror)
