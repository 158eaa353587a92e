# The RocksDB that `./basalt build` made: static, in its own namespace. One whose headers need more
# definitions than usual brings a file that says so.
set(BASALT_ROCKSDB_DEFINITIONS)
include(${BASALT_ROCKSDB_ROOT}/lib/definitions.cmake OPTIONAL)
add_library(basalt_rocksdb INTERFACE)
target_include_directories(basalt_rocksdb SYSTEM INTERFACE ${BASALT_ROCKSDB_ROOT}/include)
target_compile_definitions(basalt_rocksdb INTERFACE
  ROCKSDB_NAMESPACE=basalt_rocksdb ROCKSDB_USE_RTTI=1 ${BASALT_ROCKSDB_DEFINITIONS})
target_link_libraries(basalt_rocksdb INTERFACE
  ${BASALT_ROCKSDB_ROOT}/lib/librocksdb.a lz4 zstd z dl Threads::Threads)
