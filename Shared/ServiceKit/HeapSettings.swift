import CLinux

/// The settings of the C library's allocator for freed memory (mallopt(3)).
enum HeapSettings {
    /// The free memory kept at the top of the heap.
    private static let keptBytes: CInt = 16 << 20
    /// The size from which allocations are mapped separately, and unmapped when freed.
    private static let mappedBytes: CInt = 4 << 20

    /// Keeps the memory of a batch for the next one. By default anything above 128 KiB returns to the system at once: a
    /// busy store then spent an eighth of its time on getting the same pages again, zeroed.
    static func keepMemoryBetweenBatches() {
        mallopt(M_TRIM_THRESHOLD, keptBytes)
        mallopt(M_MMAP_THRESHOLD, mappedBytes)
    }
}
