// EXPECT: whose parameters have written types
#include "prelude.h"

const Kernel k{"k", [](auto x) { (void)x; }};  // HERE
