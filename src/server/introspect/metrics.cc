#include "server/introspect/figures.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

ST_FIELD_INFO g_columns[] = {
    Show::Column("NAME", name_type(), NOT_NULL),
    Show::Column("SUBSYSTEM", name_type(), NOT_NULL),
    Show::Column("COUNT", Show::ULonglong(), NOT_NULL),
    Show::Column("TYPE", name_type(), NOT_NULL),
    Show::Column("COMMENT", text_type(), NOT_NULL),
    Show::CEnd(),
};

const char* name_of(FigureKind kind) {
  switch (kind) {
    case FigureKind::kCounter: return "counter";
    case FigureKind::kGauge: return "value";
    case FigureKind::kNever: return "always 0";
  }
  return "";
}

void fill(Rows& rows) {
  for (const Figure& figure : figures()) {
    if (!rows.put(figure.name, figure.subsystem, figure.read(), name_of(figure.kind),
                  figure.text)) {
      return;
    }
  }
}

}  // namespace

int init_metrics(void* schema_table) noexcept {
  return init_schema_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
