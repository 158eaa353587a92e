#include "server/introspect/figures.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "kv/reports.h"
#include "server/plugin.h"

namespace basalt::server {
namespace {

using kv::Event;

unsigned long long event(Event event) { return the_engine().database().events().count(event); }

unsigned long long rows(RowEvent event) { return g_plugin->rows.sum(event); }

// The difference of two counters that are read one after the other, which is never negative.
unsigned long long difference(unsigned long long begun, unsigned long long ended) {
  return begun > ended ? begun - ended : 0;
}

// How often writers were hindered, in all column families.
unsigned long long stall(const char* name) {
  kv::Database& database = the_engine().database();
  unsigned long long sum = 0;
  for (const kv::FamilyReport& family : kv::family_reports(database)) {
    const auto figures = kv::map_property(database, family.id, "rocksdb.cf-write-stall-stats");
    const auto found = figures.find(name);
    if (found != figures.end()) sum += std::strtoull(found->second.c_str(), nullptr, 10);
  }
  return sum;
}

kv::MemoryReport memory() { return kv::memory_report(the_engine().database()); }

unsigned long long binlog_offset() {
  const auto position = the_engine().transactions().binlog_positions().newest();
  return position ? position->offset : 0;
}

}  // namespace

namespace figure {
#define BASALT_FIGURE(name, subsystem, kind, value, text) \
  unsigned long long name() { return g_plugin == nullptr ? 0 : (value); }
#include "server/introspect/figures.def"
#undef BASALT_FIGURE
}  // namespace figure

std::span<const Figure> figures() {
  static constexpr Figure kFigures[] = {
#define BASALT_FIGURE(name, subsystem, kind, value, text) \
  {#name, #subsystem, FigureKind::k##kind, &figure::name, text},
#include "server/introspect/figures.def"
#undef BASALT_FIGURE
  };
  return kFigures;
}

}  // namespace basalt::server
