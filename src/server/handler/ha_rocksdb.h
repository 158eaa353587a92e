#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/convert/table_layout.h"
#include "server/handler/cascaded_row.h"
#include "server/handler/row_as_stored.h"
#include "server/row_counts.h"
#include "server/session.h"
#include "stats/table_statistics.h"
#include "table/bulk_load.h"
#include "table/cursor.h"
#include "table/index_build.h"
#include "table/reference_enforcer.h"
#include "table/row_batch.h"
#include "table/row_writer.h"
#include "table/table.h"
#include "table/table_export.h"
#include "server/mariadb.h"

namespace basalt::server {

class Alteration;

// What the handlers of one table share (TABLE_SHARE) have in common. Freed with the share.
class TableShare final : public Handler_share {
 public:
  ServerTable translation;
  // Replaced by TRUNCATE, which gives the table new indexes, under an exclusive metadata lock.
  // Handlers that stay open notice by the pointer when their next statement begins.
  std::shared_ptr<table::Table> table;
  std::shared_ptr<stats::TableStatistics> statistics;
  // The generation of the statistics that the server's definition of the table was given.
  std::atomic<std::uint64_t> shown_generation{0};
  // Whether foreign keys reference the table, as of that generation of the catalog.
  std::atomic<std::uint64_t> references_generation{UINT64_MAX};
  std::atomic<bool> is_referenced{false};
};

// How many parts of the key the map has.
std::size_t count_parts(const KEY& key, key_part_map parts);

// How the server's sequence of ranges is read (handler_multi_range.cc).
struct MultiRange {
  bool in_batches = false;      // else by the server's own loop
  bool sorts_rows = false;      // ranges in any order, rows in that of the primary key
  bool checks_tuples = false;   // the caller has a condition on index tuples and their ranges
  bool at_end = false;          // of the sequence
  bool range_is_open = false;   // the cursor is in the current range
  bool reads_directly = false;  // the current range is read row by row
  std::size_t rows_together = 1;
  std::size_t key_bytes_most = 0;
};

// Asks the server about entries of a secondary index before their rows are fetched: index
// condition pushdown, the filter of row ids, the condition of a batched join.
class PushedFilter final : public table::EntryFilter {
 public:
  explicit PushedFilter(class ha_rocksdb& owner) : owner_(owner) {}
  Verdict check() override;
  // Whether the server compares entries with the end of its range: for scans that are not confined
  // to it.
  void check_end_of_range(bool checks) { checks_end_of_range_ = checks; }

 private:
  class ha_rocksdb& owner_;
  bool checks_end_of_range_ = true;
};

// One open table of one connection: translates the server's calls to table::Cursor and
// table::RowWriter, and holds no rule about storage.
//
// Files: handler_open, _references, _read, _multi_range, _write, _copy, _bulk_load, _locking,
//        _info, _counts, _create, _alter, _admin .cc
class ha_rocksdb final : public handler {
 public:
  ha_rocksdb(handlerton* hton, TABLE_SHARE* share) noexcept;

  // ---- capabilities (handler_info.cc)
  ulonglong table_flags() const noexcept override;
  ulong index_flags(uint index, uint part, bool all_parts) const noexcept override;
  // What programs take for an ordinary index: of any other name they expect other rules.
  const char* index_type(uint) noexcept override { return "BTREE"; }
  // All rows have this format, whatever the definition says.
  enum row_type get_row_type() const noexcept override { return ROW_TYPE_DYNAMIC; }
  // A result in the query cache is of one snapshot and of one transaction's own changes; no other
  // may be given it.
  uint8 table_cache_type() noexcept override { return HA_CACHE_TBL_NOCACHE; }
  uint max_supported_keys() const noexcept override { return MAX_KEY; }
  uint max_supported_key_part_length() const noexcept override { return MAX_DATA_LENGTH_FOR_KEY; }
  const key_map* keys_to_use_for_scanning() noexcept override { return &key_map_full; }

  // ---- life (handler_open.cc)
  int open(const char* name, int mode, uint test_if_locked) noexcept override;
  int close() noexcept override;
  handler* clone(const char* name, MEM_ROOT* memory) noexcept override;
  int reset() noexcept override;
  int extra(ha_extra_function operation) noexcept override;

  // ---- definitions (handler_create.cc)
  int create(const char* name, TABLE* form, HA_CREATE_INFO* create_info) noexcept override;
  int delete_table(const char* name) noexcept override;
  int rename_table(const char* from, const char* to) noexcept override;
  int truncate() noexcept override;
  void update_create_info(HA_CREATE_INFO* create_info) noexcept override;
  bool check_if_incompatible_data(HA_CREATE_INFO*, uint table_changes) noexcept override;

  // ---- definitions changed in place (handler_alter.cc)
  enum_alter_inplace_result check_if_supported_inplace_alter(
      TABLE* altered, Alter_inplace_info* info) noexcept override;
  bool prepare_inplace_alter_table(TABLE* altered, Alter_inplace_info* info) noexcept override;
  bool inplace_alter_table(TABLE* altered, Alter_inplace_info* info) noexcept override;
  bool can_convert_nocopy(const Field& field, const Column_definition& to) const noexcept override;
  Compare_keys compare_key_parts(const Field& field, const Column_definition& to,
                                 const KEY_PART_INFO& part,
                                 const KEY_PART_INFO& new_part) const noexcept override;
  bool commit_inplace_alter_table(TABLE* altered, Alter_inplace_info* info,
                                  bool commit) noexcept override;
  ulonglong table_version() const noexcept override;

  // ---- foreign keys (handler_references.cc)
  int get_foreign_key_list(THD* thd, List<FOREIGN_KEY_INFO>* list) noexcept override;
  int get_parent_foreign_key_list(THD* thd, List<FOREIGN_KEY_INFO>* list) noexcept override;
  bool referenced_by_foreign_key() const noexcept override;
  char* get_foreign_key_create_info() noexcept override;
  void free_foreign_key_create_info(char* text) noexcept override;
  bool can_switch_engines() noexcept override;
  bool is_fk_defined_on_table_or_index(uint index) noexcept override;
  bool get_foreign_dup_key(char* table_name, uint table_name_size, char* key_name,
                           uint key_name_size) noexcept override;

  // ---- reads (handler_read.cc)
  int rnd_init(bool scan) noexcept override;
  int rnd_end() noexcept override;
  int rnd_next(uchar* record) noexcept override;
  int rnd_pos(uchar* record, uchar* position) noexcept override;
  void position(const uchar* record) noexcept override;
  int index_init(uint index, bool sorted) noexcept override;
  int index_end() noexcept override;
  void column_bitmaps_signal() noexcept override;
  int index_read_map(uchar* record, const uchar* key, key_part_map parts,
                     ha_rkey_function mode) noexcept override;
  int index_read_idx_map(uchar* record, uint index, const uchar* key, key_part_map parts,
                         ha_rkey_function mode) noexcept override;
  int index_next(uchar* record) noexcept override;
  int index_prev(uchar* record) noexcept override;
  int index_first(uchar* record) noexcept override;
  int index_last(uchar* record) noexcept override;
  int index_next_same(uchar* record, const uchar* key, uint key_length) noexcept override;
  int read_range_first(const key_range* start, const key_range* end, bool is_equality,
                       bool sorted) noexcept override;
  int read_range_next() noexcept override;
  Item* idx_cond_push(uint index, Item* condition) noexcept override;
  bool rowid_filter_push(Rowid_filter* filter) noexcept override;

  // ---- many ranges (handler_multi_range.cc)
  ha_rows multi_range_read_info_const(uint index, RANGE_SEQ_IF* sequence, void* argument,
                                      uint range_count, uint* buffer_size, uint* mode,
                                      Cost_estimate* cost) noexcept override;
  ha_rows multi_range_read_info(uint index, uint range_count, uint keys, uint parts,
                                uint* buffer_size, uint* mode,
                                Cost_estimate* cost) noexcept override;
  int multi_range_read_init(RANGE_SEQ_IF* sequence, void* argument, uint range_count, uint mode,
                            HANDLER_BUFFER* buffer) noexcept override;
  int multi_range_read_next(range_id_t* range) noexcept override;
  int multi_range_read_explain_info(uint mode, char* text, size_t size) noexcept override;

  // ---- writes (handler_write.cc)
  int write_row(const uchar* record) noexcept override;
  int update_row(const uchar* old_record, const uchar* new_record) noexcept override;
  int delete_row(const uchar* record) noexcept override;
  void get_auto_increment(ulonglong offset, ulonglong increment, ulonglong desired,
                          ulonglong* first, ulonglong* reserved) noexcept override;
  int reset_auto_increment(ulonglong value) noexcept override;

  // ---- many rows at once (handler_bulk_load.cc)
  void start_bulk_insert(ha_rows rows, uint flags) noexcept override;
  int end_bulk_insert() noexcept override;

  // ---- locks (handler_locking.cc)
  uint lock_count() const noexcept override { return 0; }
  THR_LOCK_DATA** store_lock(THD* thd, THR_LOCK_DATA** to, thr_lock_type type) noexcept override;
  int external_lock(THD* thd, int type) noexcept override;
  int start_stmt(THD* thd, thr_lock_type type) noexcept override;
  void unlock_row() noexcept override;
  void try_semi_consistent_read(bool yes) noexcept override;
  bool was_semi_consistent_read() noexcept override;

  // ---- statistics and administration (handler_info.cc, handler_admin.cc)
  int info(uint flags) noexcept override;
  ha_rows records_in_range(uint index, const key_range* min, const key_range* max,
                           page_range* pages) noexcept override;
  ha_rows estimate_rows_upper_bound() noexcept override { return HA_POS_ERROR; }
  double scan_time() noexcept override;
  double read_time(uint index, uint ranges, ha_rows rows) noexcept override;
  double keyread_time(uint index, uint ranges, ha_rows rows) noexcept override;
  bool get_error_message(int error, String* text) noexcept override;
  void print_error(int error, myf flags) noexcept override;
  int analyze(THD* thd, HA_CHECK_OPT* options) noexcept override;
  int check(THD* thd, HA_CHECK_OPT* options) noexcept override;
  int optimize(THD* thd, HA_CHECK_OPT* options) noexcept override;
  int discard_or_import_tablespace(my_bool discards) noexcept override;

 private:
  friend class PushedFilter;
  TableShare* find_or_make_share(const char* name, Status& status);
  Status make_share(const char* name, TableShare& share);
  Status open_shared_table(TableShare& share);
  // Opens what the statement has made of the table, whose metadata lock it holds.
  int open_replaced();
  // Makes cursor and writer for the share's table, unless they are.
  void bind();
  void begin_statement(THD* thd);
  // A sequence's single row is not part of the user's transaction: reads see it as it is, and a
  // write is a transaction of its own.
  bool is_sequence() const { return table_share->table_type == TABLE_TYPE_SEQUENCE; }
  txn::Transaction& transaction() const {
    return own_transaction_ ? *own_transaction_ : session_->transaction();
  }
  // The one that inserted rows belong to.
  txn::Transaction& inserting_transaction() const {
    return is_copying_ ? session_->copy() : transaction();
  }
  lock::WaitPolicy wait_policy() const;
  // Has rows be written with a look at foreign keys, as the session wants it: 0 or an error.
  int bind_references(THD* thd);
  // What keeps the statement from using the table: 0 or an error.
  int refuse_statement(THD* thd);
  // Whether reads that lock also lock the gaps between rows.
  bool locks_gaps() const;
  bool reads_semi_consistently() const;
  // Of the row that the server is about to change; nothing if no cascade can have changed it.
  std::optional<CascadedRow> cascaded_row();
  std::string_view hidden_key() const;  // of the row that the cursor is at; else empty
  Status find_stored_record(const uchar*& record);
  // After a write: ends own_transaction_, if there is one.
  int end_own_transaction(int error);
  // The same, or commits in the middle of the statement, if that is asked for.
  int end_row(int error);

  // ---- definitions (handler_create.cc)
  int await_references_to(const std::string& copied);
  int report_replaced(Status status);

  // ---- copies (handler_copy.cc)
  // Whether nobody else can open the table before the copy that begins now is complete, the server
  // drops it otherwise, and looks up none of its rows before.
  bool is_private_copy() const;
  void begin_copy(bool ignores_duplicates);
  int end_copy();
  void abandon_copy();

  // ---- loads (handler_bulk_load.cc)
  // Whether rows that the statement inserts may come in files: it is a transaction of its own, and
  // nothing looks for its rows before it ends.
  bool may_load_rows() const;
  // How many bytes the transaction's batch has before they do.
  std::uint64_t bytes_before_load() const;
  // Before a row is inserted: from now on rows go into files, if there are enough of them.
  Status begin_load_if_many();
  Status finish_load(table::BulkLoad& load);
  Status end_load();
  void show_duplicate(const table::BulkLoad& load);
  void abandon_load();

  std::size_t our_index(uint index) const { return share_->translation.index_numbers[index]; }
  const table::Table& opened() const { return *table_; }
  // Whether rows of the opened table may expire.
  bool has_expiry() const { return table_ != nullptr && table_->has_expiry(); }

  // ---- figures (handler_counts.cc)
  // Counts a search by the open index.
  void note_query(bool is_point);
  // Adds what was counted to the figures of the table and of the engine.
  void tell_counts();

  void report_corruption(const Status& status);
  void show_rows_per_value();
  double entry_bytes(uint index) const;
  double sequential_cost(uint index, double entries) const;

  bool fail_statement(Status status);
  bool fail_statement(int error);
  int check_nulls(const TABLE& altered, const catalog::TableDefinition& definition,
                  const catalog::TableChange& change, const Alter_info& info);
  int refuse_null(const Field& before, const Field& after, const Alter_info& info, ulong row);
  Status set_counter(const Alter_inplace_info& info);
  bool fail_build(TABLE& altered, const std::vector<Alteration*>& alterations, Status status);
  bool fail_duplicate(TABLE& altered, const table::IndexBuild& build);
  // Translates a status; keeps its text for get_error_message().
  int report(Status status);
  // The same for a change of a row; null stands for a record that was not, or is no more.
  int report_change(Status status, const uchar* old_record, const uchar* new_record);
  // Fails a statement that would write, before it does anything, while the engine is read-only.
  int refuse_if_read_only(THD* thd, int lock_type);
  // The result of a read: 0, `not_found`, or the error.
  int finish_read(Status status, bool found, uchar* record, int not_found);
  int finish_range_read(Status status, bool found);
  const codec::ColumnSet& wanted_columns();
  bool reads_prefixed_part(uint index) const;
  bool reads_primary_key() const;
  void open_cursor(std::size_t index_number, const table::ReadSettings& settings,
                   bool may_skip_row);
  bool checks_uniqueness(uint index) const;
  bool is_newer_than_snapshot(uint index) const;
  // Whether the optimizer is not to choose the index, which is newer than what the statement reads.
  // One that the user forces is left to fail.
  bool is_left_out(uint index) const;
  void leave_out_newer_indexes();
  int lock_guard(uint index, const uchar* key);
  table::ReadSettings read_settings() const;
  // Whether the statement's only access to data is the point read that comes next.
  bool is_only_read() const;
  bool is_one_read(uint index);
  void prepare_seek(const uchar* record);
  // Encodes a search key. Returns its parts.
  std::size_t make_prefix(uint index, const uchar* key, key_part_map parts, std::string& prefix);
  bool is_point_read(uint index, std::size_t part_count, const uchar* key) const;
  void make_bounds(uint index, const key_range* start, const key_range* end, std::string& lower,
                   std::string& upper);
  std::uint64_t expected_bytes() const;
  Status seek_range(const key_range* start, const key_range* end, bool is_equality, bool& found);
  bool is_filtered(const uchar* record) const;
  int read_range_directly();
  int fill_batch();
  bool is_batch_full() const;
  std::optional<std::string_view> point_in_primary();
  void fill_duplicate_position();
  int note_auto_increment(const uchar* record);
  void write_position(std::string_view primary_key, uchar* position) const;
  std::string_view read_position(const uchar* position, std::string& primary_key) const;

  TableShare* share_ = nullptr;
  std::shared_ptr<table::Table> table_;                // what cursor_ and writer_ are bound to
  Session* session_ = nullptr;                         // of the connection that locked the table
  std::unique_ptr<txn::Transaction> own_transaction_;  // of a sequence
  std::unique_ptr<table::Cursor> cursor_;
  std::unique_ptr<table::RowWriter> writer_;
  std::unique_ptr<RowAsStored> row_as_stored_;            // null where it is as the server has it
  std::unique_ptr<table::ReferenceEnforcer> references_;  // null until rows are written
  std::optional<lock::LockMode> row_lock_;
  bool skip_locked_ = false;
  bool tries_semi_consistent_ = false;
  bool writes_rows_ = false;  // the server locked the table for writing
  bool is_copying_ = false;   // rows go into Session::copy()
  // Rows that are inserted go into a load when the transaction's batch has so many bytes.
  static constexpr std::uint64_t kNoLoad = UINT64_MAX;
  std::uint64_t load_after_bytes_ = kNoLoad;
  std::unique_ptr<table::BulkLoad> load_;
  std::unique_ptr<table::TableExport> export_;  // as long as FLUSH TABLES holds the table
  std::uint64_t loaded_rows_ = 0;               // by this load
  bool reads_whole_rows_ = false;
  bool reads_once_ = false;
  bool scan_started_ = false;
  bool is_point_range_ = false;  // the range read was answered by a point read
  StatementCounts counts_;
  std::string error_text_;
  ErrorCode error_status_ = ErrorCode::kOk;
  // The AUTO_INCREMENT values that were taken last; offset 0: none yet. And for how many more rows
  // of the statement there are some.
  table::Series series_{0, 1};
  ulonglong auto_increment_rows_ = 0;
  codec::ColumnSet wanted_{0};
  std::string prefix_;
  std::string lower_;
  std::string upper_;
  std::string position_key_;
  PushedFilter filter_{*this};
  bool checks_filter_ = false;  // the cursor is on an entry that the filter is asked about
  DsMrr_impl multi_range_cost_;
  MultiRange multi_range_;
  table::RowBatch batch_;
};

}  // namespace basalt::server
