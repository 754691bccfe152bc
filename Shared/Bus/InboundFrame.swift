import CZMQ
import Wire

/// Owns the memory of a frame as ZeroMQ received it.
final class Message {
    /// Allocated separately: small frames lie inside the structure, so it must not move.
    let handle = UnsafeMutablePointer<zmq_msg_t>.allocate(capacity: 1)

    /// Whether it is one part of a multipart message. A subscription matches only the first part, so the others may
    /// contain anything.
    var isPart = false

    init() { zmq_msg_init(handle) }

    init(copying bytes: UnsafeRawBufferPointer) {
        let result = zmq_msg_init_size(handle, bytes.count)
        precondition(result == 0, "zmq_msg_init_size failed: out of memory")
        if bytes.count > 0 { zmq_msg_data(handle).copyMemory(from: bytes.baseAddress!, byteCount: bytes.count) }
    }

    deinit {
        zmq_msg_close(handle)
        handle.deallocate()
    }

    /// Whether another part of the same message follows.
    var hasMore: Bool { zmq_msg_more(handle) != 0 }

    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: zmq_msg_data(handle), count: zmq_msg_size(handle))
    }
}

/// A frame from the bus. It is never copied: its entries point into the memory in which ZeroMQ received it.
public final class InboundFrame: @unchecked Sendable {
    // @unchecked: nothing writes to the message after it was received.
    private let message: Message
    private let reader: FrameReader
    /// The role of the sender: proved by its key or, without keys, configured with its endpoint. Nil for peers that
    /// were followed without a role.
    public let sender: Role?

    init(_ message: Message, from sender: Role? = nil) throws(FrameError) {
        reader = try FrameReader(message.bytes)
        self.message = message
        self.sender = sender
    }

    public var topic: Topic { reader.topic }
    public var origin: Instance { reader.origin }
    public var count: Int { message.bytes.count }

    /// The bodies of the entries, valid as long as the frame. Use `slice` to keep one beyond the call.
    public var entries: FrameReader.Entries { reader.entries }

    public func slice(_ bytes: UnsafeRawBufferPointer) -> FrameSlice { FrameSlice(frame: self, bytes: bytes) }
}

/// A part of a frame, which it keeps alive.
public struct FrameSlice: @unchecked Sendable {
    // @unchecked: see `InboundFrame`.
    private let frame: InboundFrame
    public let bytes: UnsafeRawBufferPointer

    fileprivate init(frame: InboundFrame, bytes: UnsafeRawBufferPointer) {
        self.frame = frame
        self.bytes = bytes
    }

    /// The number of bytes it keeps alive: the whole frame, however small the slice.
    public var keptBytes: Int { frame.count }

    public func isOfSameFrame(as other: FrameSlice) -> Bool { frame === other.frame }
}
