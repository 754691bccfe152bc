import Bytes
import Wire

extension BusResponse {
    /// A response that is put together here, of others.
    public init(status: UInt16, payload: UnsafeRawBufferPointer) {
        var frame = FrameWriter(topic: .response(Instance(0)), origin: Instance(0))
        frame.append { $0.append(payload) }
        let message = Message(copying: frame.bytes)
        guard let frame = try? InboundFrame(message), let entry = frame.entries.first(where: { _ in true }) else {
            preconditionFailure("a frame that was just written can be read")
        }
        self.init(status: status, payload: frame.slice(entry))
    }
}
