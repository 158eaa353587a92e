#include "base/log.h"

#include <atomic>
#include <cstdio>

namespace basalt {
namespace {

void write_to_stderr(LogLevel level, std::string_view message) {
  const char* name = level == LogLevel::kError     ? "error"
                     : level == LogLevel::kWarning ? "warning"
                                                   : "note";
  std::fprintf(stderr, "basalt: %s: %.*s\n", name, static_cast<int>(message.size()),
               message.data());
}

std::atomic<LogSink> g_sink{&write_to_stderr};

}  // namespace

void set_log_sink(LogSink sink) noexcept { g_sink = sink != nullptr ? sink : &write_to_stderr; }

void log_message(LogLevel level, std::string_view message) { g_sink.load()(level, message); }

}  // namespace basalt
