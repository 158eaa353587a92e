#pragma once
#include <string>
#include <utility>

#include "catalog/definitions.h"

// What the tests of definitions share.
namespace basalt::catalog::test {

// The example of docs/formats/catalog.md.
inline TableDefinition orders() {
  TableDefinition table;
  table.id = 300;
  table.name = "shop/orders";
  table.schema_version = 7;
  table.columns = {
      {"id", codec::ColumnKind::kSignedInteger, 8, 0, false, true},
      {"code", codec::ColumnKind::kVariableString, 402, 45, true, true},
      {"upper", codec::ColumnKind::kBlob, 10, 63, true, false},
  };
  table.indexes = {
      {"PRIMARY", 301, 0, true, {{0, 0, false, 8}}},
      {"by_code", 302, 0, false, {{1, 20, true, 80}, {0, 0, false, 8}}},
  };
  return table;
}

// A new one, with a column and its primary key.
inline TableDefinition make_table(std::string name) {
  TableDefinition table;
  table.name = std::move(name);
  table.columns = {{"id", codec::ColumnKind::kSignedInteger, 4, 0, false, true}};
  table.indexes = {{"PRIMARY", 0, 0, true, {{0, 0, false, 4}}}};
  return table;
}

}  // namespace basalt::catalog::test
