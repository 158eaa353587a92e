#pragma once
#include <string_view>

// Messages for the administrator.
//
// Layers below the server write through this; the server installs a sink that puts lines into
// its error log. Without one, lines go to stderr. Thread-safe.
namespace basalt {

enum class LogLevel { kInfo, kWarning, kError };

using LogSink = void (*)(LogLevel level, std::string_view message);

// Installs `sink` for the whole process; null restores stderr.
void set_log_sink(LogSink sink) noexcept;

void log_message(LogLevel level, std::string_view message);

}  // namespace basalt
