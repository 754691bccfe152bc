import CZMQ
import Wire

/// The memory of a frame as ZeroMQ received it.
final class Message {
    /// Allocated on its own: small frames lie inside the structure, so it must not move.
    let handle = UnsafeMutablePointer<zmq_msg_t>.allocate(capacity: 1)

    /// Whether it is one of several that were sent as one. A subscription looks at the first of them alone, so the others
    /// may hold anything.
    var isPart = false

    init() { zmq_msg_init(handle) }

    init(copying bytes: UnsafeRawBufferPointer) {
        let result = zmq_msg_init_size(handle, bytes.count)
        precondition(result == 0, "there is memory for a frame")
        if bytes.count > 0 { zmq_msg_data(handle).copyMemory(from: bytes.baseAddress!, byteCount: bytes.count) }
    }

    deinit {
        zmq_msg_close(handle)
        handle.deallocate()
    }

    /// Whether another part follows.
    var hasMore: Bool { zmq_msg_more(handle) != 0 }

    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: zmq_msg_data(handle), count: zmq_msg_size(handle))
    }
}

/// A frame from the bus, never copied: its entries point into the memory ZeroMQ received it in.
public final class InboundFrame: @unchecked Sendable {
    // @unchecked: nothing writes to the message after it was received.
    private let message: Message
    private let reader: FrameReader
    /// The role of the process it came from, as its key proved or, without keys, as its endpoint is listed. Nil for peers
    /// that were not given a role.
    public let sender: Role?

    init(_ message: Message, from sender: Role? = nil) throws(FrameError) {
        reader = try FrameReader(message.bytes)
        self.message = message
        self.sender = sender
    }

    public var topic: Topic { reader.topic }
    public var origin: Instance { reader.origin }
    public var count: Int { message.bytes.count }

    /// The bodies of the entries. Valid as long as the frame; to keep one longer than the call, keep its `slice`.
    public var entries: FrameReader.Entries { reader.entries }

    public func slice(_ bytes: UnsafeRawBufferPointer) -> FrameSlice { FrameSlice(frame: self, bytes: bytes) }
}

/// A part of a frame together with the frame, which it keeps alive.
public struct FrameSlice: @unchecked Sendable {
    // @unchecked: see `InboundFrame`.
    private let frame: InboundFrame
    public let bytes: UnsafeRawBufferPointer

    fileprivate init(frame: InboundFrame, bytes: UnsafeRawBufferPointer) {
        self.frame = frame
        self.bytes = bytes
    }

    /// How much memory it keeps alive: that of the whole frame, however small the part.
    public var keptBytes: Int { frame.count }

    public func isOfSameFrame(as other: FrameSlice) -> Bool { frame === other.frame }
}
