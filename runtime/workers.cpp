// One process-wide pool, grown on demand. A job is a counter of workers still to start; every thread that
// joins a job takes the next index until none is left.
#include "runtime/workers.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "codegen/ir/fail.h"
#include "runtime/log.h"

namespace heddle::runtime {

namespace {

constexpr std::align_val_t kScratchAlignment{64};

// A thread's scratch: grows, is reused by the thread's next jobs. Constant-initialised and without a
// destructor, so that static destructors, which run after the main thread's own objects are gone, find it in
// order; ScratchRelease frees it at the thread's end.
struct Scratch {
  char* memory;
  int64_t capacity;

  bool reserve(int64_t bytes) noexcept {
    if (bytes <= capacity) return true;
    release();
    memory = static_cast<char*>(::operator new(size_t(bytes), kScratchAlignment, std::nothrow));
    capacity = memory ? bytes : 0;
    return memory != nullptr;
  }
  void release() noexcept {
    ::operator delete(memory, kScratchAlignment);
    memory = nullptr;
    capacity = 0;
  }
};
constinit thread_local Scratch thread_scratch{};

struct ScratchRelease {
  ~ScratchRelease() { thread_scratch.release(); }
};

struct Job {
  int64_t count;
  int64_t scratch_bytes;
  WorkerFunction function;
  int seats;       // pool threads that may still join; guarded by the pool's mutex
  int inside = 0;  // pool threads at work; guarded by the pool's mutex
  std::atomic<int64_t> next{0};

  // Runs workers until none is left. False if there was no memory for scratch, and then none was run.
  bool work() {
    [[maybe_unused]] static thread_local const ScratchRelease at_thread_end;
    if (!thread_scratch.reserve(scratch_bytes)) return false;
    for (int64_t worker; (worker = next.fetch_add(1, std::memory_order_relaxed)) < count;)
      function(worker, thread_scratch.memory);
    return true;
  }
};

class Pool {
 public:
  // Never destroyed: threads may still sleep in it when the process exits. A forked child has none of the
  // parent's threads, so it gets a pool of its own.
  static Pool& instance() {
    static std::mutex& mutex = *new std::mutex;
    static Pool* pool = nullptr;
    static pid_t owner = 0;
    std::lock_guard lock(mutex);
    if (owner != getpid()) {
      pool = new Pool;
      owner = getpid();
    }
    return *pool;
  }

  void run(Job& job, int helpers) {
    if (helpers > 0) {
      std::lock_guard lock(mutex_);
      grow(helpers);
      job.seats = helpers;
      jobs_.push_back(&job);
      wake_.notify_all();
    }
    const bool had_memory = job.work();
    std::unique_lock lock(mutex_);
    job.seats = 0;
    done_.wait(lock, [&] { return job.inside == 0; });
    jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), &job), jobs_.end());
    lock.unlock();
    // Pool threads may have done everything even so.
    if (!had_memory && job.next.load() < job.count)
      fail(ErrorKind::launch, {}, "no memory for {} bytes of scratch: use smaller tiles or fewer threads",
           job.scratch_bytes);
  }

 private:
  void grow(int wanted) {
    try {
      for (; threads_ < wanted; ++threads_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      // The system gives no more threads; those there are, and the caller, do the work.
    }
  }

  Job* open_job() const {
    for (Job* job : jobs_)
      if (job->seats > 0 && job->next.load(std::memory_order_relaxed) < job->count) return job;
    return nullptr;
  }

  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      Job* job = nullptr;
      wake_.wait(lock, [&] { return (job = open_job()) != nullptr; });
      --job->seats;
      ++job->inside;
      lock.unlock();
      job->work();
      lock.lock();
      if (--job->inside == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<Job*> jobs_;
  int threads_ = 0;
};

}  // namespace

void run_workers(int threads, int64_t count, int64_t scratch_bytes, WorkerFunction function) {
  if (count <= 0) return;
  Job job{.count = count, .scratch_bytes = scratch_bytes, .function = function, .seats = 0};
  Pool::instance().run(job, int(std::min<int64_t>(threads, count)) - 1);
}

namespace {

constexpr int kMostThreads = 1024;

int usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

int default_threads() {
  const char* text = std::getenv("HEDDLE_NUM_THREADS");
  if (!text || !*text) return usable_cores();
  int number = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error == std::errc() && stop == end && number >= 1 && number <= kMostThreads) return number;
  const int cores = usable_cores();
  static std::atomic_flag said;
  if (!said.test_and_set())
    log(LogLevel::warning,
        "HEDDLE_NUM_THREADS is '{}', but takes a number from 1 to {}; workers run on {} threads, one thread "
        "a core",
        text, kMostThreads, cores);
  return cores;
}

}  // namespace heddle::runtime
