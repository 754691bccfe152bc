import ServiceKit

/// The cost of client frames, in frames.
enum FrameCost {
    /// The check of a signature. The load of the bootstrap that follows is bounded in the store, by turns; a client
    /// that loses its connection repeatedly must not be locked out soon.
    static let auth = 2.0

    /// Returns the cost of a hello: at most a quarter of the burst, so that the devices of a user with very many
    /// conversations do not lock each other out.
    static func hello(bytes: Int, _ limits: SessionLimits) -> Double {
        min(auth + frame(bytes: bytes), Double(limits.frameBurst) / 4)
    }

    /// Returns one frame per KiB, and at least one.
    static func frame(bytes: Int) -> Double { max(1, Double(bytes) / 1024) }

    static func receipts(_ items: Int) -> Double { 1 + Double(items) / Double(SessionLimits.receiptsPerFrame) }

    /// Returns a cost by audience: in a room of ten thousand one typing frame is as much work as a hundred frames.
    static func typing(audience: Int) -> Double { 1 + Double(audience) / 100 }
}
