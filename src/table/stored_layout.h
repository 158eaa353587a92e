#pragma once
#include "base/status.h"
#include "catalog/definitions.h"
#include "codec/collation_source.h"
#include "codec/layout.h"

namespace basalt::table {

// A record layout for a table that the server has not opened: columns of the kinds and lengths that
// the definition tells, one behind the other, after their null bits. kUnsupported without a
// collation that it needs; the message names the column.
Result<codec::TableLayout> make_stored_layout(const catalog::TableDefinition& definition,
                                              codec::CollationSource& collations);

}  // namespace basalt::table
