#include "bulk/background_writer.h"

#include <pthread.h>

#include <utility>

#include "base/assert.h"

namespace basalt::bulk {

BackgroundWriter::BackgroundWriter(std::unique_ptr<SstWriter> writer)
    : writer_(std::move(writer)), thread_([this](const std::stop_token& stop) { write(stop); }) {}

BackgroundWriter::~BackgroundWriter() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  filled_.release();
}

Status BackgroundWriter::check() const {
  if (!has_failed_.load(std::memory_order_acquire)) [[likely]]
    return Status::ok();
  return status_.clone();
}

void BackgroundWriter::hand_over() {
  filled_.release();
  free_.acquire();
  next_ = (next_ + 1) % kBuffers;
}

// Until the thread has written all that it was given.
void BackgroundWriter::await_all() {
  for (std::size_t i = 1; i < kBuffers; ++i) free_.acquire();
  free_.release(kBuffers - 1);
}

Status BackgroundWriter::put(std::string_view key, std::string_view value) {
  BASALT_TRY(check());
  EntryBuffer& entries = buffers_[next_].entries;
  entries.add(key, value);
  if (entries.bytes() < kBufferBytes) return Status::ok();
  hand_over();
  // So that there are not several.
  if (key.size() + value.size() >= kBufferBytes) await_all();
  return Status::ok();
}

Status BackgroundWriter::finish() {
  BASALT_ASSERT(thread_.joinable());
  buffers_[next_].is_last = true;
  filled_.release();
  thread_.join();
  return status_.clone();
}

// After an error buffers are emptied all the same: the other side may wait for them.
void BackgroundWriter::write(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "rocksdb:write");
  Status status;
  bool is_last = false;
  for (std::size_t number = 0; !is_last; number = (number + 1) % kBuffers) {
    filled_.acquire();
    if (stop.stop_requested()) return;
    Buffer& buffer = buffers_[number];
    is_last = buffer.is_last;
    if (status.is_ok()) {
      status = buffer.entries.visit([this](std::string_view key, std::string_view value) {
        return writer_->put(key, value);
      });
      if (status.is_ok() && is_last) status = writer_->finish();
      if (!status.is_ok()) {
        status_ = status.clone();
        has_failed_.store(true, std::memory_order_release);
      }
    }
    buffer.entries.clear();
    free_.release();
  }
}

}  // namespace basalt::bulk
