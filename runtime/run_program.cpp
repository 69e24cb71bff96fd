#include "runtime/run_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "runtime/file_descriptor.h"

namespace heddle::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long a program that is not waited for by a pipe goes unnoticed: it closed its output and still runs,
// or ended and left its output to a child of its own.
constexpr milliseconds kFirstPause(1), kLongestPause(50);

std::string reason(int error) {
  return std::generic_category().message(error);
}

struct SpawnActions {
  posix_spawn_file_actions_t value;
  SpawnActions() { ::posix_spawn_file_actions_init(&value); }
  SpawnActions(const SpawnActions&) = delete;
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&value); }
};
struct SpawnAttributes {
  posix_spawnattr_t value;
  SpawnAttributes() { ::posix_spawnattr_init(&value); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&value); }
};

// 0, or errno's number. `output` becomes the program's stdout and stderr.
int start(const std::vector<std::string>& command, int output, pid_t& child) {
  SpawnActions actions;
  ::posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions.value, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions.value, output, STDERR_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&actions.value, STDERR_FILENO + 1);
  // A group of its own, so that what it starts can be killed with it. Signals as a shell would leave them,
  // whatever this thread blocks and this process ignores.
  SpawnAttributes attributes;
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes.value, &none);
  ::posix_spawnattr_setsigdefault(&attributes.value, &all);
  ::posix_spawnattr_setpgroup(&attributes.value, 0);
  ::posix_spawnattr_setflags(&attributes.value,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return ::posix_spawn(&child, command.front().c_str(), &actions.value, &attributes.value, arguments.data(),
                       environ);
}

// Reads what is there; false at the end of the output.
bool take_output(int pipe, std::string& output) {
  char part[4096];
  for (;;) {
    const ssize_t got = ::read(pipe, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 && errno == EAGAIN;
    output.append(part, std::min(size_t(got), kOutputLimit - output.size()));
  }
}

std::string problem_of(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return WEXITSTATUS(status) ? fmt::format("ended with status {}", WEXITSTATUS(status)) : "";
}

}  // namespace

ProgramRun run_program(const std::vector<std::string>& command, milliseconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {.problem = fmt::format("has no pipe ({})", reason(errno))};
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
  pid_t child = 0;
  if (const int error = start(command, writing.get(), child))
    return {.problem = fmt::format("can't be started ({})", reason(error))};
  writing.close();

  ProgramRun run;
  const Clock::time_point deadline = Clock::now() + limit;
  milliseconds pause = kFirstPause;
  for (bool open = true;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (open) {
      struct pollfd ready = {.fd = reading.get(), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, int(std::clamp(left, milliseconds(0), kLongestPause).count()));
      open = take_output(reading.get(), run.output);
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, kLongestPause);
    }
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) {
      take_output(reading.get(), run.output);
      run.problem = problem_of(status);
      return run;
    }
    if (ended < 0 && errno != EINTR) {
      // The host program ignores SIGCHLD, or waits for all children.
      run.problem = "ended without a status, which this process took elsewhere";
      return run;
    }
    if (Clock::now() < deadline) continue;
    ::kill(-child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    run.problem = fmt::format("did not end within {} s", double(limit.count()) / 1000);
    return run;
  }
}

}  // namespace heddle::runtime
