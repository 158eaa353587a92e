#pragma once
#include <cstdint>
#include <string_view>

#include "codec/layout.h"

// Values of columns in records, compared as bytes.
namespace basalt::table {

bool is_null_in(const codec::ColumnLayout& column, const std::uint8_t* record);
// The bytes that count of a value that is not NULL.
std::string_view value_in(const codec::ColumnLayout& column, const std::uint8_t* record);
// Whether two records of one table have different bytes, so also where only the case of a letter
// changes.
bool values_differ(const codec::ColumnLayout& column, const std::uint8_t* a, const std::uint8_t* b);

}  // namespace basalt::table
