#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "catalog/definitions.h"
#include "catalog/foreign_keys.h"
#include "server/mariadb.h"

namespace basalt::server {

// Tells the client, by warnings and errors that are InnoDB's, why a statement is refused that makes
// or alters a table with foreign keys; and SHOW ENGINE ROCKSDB STATUS. Each of the methods returns
// the error that the handler returns. Of an error of the handler the server makes one of its own,
// unless the client was told one.
class Refusals {
 public:
  // How the statement makes its table.
  enum class Way : std::uint8_t { kCreate, kCopy, kInPlace };

 protected:
  // `name` is the table's.
  Refusals(THD* thd, const std::string& name, Way way) : thd_(thd), name_(name), way_(way) {}

  bool is_in_place() const { return way_ == Way::kInPlace; }
  bool is_copied() const { return way_ == Way::kCopy; }
  std::string table_text() const;

  // `of` begins with "foreign key".
  int refuse(const std::string& of, const std::string& why) const;
  int refuse_all(const std::string& why) const { return refuse("with foreign key", why); }
  int refuse(const catalog::ForeignKeyDefinition& key, const std::string& why) const;
  // For what the parent is; for a column that it has not.
  int refuse_parent(const catalog::ForeignKeyDefinition& key, const std::string& why) const;
  int refuse_column(const catalog::ForeignKeyDefinition& key, const std::string& column) const;
  // The parent has no index that begins with these columns; none are columns that it has not.
  int refuse_missing_index(const catalog::ForeignKeyDefinition& key,
                           const catalog::TableDefinition& parent,
                           const std::vector<std::uint32_t>& referenced) const;
  int refuse_set_null(const catalog::ForeignKeyDefinition& key, const std::string& column) const;
  // For a name that another constraint has, or another one of the statement.
  int refuse_duplicate(const catalog::ForeignKeyDefinition& key) const;
  int refuse_second(const catalog::ForeignKeyDefinition& key) const;
  // The statement takes away an index that the key needs.
  int refuse_dropped_index(const catalog::ForeignKeyDefinition& key,
                           const std::string& index) const;
  // The table does not fit a foreign key of another one that leads to it.
  int refuse_referenced(const catalog::ForeignKeyDefinition& key) const;

  THD* const thd_;
  const std::string name_;  // as the table will be called in the end

 private:
  std::string text_of_key(const catalog::ForeignKeyDefinition& key) const;
  // "database/constraint", as InnoDB's errors have it.
  std::string full_name(const catalog::ForeignKeyDefinition& key) const;
  std::string duplicate_text(const catalog::ForeignKeyDefinition& key) const;
  int warn(int error, const std::string& text) const;
  // In place InnoDB tells of an index whatever the parent lacks.
  void tell_missing_index(const catalog::ForeignKeyDefinition& key) const;

  const Way way_;
};

}  // namespace basalt::server
