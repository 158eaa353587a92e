#pragma once
#include <vector>

#include "index_stats/key_structure.h"
#include "kv/database.h"
#include "stats/key_sampler.h"

namespace basalt::stats {

// How many entries have the same leading parts, for each number of them: for what no file knows,
// above all data in memtables. Exact for indexes of up to 2048 entries; of others, of which there
// are `entries`, judged by some entries in each of up to 48 parts of the index. Nothing if there
// are none, as far as is committed.
std::vector<double> sample_entries_per_value(kv::Database& database, kv::FamilyId family,
                                             const KeyRange& index_range,
                                             const index_stats::KeyStructure& parts, double entries,
                                             const KeySampler::Estimate& estimate);

// The smallest key behind all that begin with `prefix`; empty if there is none.
std::string end_of_prefix(std::string_view prefix);

}  // namespace basalt::stats
