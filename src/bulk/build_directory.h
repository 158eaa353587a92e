#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::bulk {

// Where a database has what is built for it: its directory, and the file system that this is in.
struct BuildPlace {
  std::shared_ptr<rdb::FileSystem> files;
  std::string database;
};

// A directory below the database's own for what is built outside of it, such as files to be
// ingested. Gone, with all that is in it, when this ends; after a crash when the database is
// opened, unless it is one of a load, of which a record in the database may tell.
class BuildDirectory {
 public:
  // `number` is of no other that exists. kIoError, kNoSpace.
  static Result<std::unique_ptr<BuildDirectory>> make(const BuildPlace& place,
                                                      std::uint32_t number);
  // Removes what a crash has left. To be called before anybody makes one.
  static void remove_all(const BuildPlace& place);

  // One of a load: with a number of its own, which the directory is found by after a crash.
  static Result<std::unique_ptr<BuildDirectory>> make_load(const BuildPlace& place);
  // One that is there already.
  static std::unique_ptr<BuildDirectory> find_load(const BuildPlace& place, std::uint32_t number);
  // Removes those of loads but `kept`. While nobody makes one.
  static void remove_loads(const BuildPlace& place, const std::set<std::uint32_t>& kept);
  // Links what is in those that belong_to_copies() into a directory, or copies it where that cannot
  // be; flat, as mariadb-backup copies files and no directories. While none of them begins to
  // be ingested; one that goes away meanwhile is left out. kIoError, kNoSpace.
  static Status copy_loads(const BuildPlace& place, const std::string& directory);
  // Puts what copy_loads() has left beside the database's files, which is a copy, where it belongs.
  // To be called before the database is opened. kIoError.
  static Status take_copied_loads(const BuildPlace& place);

  ~BuildDirectory();
  BuildDirectory(const BuildDirectory&) = delete;
  BuildDirectory& operator=(const BuildDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::uint32_t number() const { return number_; }
  // Removes the files in it whose names begin with `prefix`.
  void remove_files(std::string_view prefix) const;
  // Makes the directory of find_load() if it is not there.
  void make_again() const;
  // It is to stay, and all that is in it.
  void leave() { is_left_ = true; }
  // A copy of the database is to have what is in it, too, as a user may decide there what he has
  // prepared here. Survives a crash of the machine from sync() on. kIoError, kNoSpace.
  Status belong_to_copies() const;
  // Makes the names of the directory and of what is in it survive a crash of the machine. kIoError.
  Status sync() const;

 private:
  BuildDirectory(const BuildPlace& place, std::string path, std::uint32_t number)
      : place_(place), path_(std::move(path)), number_(number) {}

  const BuildPlace place_;
  const std::string path_;
  const std::uint32_t number_;
  bool is_left_ = false;
};

}  // namespace basalt::bulk
