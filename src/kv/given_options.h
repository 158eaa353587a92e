#pragma once
#include <rocksdb/options.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "kv/options.h"
#include "rdb/rocksdb_fwd.h"

// Options that administrators give in RocksDB's own words, on top of what the engine has chosen.
//
// Purpose     RocksDB's parser reads them, so that names, units and forms are its own. Before it
//             does, what the engine cannot live with is refused, and what means nothing here is
//             taken out and told to the log.
// Errors      kInvalidArgument, with the option that is wrong.
// Threads     Functions from any thread; FamilyOptions is guarded by its owner.
namespace basalt::kv {

// Puts GivenToRocksdb::database on top of `options`.
Status put_on_top(const GivenToRocksdb& given, rdb::DBOptions& options);

// The options of column families by their names: those of all families that hold tables, and those
// of single ones, which go before. Families that do not exist (yet) may have some.
class FamilyOptions {
 public:
  using Options = std::map<std::string, std::string>;

  // Reads GivenToRocksdb::default_family ("name=value;name={name=value}"), families
  // ("family={name=value};family={...}") and blocks.
  Status read(const GivenToRocksdb& given);
  // Puts what is given for the family on top of `options`.
  Status put_on_top(std::string_view family, rdb::ColumnFamilyOptions& options) const;
  // Changes single families' options while the database is open, from a text like families'.
  // `apply` is called for each family with what it is to have from now on, after all of it was
  // found to be in order and changeable; what it returns ends the change.
  using Apply = std::function<Status(const std::string& family, const Options& changed)>;
  Status change(std::string_view text, const rdb::ColumnFamilyOptions& base, const Apply& apply);

 private:
  Options all_;
  std::map<std::string, Options, std::less<>> single_;
};

// `options` with the size of a memtable that all families are given, unless it has one: the sizes
// that follow from it are chosen by it.
DatabaseOptions with_given_memtables(DatabaseOptions options);

}  // namespace basalt::kv
