// What a compiler costs by itself.
int main() {}
