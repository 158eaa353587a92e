#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bulk/build_directory.h"
#include "kv/database.h"

// Rows that a transaction has put into files, which its commit makes part of the database.
//
// Purpose     Many rows go past WAL and memtables, and come with the commit nevertheless, or not at
//             all.
// How         The transaction's batch gets a record that names the files. Once the commit is
//             written the files are ingested, all together, and the record goes. A crash in between
//             leaves the record, by which the next start does the rest.
// Once        The locks of the rows are held until the record has gone: as long as it is there
//             nobody else has changed the rows, so that one of them, if it is new, tells whether
//             all are in the database already. Else an entry does that the files bring for it, and
//             that goes with the record.
namespace basalt::txn {

// The entries that files have of one index.
struct LoadedKeys {
  std::string first;
  std::string first_value;
  std::string last;
  // Where files remove entries, too: one that is put, or empty if none is. Else the first one is.
  std::optional<std::pair<std::string, std::string>> put = std::nullopt;
};

// The files of one directory.
struct LoadedFiles {
  std::unique_ptr<bulk::BuildDirectory> directory;
  std::vector<kv::FamilyFiles> files;
  // One of each index that has entries; the primary's first. After a crash one of each index and
  // file; none if the files cannot be read.
  std::vector<LoadedKeys> keys;
  // The family and the key of one of the rows, or of an entry that is there for that.
  kv::FamilyId row_family = kv::kDefaultFamily;
  std::string row_key;
  // Those with changes, if the files have more than new rows; else that of the row counts.
  std::vector<std::uint32_t> indexes;
  // In all files, after a crash.
  std::uint64_t entry_count = 0;
};

// The record, of the system family: docs/formats/catalog.md.
std::string loaded_files_key(std::uint32_t directory);
std::string pack_loaded_files(const LoadedFiles& files);
// What a record says of the database there. kCorruption if the bytes are no such record.
Result<LoadedFiles> parse_loaded_files(const bulk::BuildPlace& place, std::string_view key,
                                       std::string_view value);
bool is_loaded_files_key(std::string_view key);
// An entry of the system family that files bring with them which change what is there: as long as
// the record is there, it tells that they are ingested.
std::string ingested_files_key(std::uint32_t directory);

// Removes the records of loads: no start takes their files in any more.
Status forget_loaded_files(kv::Database& database, std::span<const LoadedFiles> loads,
                           kv::Durability durability);

// kv::Database::make_way(), for publish_loaded_files() later.
Status make_way_for(kv::Database& database, std::span<const LoadedFiles> loads);
// kv::Database::prepare_ingestion(), for publish_loaded_files() soon. An error leaves them as they
// were.
Result<kv::PreparedIngestion> prepare_ingestion(kv::Database& database,
                                                std::span<const LoadedFiles> loads);

// Ingests the files of loads whose records are committed, and removes the records. An error: they
// are as they were, or ingested, and publish_again() goes on.
Status publish_loaded_files(kv::Database& database, std::span<const LoadedFiles> loads,
                            kv::PreparedIngestion files);
// The same of files that may be ingested already.
Status publish_again(kv::Database& database, std::span<const LoadedFiles> loads);

// Publishes what a crash has left committed, and removes the directories of loads whose numbers are
// not among `prepared`. While nobody else uses the database.
Status recover_loaded_files(kv::Database& database, const std::set<std::uint32_t>& prepared);

}  // namespace basalt::txn
