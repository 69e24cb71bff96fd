// Heddle's public header: the only one that users include. Light on purpose (tests/budget): no compiler, no
// driver, no heavy standard header is reached from here.
#pragma once

#include "codegen/ir/error.h"
#include "codegen/ir/schedule.h"
#include "dsl/control.h"
#include "dsl/dim.h"
#include "dsl/dot.h"
#include "dsl/kernel.h"
#include "dsl/math.h"
#include "dsl/memory.h"
#include "dsl/reduce.h"
#include "dsl/shape.h"
#include "dsl/var.h"
#include "dsl/work.h"
#include "runtime/buffer.h"
#include "runtime/launch.h"
#include "runtime/tensor.h"
