#include "kv/write_listener.h"

#include <rocksdb/listener.h>
#include <rocksdb/statistics.h>

#include <utility>

#include "base/assert.h"

namespace basalt::kv {
namespace {

class WriteListener final : public rdb::EventListener {
 public:
  explicit WriteListener(std::shared_ptr<rdb::Statistics> statistics)
      : statistics_(std::move(statistics)) {
    BASALT_DEBUG_ASSERT(statistics_ != nullptr);
  }

  void OnFlushCompleted(rdb::DB*, const rdb::FlushJobInfo& flush) override {
    const rdb::TableProperties& file = flush.table_properties;
    statistics_->recordTick(rdb::FLUSH_WRITE_BYTES,
                            file.data_size + file.index_size + file.filter_size);
  }
  void OnCompactionCompleted(rdb::DB*, const rdb::CompactionJobInfo& compaction) override {
    statistics_->recordTick(rdb::COMPACT_READ_BYTES, compaction.stats.total_input_bytes);
    statistics_->recordTick(rdb::COMPACT_WRITE_BYTES, compaction.stats.total_output_bytes);
  }

 private:
  const std::shared_ptr<rdb::Statistics> statistics_;
};

}  // namespace

std::shared_ptr<rdb::EventListener> make_write_listener(
    std::shared_ptr<rdb::Statistics> statistics) {
  return std::make_shared<WriteListener>(std::move(statistics));
}

}  // namespace basalt::kv
