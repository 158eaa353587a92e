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

// `layout`, and behind it the columns of the definition that it lacks, in the same way: the record
// is longer than one that the server knows. Errors as of the former.
Result<codec::TableLayout> with_stored_columns(codec::TableLayout layout,
                                               const catalog::TableDefinition& definition,
                                               codec::CollationSource& collations);

}  // namespace basalt::table
