// What ptxas and the driver write, as numbers.
#include "runtime/cuda/assembly_report.h"

#include <doctest/doctest.h>

using namespace heddle::runtime::cuda;

TEST_CASE("ptxas's report of one kernel") {
  const AssemblyReport report = read_assembly_report(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'heddle_add' for 'sm_90'\n"
      "ptxas info    : Function properties for heddle_add\n"
      "    40 bytes stack frame, 36 bytes spill stores, 72 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 40 bytes cumulative stack size, 1024 bytes smem, "
      "400 "
      "bytes cmem[0]\n"
      "ptxas info    : Compile time = 3.114 ms\n",
      "heddle_add");
  CHECK(report.registers == 168);
  CHECK(report.stack_bytes == 40);
  CHECK(report.spill_store_bytes == 36);
  CHECK(report.spill_load_bytes == 72);
  CHECK(report.shared_bytes == 1024);
  CHECK(report.remarks.empty());
}

TEST_CASE("another function's numbers are not taken") {
  const char* log =
      "ptxas info    : Compiling entry function 'heddle_a' for 'sm_90'\n"
      "ptxas info    : Function properties for heddle_a\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n"
      "ptxas info    : Compiling entry function 'heddle_ab' for 'sm_90'\n"
      "ptxas info    : Function properties for heddle_ab\n"
      "    16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Used 9 registers, used 0 barriers, 64 bytes smem\n";
  CHECK(read_assembly_report(log, "heddle_a").registers == 8);
  CHECK(read_assembly_report(log, "heddle_a").stack_bytes == 0);
  CHECK(read_assembly_report(log, "heddle_a").shared_bytes == 0);  // left out where it is none
  CHECK(read_assembly_report(log, "heddle_ab").registers == 9);
  CHECK(read_assembly_report(log, "heddle_ab").spill_load_bytes == 4);
  CHECK(read_assembly_report(log, "heddle_abc").registers == -1);
}

TEST_CASE("a linker's form") {
  const AssemblyReport report = read_assembly_report(
      "info    : 0 bytes gmem\n"
      "info    : Function properties for 'heddle_add':\n"
      "info    : used 8 registers, 24 stack, 16 bytes smem, 328 bytes cmem[0], 0 bytes lmem\n",
      "heddle_add");
  CHECK(report.registers == 8);
  CHECK(report.stack_bytes == 24);
  CHECK(report.shared_bytes == 16);
  CHECK(report.spill_store_bytes == -1);
}

TEST_CASE("remarks are kept as they are") {
  const AssemblyReport report = read_assembly_report(
      "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized\n"
      "ptxas warning : Value of threads per SM for entry heddle_add is out of range\n"
      "ptxas info    : Used 24 registers\n",
      "heddle_add");
  REQUIRE(report.remarks.size() == 2);
  CHECK(report.remarks[0] ==
        "(C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized");
  CHECK(report.remarks[1] == "Value of threads per SM for entry heddle_add is out of range");
  CHECK(report.registers == 24);
}

TEST_CASE("text that is no report gives no numbers") {
  for (const char* log :
       {"", "\n\n", "registers", " registers\nx bytes stack frame", "99999999999999999999 registers",
        "Compiling entry function '", "Function properties for "}) {
    const AssemblyReport report = read_assembly_report(log, "heddle_add");
    CHECK(report.registers == -1);
    CHECK(report.stack_bytes == -1);
    CHECK(report.shared_bytes == -1);
  }
}
