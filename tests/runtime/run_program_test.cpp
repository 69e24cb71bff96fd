// Programs that end well, badly or not at all; what they inherit and what they leave.
#include "runtime/run_program.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>

using namespace heddle::runtime;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

constexpr milliseconds kLong(60000);

ProgramRun shell(const std::string& script, milliseconds limit = kLong) {
  return run_program({"/bin/sh", "-c", script}, limit);
}

}  // namespace

TEST_CASE("output of both streams, in order, and arguments as they are") {
  const ProgramRun run =
      run_program({"/bin/sh", "-c", "echo \"$1\"; echo err >&2; printf end", "sh", "a  'b' $c *"}, kLong);
  CHECK(run.problem == "");
  CHECK(run.output == "a  'b' $c *\nerr\nend");
}

TEST_CASE("how a program failed is told") {
  CHECK(shell("echo no; exit 3").problem == "ended with status 3");
  CHECK(shell("echo no; exit 3").output == "no\n");
  CHECK(shell("kill -SEGV $$").problem == "ended by signal 11 (Segmentation fault)");
  CHECK(run_program({"/nonexistent"}, kLong).problem == "can't be started (No such file or directory)");
  CHECK(run_program({"/etc/passwd"}, kLong).problem == "can't be started (Permission denied)");
  CHECK(run_program({"/"}, kLong).problem == "can't be started (Permission denied)");
}

TEST_CASE("a program that does not end is killed, with what it started") {
  const Clock::time_point start = Clock::now();
  const ProgramRun run = shell("echo begun; sleep 1000 & wait", milliseconds(2500));
  CHECK(run.problem == "did not end within 2.5 s");
  CHECK(run.output == "begun\n");
  // Having closed its output; ignoring what can be ignored.
  CHECK(shell("exec >&- 2>&-; sleep 1000", milliseconds(300)).problem == "did not end within 0.3 s");
  CHECK(shell("trap '' TERM INT HUP; sleep 1000; sleep 1000", milliseconds(300)).problem ==
        "did not end within 0.3 s");
  CHECK(Clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("a program that left its output to another is not waited for") {
  const Clock::time_point start = Clock::now();
  const ProgramRun run = shell("sleep 20 & echo done");
  CHECK(run.problem == "");
  CHECK(run.output == "done\n");
  CHECK(Clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("output without end is cut, and the program not stopped by it") {
  const ProgramRun run = shell("head -c 3000000 /dev/zero; exit 7");
  CHECK(run.problem == "ended with status 7");
  CHECK(run.output.size() == kOutputLimit);
  CHECK(shell("yes", milliseconds(300)).problem == "did not end within 0.3 s");
}

TEST_CASE("nothing is inherited but the environment and the working folder") {
  const int open = ::open("/etc/passwd", O_RDONLY);  // not closed on exec
  REQUIRE(open >= 0);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  // ls holds the folder it lists.
  CHECK(shell("ls /proc/self/fd | tr '\\n' ' '").output == "0 1 2 3 ");
  CHECK(shell("readlink /proc/self/fd/0").output == "/dev/null\n");
  // The C library ignores two signals of its own, 32 and 33.
  CHECK(shell("while read name value; do case $name in SigBlk:|SigIgn:) echo $name $((0x$value & "
              "0x7fffffff)); esac; "
              "done </proc/self/status")
            .output == "SigBlk: 0\nSigIgn: 0\n");
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::close(open);
}

TEST_CASE("where the host program takes all children's statuses, that is said") {
  ::signal(SIGCHLD, SIG_IGN);
  const ProgramRun run = shell("echo well");
  ::signal(SIGCHLD, SIG_DFL);
  CHECK(run.problem == "ended without a status, which this process took elsewhere");
  CHECK(run.output == "well\n");
}
