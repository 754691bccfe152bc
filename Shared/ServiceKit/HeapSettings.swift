import CLinux

/// How the C library's allocator treats memory that is given back.
enum HeapSettings {
    /// What may stay free at the end of a heap.
    private static let keptBytes: CInt = 16 << 20
    /// Allocations from here on are mapped by themselves, and unmapped when they end.
    private static let mappedBytes: CInt = 4 << 20

    /// Keeps what a batch has given back for the next one. By default anything above 128 KiB goes back to the system at
    /// once: a busy store got the same pages again for each batch, zeroed, which took an eighth of its time.
    static func keepMemoryBetweenBatches() {
        mallopt(M_TRIM_THRESHOLD, keptBytes)
        mallopt(M_MMAP_THRESHOLD, mappedBytes)
    }
}
