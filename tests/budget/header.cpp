// What the public header costs by itself.
#include <heddle/heddle.h>

int main() {}
