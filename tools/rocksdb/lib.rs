// Empty: this package exists only to pin and fetch the RocksDB source.
