import Bytes

/// The bytes not yet sent to one peer: appended at the end, sent from the front.
struct OutputBuffer: ~Copyable {
    /// Sent bytes that are not removed yet, then unsent ones.
    private var buffer = ByteBuffer(capacity: 512)
    private var sent = 0

    /// The memory kept when everything is sent, and the most sent bytes kept before unsent ones.
    private static let keptBytes = 64 * 1024

    var count: Int { buffer.count - sent }

    /// Valid until the next change.
    var bytes: UnsafeRawBufferPointer { buffer.bytes.part(sent, buffer.count) }

    mutating func append(_ body: (inout ByteBuffer) -> Void) { body(&buffer) }

    /// Removes the first `size` bytes, which were sent.
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
