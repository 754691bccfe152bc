import Bytes

/// The bytes that one peer has not taken yet: appended at the end, sent from the front.
struct OutputBuffer: ~Copyable {
    /// What was sent and not yet forgotten, then what was not.
    private var buffer = ByteBuffer(capacity: 512)
    private var sent = 0

    /// Memory that is kept when all is sent, and what may pile up before the unsent bytes.
    private static let keptBytes = 64 * 1024

    var count: Int { buffer.count - sent }

    /// Valid until the next change.
    var bytes: UnsafeRawBufferPointer { buffer.bytes.part(sent, buffer.count) }

    mutating func append(_ body: (inout ByteBuffer) -> Void) { body(&buffer) }

    /// Forgets `size` bytes at the front, which were sent.
    mutating func removeFirst(_ size: Int) {
        sent += size
        if sent == buffer.count {
            buffer.count > Self.keptBytes ? buffer = ByteBuffer(capacity: 512) : buffer.removeAll()
            sent = 0
        } else if sent >= Self.keptBytes {
            buffer.removeFirst(sent)
            sent = 0
        }
    }
}
