// What all programs here begin with; parsed once for all of them. A guard by name: it is included under two
// paths.
#ifndef HEDDLE_COMPILE_FAIL_PRELUDE
#define HEDDLE_COMPILE_FAIL_PRELUDE

#include <heddle/heddle.h>

#include <vector>

using namespace heddle;

HEDDLE_DIM(BM);
HEDDLE_DIM(BN);
HEDDLE_DIM(BK);

#endif
