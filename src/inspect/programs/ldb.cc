#include "inspect/ldb.h"

int main(int count, char** texts) { return basalt::inspect::run_ldb(count, texts); }
