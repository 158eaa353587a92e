#pragma once

// The heap of malloc().
namespace basalt {

// Lets malloc() give freed memory back to the system early, in the whole process.
//
// Purpose     glibc takes large pieces of memory from the system directly, and gives the end of a
//             heap back when so much of it is free. It raises both sizes with the pieces that are
//             freed, to 32 and 64 MiB, and has up to eight heaps for each core. A server in which
//             large transactions, sorts and memtables take turns then holds several times what it
//             uses, and the block cache, which has what the rest leaves, gets less.
// How         Both sizes are fixed, at 4 and 8 MiB (mallopt(3)). Not if the environment sets one of
//             malloc()'s parameters: then somebody has chosen.
// Threads     Before others allocate much, once.
void give_freed_memory_back_early();

// Gives freed pages back also from between pieces that are in use (malloc_trim(3)). Takes some ten
// milliseconds for a gigabyte of heaps, each of which is locked meanwhile: where memory is short.
// Not if somebody has chosen, as above. Any thread.
void give_freed_memory_back_now();

}  // namespace basalt
