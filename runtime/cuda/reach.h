// Whether a kernel on a device can reach the memory that an argument points to. The driver is asked when a
// thread first meets an allocation; that what was found good stays good is remembered until a Buffer is
// freed. Memory that others free and hand out anew on another device at the same address is not noticed.
#pragma once

#include <cstdint>

#include "runtime/cuda/driver.h"
#include "runtime/launch.h"

namespace heddle::runtime::cuda {

// Throws Error (launch) naming the argument for memory of the host that the device can't read, and for memory
// of another device that it has no access to. The device's context is current. Empty views and null are not
// looked at.
void check_reach(const KernelSource& kernel, const DeviceInfo& device, const Argument* arguments, int count,
                 Location where);
// After memory was freed.
void forget_reach() noexcept;

}  // namespace heddle::runtime::cuda
