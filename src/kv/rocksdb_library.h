#pragma once
#include <string>
#include <string_view>

// What RocksDB the engine is made of, in words for users.
namespace basalt::kv {

// The compressions that RocksDB was built with, by its names without "k" and
// "Compression", with commas between them.
std::string supported_compressions();
// The commit of RocksDB's release that the engine is made of.
std::string_view rocksdb_commit();
// RocksDB's name of a level of its own log, 0 (all) to 4 (fatal errors only).
std::string log_level_name(unsigned long level);

}  // namespace basalt::kv
