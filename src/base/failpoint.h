#pragma once
#include <string_view>

// Named places where a test may stop the process, to prove what a crash there leaves behind.
//
// Active only in builds with BASALT_FAILPOINTS; elsewhere the macro is nothing. The environment
// variable BASALT_FAILPOINT names one point, optionally "name:n" for its n-th visit; when the
// visit happens the process ends at once as if by SIGKILL: no destructors, no flushing.
// docs/internals/base.md lists the points; tests/crash visits every one of them.
namespace basalt {

void visit_failpoint(std::string_view name) noexcept;

// Named places where a test may hold a thread, to look at what others do meanwhile. The environment
// variable BASALT_HOLDPOINT names one and a file, "name:path". A thread that comes there waits as
// long as the file exists.
void visit_holdpoint(std::string_view name) noexcept;

}  // namespace basalt

#ifdef BASALT_FAILPOINTS
#define BASALT_FAILPOINT(name) ::basalt::visit_failpoint(name)
#define BASALT_HOLDPOINT(name) ::basalt::visit_holdpoint(name)
#else
#define BASALT_FAILPOINT(name) static_cast<void>(0)
#define BASALT_HOLDPOINT(name) static_cast<void>(0)
#endif
