#include "table/index_load.h"

#include <atomic>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "txn/spilled_run.h"

namespace basalt::table {
namespace {

// Less is not worth a thread, nor a file.
constexpr std::size_t kFileBytesMin = std::size_t{1} << 20;

}  // namespace

IndexLoad::IndexLoad(Place place, std::size_t sort_bytes, std::size_t& threads_left,
                     const Interruption& interruption)
    : place_(std::move(place)),
      sort_bytes_(sort_bytes),
      threads_left_(threads_left),
      interruption_(interruption) {}

IndexLoad::~IndexLoad() = default;

Status IndexLoad::add(std::string_view key, std::string_view value) {
  if (sort_ != nullptr) return sort_->add(key, value);
  if (!failure_.is_ok()) return failure_.clone();
  if (key > in_order_.last_key) return add_in_order(key, value);
  // The end tells of it, as of one that a sort finds: nothing is made of what comes until then.
  if (key == in_order_.last_key && !in_order_.has_duplicate) {
    in_order_.has_duplicate = true;
    in_order_.first_value = value;
  }
  if (in_order_.has_duplicate) return Status::ok();
  BASALT_TRY(begin_sort());
  return sort_->add(key, value);
}

Status IndexLoad::add_in_order(std::string_view key, std::string_view value) {
  BASALT_DEBUG_ASSERT(!key.empty());
  if (in_order_.first_key.empty()) {
    in_order_.first_key = key;
    in_order_.first_value = value;
  }
  in_order_.last_key = key;
  if (writer_ != nullptr) return writer_->put(key, value);
  head_.add(key, value);
  if (head_.bytes() < kFileBytesMin) return Status::ok();
  if (!begin_file()) return begin_sort();
  const auto put = [this](std::string_view head_key, std::string_view head_value) {
    return writer_->put(head_key, head_value);
  };
  BASALT_TRY(head_.visit(put));
  head_.clear();
  return Status::ok();
}

bool IndexLoad::begin_file() {
  if (threads_left_ == 0) return false;
  try {
    writer_ = std::make_unique<bulk::BackgroundWriter>(
        place_.database.new_sst_writer(place_.family, place_.path + "in-order-"));
  } catch (const std::system_error&) {
    return false;
  }
  --threads_left_;
  return true;
}

Status IndexLoad::begin_sort() {
  BASALT_DEBUG_ASSERT(sort_ == nullptr && failure_.is_ok());
  sort_ = place_.database.new_external_sort(place_.path + "runs", sort_bytes_);
  const auto add_all = [this]() -> Status {
    BASALT_TRY(head_.visit(
        [this](std::string_view key, std::string_view value) { return sort_->add(key, value); }));
    head_.clear();
    if (writer_ == nullptr) return Status::ok();
    BASALT_TRY(writer_->finish());
    for (const std::string& path : writer_->paths()) BASALT_TRY(read_back(path));
    writer_.reset();
    ++threads_left_;
    return Status::ok();
  };
  failure_ = add_all();
  if (failure_.is_ok()) return Status::ok();
  sort_.reset();
  writer_.reset();
  return failure_.clone();
}

Status IndexLoad::read_back(const std::string& path) {
  const std::atomic<bool> has_failed = false;
  Watch watch(interruption_, has_failed);
  const auto add = [&](std::string_view key, std::string_view value) -> Status {
    BASALT_TRY(watch.check());
    return sort_->add(key, value);
  };
  BASALT_TRY(txn::visit_sorted_file(place_.database, place_.family, path, add));
  // What cannot be removed goes with its directory.
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return Status::ok();
}

Status IndexLoad::finish(const FileResources& resources, EntryFiles& files) {
  if (!failure_.is_ok()) return failure_.clone();
  if (in_order_.has_duplicate) {
    files = std::move(in_order_);
    files.first_key = files.last_key;
    return Status::of(ErrorCode::kDuplicateKey);
  }
  if (interruption_.is_raised()) return Status::of(ErrorCode::kInterrupted);
  if (writer_ != nullptr) {
    BASALT_TRY(writer_->finish());
    in_order_.paths = writer_->paths();
    files = std::move(in_order_);
    writer_.reset();
    return Status::ok();
  }
  if (sort_ == nullptr) BASALT_TRY(begin_sort());
  const std::span sorts(&sort_, 1);
  BASALT_TRY(sort_->finish());
  BASALT_TRY(write_entry_files(place_.database, place_.family, place_.whole, sorts, place_.path,
                               resources, interruption_, files));
  sort_.reset();
  return Status::ok();
}

}  // namespace basalt::table
