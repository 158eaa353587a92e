#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/definitions.h"

namespace basalt::inspect {

// Which table and index a key belongs to, by the dictionary.
//
// Threads     Belongs to one thread until it is filled; then safe from any.
class IndexNames {
 public:
  struct Name {
    std::string table;  // "database/table", of a partition with "#P#" and its name
    std::string index;
    std::uint32_t family = 0;
  };

  // Adds the indexes of a table whose dictionary entry is `value`. kCorruption if it does not
  // decode.
  Status add(std::string_view value);
  const std::map<catalog::IndexId, Name>& all() const { return names_; }
  // The ids of a table's indexes, or of that one of them; none if there is no such table or index.
  // Empty names stand for all.
  std::vector<catalog::IndexId> find(std::string_view table, std::string_view index) const;
  // "database/table.index" and the bytes behind the index id in hexadecimal digits. An id without
  // a name, of a dropped index, is given as a number; what is too short for one as digits alone.
  std::string describe(std::string_view key) const;
  // The first part of that.
  std::string describe(catalog::IndexId id) const;

 private:
  std::map<catalog::IndexId, Name> names_;
};

// Two digits for each byte.
std::string hexadecimal(std::string_view bytes);

}  // namespace basalt::inspect
