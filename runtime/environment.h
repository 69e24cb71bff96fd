// The rule for environment variables, which whoever runs a program sets and not who wrote it: a value that
// makes no sense costs one warning, which names it, what is allowed and what is done instead. An empty value
// counts as unset.
#pragma once

namespace heddle::runtime {

// Warns, once a process, of variables named HEDDLE_... that nothing reads: misspelt ones.
void check_environment();

}  // namespace heddle::runtime
