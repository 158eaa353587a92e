#pragma once
#include <functional>
#include <vector>

#include "kv/database.h"
#include "kv/key_parts.h"

namespace basalt::stats {

// How many entries have the same leading parts, for each number of them, judged by a few hundred
// entries at both ends of an index: for what no file knows, above all data in memtables. Where
// not one value ends among those, `estimate` is asked how many entries begin with its bytes.
std::vector<double> sample_entries_per_value(
    kv::Database& database, kv::FamilyId family, const kv::KeyRange& index_range,
    const kv::KeyParts& parts, const std::function<double(const kv::KeyRange&)>& estimate);

// The range of all keys that begin with `prefix`.
kv::KeyRange range_of_prefix(std::string_view prefix);

}  // namespace basalt::stats
