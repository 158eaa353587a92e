#include "inspect/sst_dump.h"

int main(int count, char** texts) { return basalt::inspect::run_sst_dump(count, texts); }
