#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"

namespace basalt::bulk {

// A directory below the database's own for what is built outside of it, such as files to be
// ingested. Gone, with all that is in it, when this ends; after a crash when the database is
// opened.
class BuildDirectory {
 public:
  // `database`: the database's directory. `number` is of no other that exists. kIoError, kNoSpace.
  static Result<std::unique_ptr<BuildDirectory>> make(const std::string& database,
                                                      std::uint32_t number);
  // Removes what a crash has left. To be called before anybody makes one.
  static void remove_all(const std::string& database);

  ~BuildDirectory();
  BuildDirectory(const BuildDirectory&) = delete;
  BuildDirectory& operator=(const BuildDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit BuildDirectory(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace basalt::bulk
