// Runs a function in the interpreter and on the first GPU on equal memory, and compares every byte, the
// guards around memory too.
#pragma once

#include "tests/support/host_check.h"

namespace heddle::test {

bool has_gpu();

// Empty when both agree, or when the function has a dot whose order of summing is the hardware's.
std::string gpu_difference(const ir::Function& function, const std::vector<HostArgument>& arguments,
                           const HostCheckOptions& options = {});

// Why the function can't be compiled for an sm_90; empty when it can, and ptxas, where there is one, takes
// it.
std::string gpu_refusal(const ir::Function& function);

}  // namespace heddle::test
