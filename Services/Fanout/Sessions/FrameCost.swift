import ServiceKit

/// What frames cost, in frames.
enum FrameCost {
    /// A signature is checked. What the bootstrap behind it costs the store is bounded there, by turns; a client that loses
    /// its connection again and again is not to be turned away soon.
    static let auth = 2.0

    /// At most a quarter of what may come at once: the devices of a user with very many conversations are not to lock each
    /// other out.
    static func hello(bytes: Int, _ limits: SessionLimits) -> Double {
        min(auth + frame(bytes: bytes), Double(limits.frameBurst) / 4)
    }

    /// At least one frame, and another one for each KiB.
    static func frame(bytes: Int) -> Double { max(1, Double(bytes) / 1024) }

    static func receipts(_ items: Int) -> Double { 1 + Double(items) / Double(SessionLimits.receiptsPerFrame) }

    /// By those who are told: in a room of ten thousand one word of typing is as much work as a hundred frames.
    static func typing(audience: Int) -> Double { 1 + Double(audience) / 100 }
}
