# Runs at install time. Puts the public headers under <destination>/heddle and spells their includes of each other from
# there: "dsl/tile.h" becomes <heddle/dsl/tile.h>. So users need one include folder, and a file runtime/launch.h of
# their own can't get in the way of ours.
file(GLOB headers RELATIVE ${source} ${patterns})
file(REMOVE_RECURSE ${staging})
foreach(header IN LISTS headers)
  file(READ ${source}/${header} text)
  string(REGEX REPLACE "(#include )\"((dsl|codegen|runtime)/[^\"]*)\"" "\\1<heddle/\\2>" text "${text}")
  file(WRITE ${staging}/heddle/${header} "${text}")
endforeach()
file(WRITE ${staging}/heddle/heddle.h
  "// The header to include.\n#pragma once\n\n#include <heddle/dsl/heddle.h>\n")
file(INSTALL ${staging}/heddle DESTINATION ${destination})
