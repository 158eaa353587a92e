#pragma once

#include <span>

namespace basalt::server {

// How a figure changes: see figures.def.
enum class FigureKind : unsigned char { kCounter, kGauge, kNever };

struct Figure {
  const char* name;
  const char* subsystem;
  FigureKind kind;
  unsigned long long (*read)();
  const char* text;
};

// All of them, in the order of figures.def.
std::span<const Figure> figures();

// One by one; 0 while the engine does not run.
namespace figure {
#define BASALT_FIGURE(name, subsystem, kind, value, text) unsigned long long name();
#include "server/introspect/figures.def"
#undef BASALT_FIGURE
}  // namespace figure

}  // namespace basalt::server
