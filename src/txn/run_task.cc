#include "txn/run_task.h"

#include <pthread.h>

#include <utility>

namespace basalt::txn {

RunTask::RunTask(kv::Database& database, const bulk::BuildDirectory& directory, std::string name,
                 const char* thread_name, Make make)
    : database_(database),
      directory_(directory),
      name_(std::move(name)),
      make_(std::move(make)),
      thread_([this, thread_name](const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), thread_name);
        run(stop);
      }) {}

RunTask::~RunTask() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  status_.ignore("what the runs were to be made of is there as it was");
  if (made_.empty()) return;
  made_.clear();
  directory_.remove_files(name_);
}

void RunTask::run(const std::stop_token& stop) {
  status_ = make_(stop, made_);
  // The transaction may be idle for long.
  if (!status_.is_ok()) {
    made_.clear();
    directory_.remove_files(name_);
    database_.health().measure_space();
  }
  is_done_.store(true, std::memory_order_release);
  has_ended_.release();
}

Status RunTask::wait(SpilledRuns& made) {
  if (thread_.joinable()) thread_.join();
  made = std::exchange(made_, {});
  return status_.clone();
}

}  // namespace basalt::txn
