import Models

/// The content of a message id of a run: the run, the conversation in it, and the message's number there.
///
/// An arriving message thus identifies itself, and no table of ids is needed, however long the run. The ids are UUIDs
/// of version 7 (RFC 9562, 5.7) like those of any client: 48 bits of time · 12 bits of the number · 14 bits of the run
/// · 20 bits of the conversation · 28 bits of the number.
struct MessageNumber: Equatable, Sendable {
    static let largestRun = 1 << 14 - 1
    static let largestConversation = 1 << 20 - 1

    let run: Int
    let conversation: Int
    /// Counted from 0.
    let number: Int

    init(run: Int, conversation: Int, number: Int) {
        self.run = run
        self.conversation = conversation
        self.number = number
    }

    /// Reads any id. One that was not made by a run gives an arbitrary number.
    init(_ id: MessageID) {
        let (high, low) = (id.uuid.high, id.uuid.low)
        run = Int(low >> 48 & 0x3FFF)
        conversation = Int(low >> 28 & 0xF_FFFF)
        number = Int((high & 0xFFF) << 28 | low & 0xFFF_FFFF)
    }

    /// - Parameter milliseconds: since 1970.
    func id(milliseconds: UInt64) -> MessageID {
        let number = UInt64(number)
        return MessageID(
            UUIDBytes(
                high: milliseconds << 16 | 0x7000 | number >> 28 & 0xFFF,
                low: 0b10 << 62 | UInt64(run) << 48 | UInt64(conversation) << 28 | number & 0xFFF_FFFF))
    }
}
