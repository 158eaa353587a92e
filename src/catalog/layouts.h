#pragma once
#include "catalog/definitions.h"
#include "codec/collation_source.h"
#include "codec/layout.h"

// What the codecs know of columns and indexes, made of their definitions: for tables that the
// server need not have opened.
namespace basalt::catalog {

// Without its place in a record, its null bit and its collation.
codec::ColumnLayout column_layout(const ColumnDefinition& column);

// The collation of a column of strings. Null if `collations` has none of its number.
const codec::Collation* find_collation(const ColumnDefinition& column,
                                       codec::CollationSource& collations);

codec::IndexLayout index_layout(const IndexDefinition& index);

}  // namespace basalt::catalog
