#include "wal/wal_check.h"

#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/test_support.h"
#include "kv/test_directory.h"
#include "rdb/status_conversion.h"
#include "wal/wal_marks.h"

// Goal: a WAL that a crash has torn is replayed up to there without a word; one that was changed
// after it was written is an error. Method: WALs of a real database, damaged byte by byte.
namespace basalt::kv {
namespace {

namespace fs = std::filesystem;
using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::value_of;

constexpr int kWrites = 400;

class WalCheckTest : public testing::Test {
 protected:
  WalCheckTest() {
    {
      const std::unique_ptr<Database> database = test::open_database(path_);
      for (int i = 0; i < kWrites; ++i) {
        WriteBatch batch;
        batch.put(kDefaultFamily, "k" + std::to_string(i), std::string(300 + i % 7, 'a' + i % 26));
        must(database->write(batch, Durability::kSynced));
      }
    }
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (entry.path().extension() == ".log") wal_ = entry.path();
    }
    size_ = fs::file_size(wal_);
  }
  void overwrite(std::uint64_t offset, const std::string& bytes) {
    std::fstream file(wal_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }
  std::vector<wal::WalDamage> damages() {
    Result<std::vector<wal::WalDamage>> found = wal::check_wals(path_);
    must(found.take_status());
    return std::move(found.value());
  }
  // Of each byte in [begin, end), behind which there are sound records.
  void expect_notices_changes(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t offset = begin; offset < end; ++offset) {
      std::ifstream file(wal_, std::ios::binary);
      file.seekg(static_cast<std::streamoff>(offset));
      const char old = static_cast<char>(file.get());
      overwrite(offset, std::string(1, static_cast<char>(old ^ 0x10)));
      const std::vector<wal::WalDamage> found = damages();
      ASSERT_EQ(found.size(), 1u) << offset;
      EXPECT_GT(found[0].records_behind, 0u) << offset;
      EXPECT_FALSE(found[0].is_unwritten) << offset;
      overwrite(offset, std::string(1, old));
    }
  }
  Status open(bool accept_wal_damage = false) {
    DatabaseOptions options = test::small_options(path_);
    options.accept_wal_damage = accept_wal_damage;
    Result<std::unique_ptr<Database>> database = Database::open(options);
    if (!database.is_ok()) return database.take_status();
    kept_ = 0;
    while (kept_ < kWrites &&
           value_of(*database.value(), kDefaultFamily, "k" + std::to_string(kept_)) != "(none)") {
      ++kept_;
    }
    for (int i = kept_; i < kWrites; ++i) {
      EXPECT_EQ(value_of(*database.value(), kDefaultFamily, "k" + std::to_string(i)), "(none)");
    }
    return Status::ok();
  }

  test::TestDirectory directory_;
  const std::string path_ = directory_ / "db";
  fs::path wal_;
  std::uint64_t size_ = 0;
  int kept_ = 0;
};

TEST_F(WalCheckTest, ASoundWalIsSound) {
  EXPECT_GT(size_, 100'000u) << "several blocks";
  EXPECT_TRUE(damages().empty());
  EXPECT_TRUE(succeeds(open()));
  EXPECT_EQ(kept_, kWrites);
}

TEST_F(WalCheckTest, AWalThatIsCutAnywhereIsATornEnd) {
  for (std::uint64_t cut = 1; cut < 700; cut += 3) {
    fs::resize_file(wal_, size_ - cut);
    for (const wal::WalDamage& damage : damages()) {
      EXPECT_TRUE(damage.is_unwritten) << cut;
      EXPECT_EQ(damage.records_behind, 0u) << cut;
    }
  }
  EXPECT_TRUE(succeeds(open()));
  EXPECT_EQ(kept_, kWrites - 3);
}

TEST_F(WalCheckTest, AChangedByteInTheMiddleIsAnErrorThatNamesFilePlaceAndRemedy) {
  overwrite(size_ / 2, "#");
  const std::vector<wal::WalDamage> found = damages();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].is_unwritten);
  EXPECT_LE(found[0].offset, size_ / 2);
  EXPECT_GT(found[0].offset, size_ / 2 - 400);
  EXPECT_GT(found[0].records_behind, 100u);
  const Status status = open();
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, status));
  for (const std::string& part : {wal_.string(), std::to_string(found[0].offset),
                                  std::string("damage of the WAL accepted")}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
  EXPECT_TRUE(succeeds(open(true)));
  EXPECT_GT(kept_, kWrites / 3);
  EXPECT_LT(kept_, kWrites * 2 / 3);
}

TEST_F(WalCheckTest, EveryChangedByteIsNoticed) {
  expect_notices_changes(40'000, 40'800);
  // Also where one tells the length of a record in the last block.
  expect_notices_changes(size_ - 1500, size_ - 700);
  EXPECT_TRUE(damages().empty());
}

// The zeros behind it are not what was lost of the record.
TEST_F(WalCheckTest, AChangedByteIsNoTornEndWhereTheWalEndsInZeros) {
  fs::resize_file(wal_, size_ + 100'000);
  expect_notices_changes(size_ - 1500, size_ - 700);
}

TEST_F(WalCheckTest, AValueThatHoldsAWalMakesNoDamageOfATornEnd) {
  std::ifstream file(wal_, std::ios::binary);
  std::string value(3000, '\0');
  file.read(value.data(), static_cast<std::streamsize>(value.size()));
  const std::string path = directory_ / "other";
  fs::path wal;
  {
    const std::unique_ptr<Database> database = test::open_database(path);
    const auto write = [&](const std::string& key, const std::string& what) {
      WriteBatch batch;
      batch.put(kDefaultFamily, key, what);
      must(database->write(batch, Durability::kSynced));
    };
    // So that it has come further than the WAL in the value.
    for (int i = 0; i < 2 * kWrites; ++i) write("k", "1");
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".log") wal = entry.path();
    }
    write("torn", value);
  }
  fs::resize_file(wal, fs::file_size(wal) - 100);
  const std::vector<wal::WalDamage> found = must(wal::check_wals(path));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_unwritten);
  EXPECT_EQ(found[0].records_behind, 0u);
  const std::unique_ptr<Database> database = test::open_database(path);
  EXPECT_EQ(value_of(*database, kDefaultFamily, "k"), "1");
  EXPECT_EQ(value_of(*database, kDefaultFamily, "torn"), "(none)");
}

TEST_F(WalCheckTest, AChangedByteInTheLastRecordIsATornEndUnlessThereIsANewerWal) {
  fs::copy_file(wal_, wal_.parent_path() / "900000.log");
  overwrite(size_ - 1, "#");
  ASSERT_EQ(damages().size(), 1u);
  EXPECT_EQ(damages()[0].records_behind, 0u);
  EXPECT_GT(damages()[0].records_in_newer_wals, 0u);
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, open()));
  fs::remove(wal_.parent_path() / "900000.log");
  EXPECT_TRUE(succeeds(open()));
  EXPECT_EQ(kept_, kWrites - 1);
}

TEST_F(WalCheckTest, PagesThatWereNeverWrittenEndTheWal) {
  // As a crash of the machine leaves it where writes reach the disk in another order.
  const std::uint64_t page = size_ / 2 / 4096 * 4096;
  overwrite(page, std::string(4096, '\0'));
  const std::vector<wal::WalDamage> found = damages();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_unwritten);
  EXPECT_GT(found[0].records_behind, 100u);
  EXPECT_TRUE(succeeds(open()));
  EXPECT_GT(kept_, kWrites / 3);
  EXPECT_LT(kept_, kWrites * 2 / 3) << "what follows a gap must not be replayed";
}

TEST_F(WalCheckTest, AHeaderOfWhichThePageBeforeWasNeverWrittenEndsTheWal) {
  // The first bytes of a record's header are the last ones of a sector.
  std::ifstream file(wal_, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  constexpr std::size_t kSector = 512;
  constexpr std::size_t kBlock = 32768;
  constexpr std::size_t kHeader = 7;
  int seen = 0;
  for (std::size_t at = 0; at + kHeader < bytes.size() && seen < 3;) {
    if (kBlock - at % kBlock < kHeader) at += kBlock - at % kBlock;  // no header fits
    const std::size_t length =
        static_cast<std::uint8_t>(bytes[at + 4]) + 256U * static_cast<std::uint8_t>(bytes[at + 5]);
    const std::size_t in_sector = kSector - at % kSector;
    if (at > 0 && in_sector < 4) {
      ++seen;
      overwrite(at, std::string(in_sector, '\0'));
      const std::vector<wal::WalDamage> found = damages();
      ASSERT_EQ(found.size(), 1u) << at;
      EXPECT_EQ(found[0].offset, at);
      EXPECT_TRUE(found[0].is_unwritten) << at;
      overwrite(at, bytes.substr(at, in_sector));
    }
    at += kHeader + length;
  }
  EXPECT_GT(seen, 0);
}

TEST_F(WalCheckTest, ZerosAtTheEndAreNoDamage) {
  fs::resize_file(wal_, size_ + 100'000);
  for (const wal::WalDamage& damage : damages()) {
    EXPECT_TRUE(damage.is_unwritten);
    EXPECT_EQ(damage.records_behind, 0u);
  }
  EXPECT_TRUE(succeeds(open()));
  EXPECT_EQ(kept_, kWrites);
}

TEST_F(WalCheckTest, GarbageBehindTheLastRecordIsATornEnd) {
  std::ofstream(wal_, std::ios::app | std::ios::binary) << std::string(5000, '\x5a');
  EXPECT_TRUE(succeeds(open()));
  EXPECT_EQ(kept_, kWrites);
}

// Of each place that the mark may have in its record, at the end of a block of the WAL.
TEST(WalMarkTest, AMarkIsFoundThatGoesOnInTheNextBlock) {
  const basalt::test::TestDirectory directory;
  const std::unique_ptr<Database> database = test::open_database(directory / "db");
  const wal::WalMark mark{wal::WalMark::Kind::kIngested, 7};
  const auto newest_wal = [&] {
    std::uint64_t newest = 0;
    for (const auto& entry : fs::directory_iterator(directory / "db")) {
      if (entry.path().extension() != ".log") continue;
      newest = std::max<std::uint64_t>(newest, std::stoull(entry.path().stem()));
    }
    return newest;
  };
  for (std::size_t bytes = 32768 - 80; bytes < 32768; ++bytes) {
    must(database->flush());
    rdb::WriteBatch batch;
    must(rdb::from_rocksdb(batch.Put("key", std::string(bytes, 'x'))));
    must(rdb::from_rocksdb(batch.PutLogData(wal::encode(mark))));
    must(rdb::from_rocksdb(database->rocksdb().GetBaseDB()->Write({}, &batch)));
    EXPECT_EQ(must(wal::numbers_taken_before(directory / "db", newest_wal())), mark.number)
        << bytes;
  }
}

}  // namespace
}  // namespace basalt::kv
